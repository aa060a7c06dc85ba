"""Forms answered by comm messages after the cell has ended, in a real kernel."""

from pathlib import Path

import pytest
from kernel.driver import Kernel, Result, View

pytestmark = pytest.mark.kernel


@pytest.fixture(autouse=True)
def _fresh(project: Path) -> None:
    for name in ("published.txt", "asked.txt"):
        (project / name).unlink(missing_ok=True)


def published(project: Path) -> list[str]:
    path = project / "published.txt"
    return path.read_text().splitlines() if path.exists() else []


def waiting(page: Kernel, line: str = "%%bread publisher\nhi") -> tuple[Result, View]:
    """A cell that has ended with an open form, and a view on its card."""
    cell = page.start(line)
    view = page.view(page.card(cell))
    view.form()
    return page.finish(cell), view


def picture(page: Kernel, cell: Result, words: str) -> str:
    """The picture of a cell, once it says these words."""

    def said() -> list[str]:
        return [p for p in page.result(cell.msg_id).plain if words in p]

    return page.wait(said, f"a picture with {words!r}")[0]


def test_a_cell_with_an_open_form_ends_well(page: Kernel, project: Path):
    cell, view = waiting(page)
    assert cell.status == "ok"
    assert cell.plain == [
        'publisher waits for a person: publish title="Rye". '
        "Answer with %load_ext bread_nb, then %bread pending\n"
        "scripted · 1 turn · 0 calls done · 10 tokens\nI will publish it."
    ]
    assert view.head()["button"] == "end"
    assert view.head()["foreground"] is False
    assert published(project) == []


def test_approving_resumes_into_the_same_card_and_picture(page: Kernel, project: Path):
    cell, view = waiting(page)
    action = view.answer(view.form(), {"approved": True})
    assert view.result(action) == {
        "t": "result",
        "id": action,
        "ok": True,
        "say": None,
        "problems": [],
    }
    view.state("finished")
    assert published(project) == ["Rye"]
    assert 'publish title="Rye": approved, done' in picture(page, cell, "finished")
    assert view.gaps == 0
    assert len(page.result(cell.msg_id).outputs) == 2


def test_denying_tells_the_model_and_goes_on(page: Kernel, project: Path):
    cell, view = waiting(page)
    view.answer(view.form(), {"approved": False, "reason": "too long"})
    view.state("finished")
    assert published(project) == []
    assert "too long" in picture(page, cell, "finished")


def test_a_double_click_runs_the_tool_once(page: Kernel, project: Path):
    _, view = waiting(page)
    other = page.view(view.model)
    form, same = view.form(), other.form()
    assert form["nonce"] == same["nonce"]
    first = view.answer(form, {"approved": True})
    second = other.answer(same, {"approved": True})
    results = [view.result(first), view.result(second)]
    assert [r["ok"] for r in results] == [True, False]
    assert "already" in results[1]["say"]
    view.state("finished")
    other.state("finished")
    assert published(project) == ["Rye"]
    assert view.forms() == other.forms() == []


def test_edited_arguments_are_what_runs(page: Kernel, project: Path):
    cell, view = waiting(page)
    edited = {"title": "Rye, revised", "loud": "true"}
    view.answer(view.form(), {"approved": True, "args": {**edited, "loud": True}})
    view.state("finished")
    assert published(project) == ["Rye, revised"]
    assert "approved with changes" in picture(page, cell, "finished")


def test_an_edit_that_does_not_fit_speaks_at_the_field_and_waits(
    page: Kernel, project: Path
):
    _, view = waiting(page)
    form = view.form()
    wrong = view.answer(form, {"approved": True, "args": {"title": 7}})
    refused = view.result(wrong)
    assert refused["ok"] is False
    assert refused["problems"] == [{"path": "/title", "text": "Must be text."}]
    again = view.until(
        lambda v: [f for f in v.forms() if f["nonce"] != form["nonce"]], "a new nonce"
    )[0]
    view.result(view.answer(again, {"approved": True}))
    view.state("finished")
    assert published(project) == ["Rye"]


