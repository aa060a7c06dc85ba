"""What a page may say to a card; all else is not heard."""

import pytest

from bread_nb.notebook.letters import Action, Bye, Hello, read_letter

ACTION = {
    "name": "answer",
    "surfaceId": "run_1",
    "sourceComponentId": "t1b1",
    "context": {"nonce": "n", "checkpoint": 7},
}


def test_hello_bye_and_actions_are_read():
    assert read_letter({"t": "hello", "view": "v", "last": -1}) == Hello("v")
    assert read_letter({"t": "bye", "view": "v"}) == Bye("v")
    letter = read_letter({"t": "action", "id": "1", "message": {"action": ACTION}})
    assert isinstance(letter, Action)
    assert (letter.name, letter.text("nonce"), letter.text("checkpoint")) == (
        "answer",
        "n",
        "",
    )


@pytest.mark.parametrize(
    "content",
    [
        None,
        1,
        "hello",
        [],
        {},
        {"t": "hello"},
        {"t": "hello", "view": 1},
        {"t": "hello", "view": "v" * 1000},
        {"t": "action", "id": "1"},
        {"t": "action", "id": 1, "message": {"action": ACTION}},
        {"t": "action", "id": "1" * 1000, "message": {"action": ACTION}},
        {"t": "action", "id": "1", "message": {"action": {**ACTION, "context": []}}},
        {"t": "action", "id": "1", "message": {"action": {"name": "answer"}}},
    ],
)
def test_anything_else_means_nothing(content: object):
    assert read_letter(content) is None
