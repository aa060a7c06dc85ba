"""An edit in the form changes what was edited and nothing else, in a real kernel."""

import json

import pytest
from kernel.driver import Kernel, Message, View

pytestmark = pytest.mark.kernel

BIG = 9007199254740993
TOKEN = "Bearer abcdefgh12345"
SENT = {
    "reason": "x",
    "order": BIG,
    "opts": {"headers": {"Authorization": TOKEN, "Accept": "a"}, "ids": [BIG, 1.0]},
}
CELL = f"""
ran = []

@tool
def drop(order: int, reason: str, opts: dict = {{}}) -> str:
    ran.append(repr((order, reason, opts)))
    return "dropped"

call = {{"name": "tool_drop", "args": {SENT!r}}}
clerk = Agent(model=Scripted([{{"calls": [call]}}, "done"], repeat_last=True),
    tools=[drop], permissions=Permissions(ask=["tool:drop"]))
"""


@pytest.fixture
def asked(page: Kernel) -> View:
    page.ok(CELL)
    cell = page.start("%%bread clerk\nhi")
    view = page.view(page.card(cell))
    view.form()
    page.finish(cell)
    return view


def ran(page: Kernel) -> list[str]:
    return json.loads(page.ok("import json; print(json.dumps(ran))").stdout)


def exact(form: Message) -> dict[str, object]:
    """The values of the fields as a page reads them."""
    told = {f["key"]: f.get("exact") or json.dumps(f["value"]) for f in form["fields"]}
    return {key: json.loads(text) for key, text in told.items()}


def send(view: View, args: dict[str, object]) -> Message:
    """Approve with these arguments, as text, as a page does with long numbers."""
    form = view.form()
    parts = {key: form[key] for key in ("checkpoint", "nonce", "shown")}
    text = json.dumps({"approved": True, "args": args})
    return view.result(view.act("answer", form["id"], **parts, exact=text))


def test_long_numbers_and_masked_secrets_that_nobody_touched_stay(
    page: Kernel, asked: View
):
    args = exact(asked.form())
    assert args["order"] == BIG
    assert TOKEN not in str(args)
    assert send(asked, {**args, "reason": "EDITED"})["ok"] is True
    asked.state("finished")
    assert ran(page) == [repr((BIG, "EDITED", SENT["opts"]))]


def test_a_page_that_rounds_numbers_changes_none_of_them(page: Kernel, asked: View):
    form = asked.form()
    values = {field["key"]: field["value"] for field in form["fields"]}
    text = json.dumps({**values, "reason": "EDITED"})
    rounded = json.loads(text.replace(str(BIG), str(BIG - 1)).replace("1.0", "1"))
    asked.result(asked.answer(form, {"approved": True, "args": rounded}))
    asked.state("finished")
    assert ran(page) == [repr((BIG, "EDITED", SENT["opts"]))]


def test_an_edit_beside_a_secret_leaves_the_secret_in_its_place(
    page: Kernel, asked: View
):
    args = exact(asked.form())
    args["opts"]["headers"]["Accept"] = "b"
    send(asked, args)
    asked.state("finished")
    headers = {"Authorization": TOKEN, "Accept": "b"}
    assert ran(page) == [repr((BIG, "x", {**SENT["opts"], "headers": headers}))]


def test_a_mask_in_another_place_speaks_at_the_field_and_waits(
    page: Kernel, asked: View
):
    args = exact(asked.form())
    mask = args["opts"]["headers"]["Authorization"]
    refused = send(asked, {**args, "reason": f"because {mask}"})
    assert refused["ok"] is False
    assert [problem["path"] for problem in refused["problems"]] == ["/reason"]
    assert "type it anew" in refused["problems"][0]["text"]
    assert ran(page) == []


def test_a_text_that_is_no_json_is_refused_and_the_form_stays(
    page: Kernel, asked: View
):
    form = asked.form()
    parts = {key: form[key] for key in ("checkpoint", "nonce", "shown")}
    broken = asked.act("answer", form["id"], **parts, exact='{"approved": tr')
    assert asked.result(broken)["ok"] is False
    asked.result(asked.answer(form, {"approved": True}))
    asked.state("finished")
    assert ran(page) == [repr((BIG, "x", SENT["opts"]))]