@pytest.mark.parametrize("wrong", [{"nonce": "guessed"}, {"shown": "0" * 64}])
def test_a_wrong_nonce_or_hash_is_refused_and_it_still_waits(
    page: Kernel, project: Path, wrong: dict[str, str]
):
    _, view = waiting(page)
    refused = view.result(view.answer(view.form(), {"approved": True}, **wrong))
    assert (refused["ok"], "still waits" in refused["say"]) == (False, True)
    assert published(project) == []
    view.result(view.answer(view.form(), {"approved": True}))
    view.state("finished")
    assert published(project) == ["Rye"]


def test_an_answer_from_the_wrong_place_is_refused(page: Kernel, project: Path):
    _, view = waiting(page)
    form = view.form()
    parts = {key: form[key] for key in ("checkpoint", "nonce", "shown")}
    answer = {"approved": True}
    elsewhere = view.act("answer", "root", **parts, answer=answer)
    assert view.result(elsewhere)["ok"] is False
    surface, view.surface = view.surface, "run_of_somebody_else"
    assert view.result(view.answer(form, answer))["ok"] is False
    view.surface = surface
    assert published(project) == []


@pytest.mark.parametrize(
    "answer",
    [{"approved": "yes"}, {"approved": 1}, {"approved": None}, {}, "true", None, []],
)
def test_only_true_approves(page: Kernel, project: Path, answer: object):
    _, view = waiting(page)
    view.result(view.answer(view.form(), answer))
    view.state("finished")
    assert published(project) == []


def test_noise_on_the_channel_changes_nothing(page: Kernel, project: Path):
    _, view = waiting(page)
    for noise in (7, [], {}, {"t": "hello"}, {"t": "action"}, {"t": "answer"}):
        view.post(noise)
    view.post({"t": "action", "id": "x", "message": {"action": {"name": "answer"}}})
    unknown = view.result(view.act("explode"))
    assert unknown["ok"] is False
    view.result(view.answer(view.form(), {"approved": True}))
    view.state("finished")
    assert published(project) == ["Rye"]


def test_nonces_are_in_no_output_and_no_store(page: Kernel, project: Path):
    cell, view = waiting(page)
    nonce = view.form()["nonce"]
    held = repr(page.result(cell.msg_id).outputs)
    assert nonce not in held
    state = [m for m in page.messages if m["msg_type"] == "comm_open"]
    assert nonce not in repr(state)
    stored = b"".join(p.read_bytes() for p in (project / ".bread").glob("*.db*"))
    assert nonce.encode() not in stored


def test_ending_a_waiting_run_withdraws_the_question(page: Kernel, project: Path):
    cell, view = waiting(page)
    assert view.result(view.act("end"))["ok"] is True
    view.state("stopped")
    assert view.forms() == []
    assert picture(page, cell, "stopped by you")
    assert published(project) == []


def test_a_question_takes_an_answer_of_its_schema(page: Kernel):
    page.ok(
        "from typing import Literal\n"
        "from pydantic import BaseModel\n"
        "class Loaf(BaseModel):\n"
        "    kind: Literal['rye', 'wheat']\n"
        "    grams: int\n"
        "ask = human_tool('choose', answer=Loaf)\n"
        "call = {'name': 'human_choose', 'args': {'question': 'Which loaf?'}}\n"
        "asker = Agent(model=Scripted([{'calls': [call]},\n"
        "    lambda request: request.messages[-1].parts[0].text]), tools=[ask])"
    )
    cell, view = waiting(page, "%%bread asker\nhi")
    form = view.form()
    assert (form["ask"], form["quote"]) == ("input", "Which loaf?")
    bad = view.result(view.answer(form, {"answer": {"kind": "oat", "grams": "x"}}))
    assert [p["path"] for p in bad["problems"]] == ["/kind", "/grams"]
    again = view.until(
        lambda v: [f for f in v.forms() if f["nonce"] != form["nonce"]], "a new nonce"
    )[0]
    view.answer(again, {"answer": {"kind": "rye", "grams": "800"}})
    view.state("finished")
    assert '{"kind":"rye","grams":800}' in picture(page, cell, "finished")


def test_remembering_adds_a_rule_that_can_be_taken_back(page: Kernel, project: Path):
    _, view = waiting(page, "%%bread publisher\nonce")
    assert view.form()["remember"][-1]["scope"] == "agent"
    view.answer(view.form(), {"approved": True, "remember": "agent"})
    view.state("finished")
    assert "allow tool:publish" in page.ok("%bread gate").plain[0]
    spared = page.ok("%%bread publisher\nnot asked again")
    assert "finished" in spared.plain[0]
    page.ok("%bread gate drop 1")
    assert page.ok("%bread gate").plain == ["No rules were added while approving."]
    waiting(page, "%%bread publisher\nasked again")


def test_several_calls_of_one_turn_are_answered_one_by_one(page: Kernel):
    page.ok(
        "ran = []\n"
        "@tool\n"
        "def act(n: int) -> str:\n"
        "    ran.append(n)\n"
        "    return f'did {n}'\n"
        "calls = [{'name': 'tool_act', 'args': {'n': n}} for n in (1, 2, 3)]\n"
        "many = Agent(model=Scripted([{'calls': calls}, 'all done']), tools=[act],\n"
        "    permissions=Permissions(ask=['tool:act']))"
    )
    _, view = waiting(page, "%%bread many\nhi")
    forms = view.until(lambda v: len(v.forms()) == 3 and v.forms(), "three forms")
    assert [(f["index"], f["of"]) for f in forms] == [(0, 3), (1, 3), (2, 3)]
    assert all(f["bulk"] for f in forms)
    for form in reversed(forms):
        view.answer(form, {"approved": form["args"][0]["value"]["segments"] != ["2"]})
    view.state("finished")
    assert page.ok("print(sorted(ran))").stdout == "[1, 3]\n"


def test_answers_come_from_any_thread(page: Kernel, project: Path):
    for subshell in (True, False) * 3:
        cell = page.start("%%bread publisher\nhi")
        view = page.view(page.card(cell), subshell=subshell)
        view.form()
        page.finish(cell)
        view.answer(view.form(), {"approved": True})
        view.state("finished")
    assert published(project) == ["Rye"] * 6


def test_a_form_is_answered_while_another_cell_blocks(page: Kernel, project: Path):
    _, view = waiting(page)
    page.ok("held = threading.Event()")
    blocking = page.start("print('two'); held.wait(20)")
    page.wait(lambda: page.of(blocking, "stream"), "the other cell")
    view.result(view.answer(view.form(), {"approved": True}), 5)
    view.state("finished", 5)
    assert published(project) == ["Rye"]
    page.run_aside("held.set()")
    assert page.finish(blocking).outputs[:1] in ([], [{"text/plain": "True"}])


def test_running_the_cell_again_shows_the_form_and_starts_nothing(
    page: Kernel, project: Path
):
    before = page.ok("%bread runs --all").plain[0].count("publisher-")
    cell = page.start("%%bread publisher\nthe same", cell="same")
    view = page.view(page.card(cell))
    view.form()
    page.finish(cell)
    again = page.start("%%bread publisher\nthe same", cell="same")
    second = page.view(page.card(again))
    assert page.finish(again).status == "ok"
    form = second.form()
    note = second.look().data["note"]
    assert note["title"] == "This cell's run is still waiting."
    assert note["button"] == "discard"
    assert page.ok("%bread runs --all").plain[0].count("publisher-") == before + 1
    second.answer(form, {"approved": True})
    second.state("finished")
    assert published(project) == ["Rye"]
    third = page.ok("%%bread publisher\nthe same", cell="same")
    assert "waits for a person" in third.plain[0]


def test_discarding_ends_what_waits_and_runs_again(page: Kernel, project: Path):
    line = "%%bread publisher\nto discard"
    cell = page.start(line, cell="discarded")
    page.view(page.card(cell)).form()
    page.finish(cell)
    again = page.start(line, cell="discarded")
    view = page.view(page.card(again))
    view.form()
    page.finish(again)
    assert view.result(view.act("discard"))["ok"] is True
    fresh = page.wait(lambda: page.cards(again)[1:], "the new card")[0]
    new = page.view(fresh)
    new.answer(new.form(), {"approved": True})
    new.state("finished")
    assert published(project) == ["Rye"]
    by_option = page.ok(
        line.replace("publisher", "publisher --discard"), cell="discarded"
    )
    assert "waits for a person" in by_option.plain[0]


def test_a_waiting_session_refuses_a_new_message(page: Kernel):
    waiting(page, "%%bread publisher --session blog\none")
    refused = page.run("%%bread publisher --session blog\ntwo")
    assert refused.told.splitlines()[0] == (
        "Session 'blog' waits for you. [SESSION_WAITING]"
    )
    assert page.ok("%%bread publisher --session blog --discard\ntwo").status == "ok"


def test_resume_answers_by_words(page: Kernel, project: Path):
    _, view = waiting(page)
    handle = view.form()["handle"]
    result = page.ok(f"%bread resume {handle} --approve", watched=False)
    assert result.plain[0].startswith("publisher finished")
    assert published(project) == ["Rye"]
    view.state("finished")
    waiting(page)
    denied = page.ok("%bread resume last --deny not today", watched=False)
    assert "not today" in denied.plain[0]
    late = page.run(f"%bread resume {handle} --approve")
    assert "[CHECKPOINT_NOT_FOUND]" in late.told
    waiting(page)
    typed = page.ok('%bread resume last --answer {"approved": true}', watched=False)
    assert typed.plain[0].startswith("publisher finished")


def test_cancel_ends_a_waiting_run(page: Kernel):
    _, view = waiting(page)
    assert "is stopped" in page.ok("%bread cancel last").plain[0]
    view.state("stopped")
    assert "[RUN_ENDED]" in page.run("%bread cancel last").told


def test_a_secret_stays_masked_and_is_what_it_was_after_an_edit(page: Kernel):
    page.ok(
        "import os\n"
        "seen = []\n"
        "@tool\n"
        "def send(api_key: str, text: str) -> str:\n"
        "    seen.append((api_key, text))\n"
        "    return 'sent'\n"
        "call = {'name': 'tool_send', 'args': {'api_key': 'k-123456', 'text': 'a'}}\n"
        "sender = Agent(model=Scripted([{'calls': [call]}, 'ok']), tools=[send],\n"
        "    permissions=Permissions(ask=['tool:send']))"
    )
    _, view = waiting(page, "%%bread sender\nhi")
    form = view.form()
    assert "k-123456" not in repr(view.heard())
    args = {"text": "b", "api_key": form["fields"][0].get("value", "")}
    view.answer(form, {"approved": True, "args": args})
    view.state("finished")
    assert page.ok("print(seen)").stdout == "[('k-123456', 'b')]\n"


def test_edited_since_it_asked_is_said_and_today_s_version_goes_on(
    page: Kernel, project: Path
):
    source = (project / "agents/publisher/agent.py").read_text()
    _, first = waiting(page)
    first.act("end")
    _, view = waiting(page)
    changed = source.replace("It is out.", "It is out, edited.")
    (project / "agents/publisher/agent.py").write_text(changed)
    cell = page.start("%bread pending")
    page.finish(cell)
    inbox = page.view(page.cards(cell)[-1])
    inbox.form()
    view.answer(view.form(), {"approved": True})
    view.state("finished")
    said = picture(page, page.result(view_cell(page, view)), "finished")
    assert "edited" in said
    (project / "agents/publisher/agent.py").write_text(source)


def view_cell(page: Kernel, view: View) -> str:
    """The cell that holds a card."""
    for message in page.messages:
        data = message["content"].get("data", {})
        if message["msg_type"] == "display_data" and view.model in repr(data):
            return message["parent_header"]["msg_id"]
    raise AssertionError("no cell holds this card")
