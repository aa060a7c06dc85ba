"""What should not be trusted meets a real kernel: arguments, keys, loops, words."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kernel.driver import Kernel, View

pytestmark = pytest.mark.kernel

KEY = "sk-made-up-9a8b7c6d5e4f30211203f4e5d6c7b8a9"
SPOOF = "ls\u202e\u200b\x1b[2K" + " " * 400 + "; rm -rf /"
SHELL = """
ran = []

@tool
def shell(command: str, note: str = "") -> str:
    ran.append((command, note))
    return "ran"

def asker(command):
    call = {"name": "tool_shell", "args": {"command": command}}
    return Agent(model=Scripted([{"calls": [call]}, "done"]), tools=[shell],
        permissions=Permissions(ask=["tool:shell"]))
"""


@pytest.fixture
def asked(page: Kernel) -> Callable[[str], View]:
    """Opens a form that asks whether a command may run."""
    page.ok(SHELL)

    def ask(command: str) -> View:
        page.ok(f"admin = asker({command!r})")
        cell = page.start("%%bread admin\nhi")
        view = page.view(page.card(cell))
        view.form()
        page.finish(cell)
        return view

    return ask


def ran(page: Kernel) -> list[list[str]]:
    return json.loads(page.ok("import json; print(json.dumps(ran))").stdout)


def test_what_runs_is_to_the_byte_what_the_form_listed(
    page: Kernel, asked: Callable[[str], View]
):
    view = asked(SPOOF)
    [shown, *_] = view.form()["args"]
    segments = shown["value"]["segments"]
    assert {"esc": "U+202E"} in segments
    assert {"blanks": 400} in segments
    listed = "".join(
        s
        if isinstance(s, str)
        else " " * s["blanks"]
        if "blanks" in s
        else chr(int(s["esc"][2:], 16))
        for s in segments
    )
    view.answer(view.form(), {"approved": True})
    view.state("finished")
    assert ran(page) == [[listed, ""]] == [[SPOOF, ""]]


def test_an_edit_beside_it_leaves_every_byte_of_what_was_not_edited(
    page: Kernel, asked: Callable[[str], View]
):
    view = asked(SPOOF)
    args = {"command": SPOOF, "note": "seen"}
    view.answer(view.form(), {"approved": True, "args": args})
    view.state("finished")
    assert ran(page) == [[SPOOF, "seen"]]


@pytest.mark.parametrize("where", ["context", "answer"])
def test_arguments_outside_the_field_for_them_are_not_what_runs(
    page: Kernel, asked: Callable[[str], View], where: str
):
    view = asked("ls")
    form = view.form()
    other = {"command": "rm -rf /"}
    parts = {key: form[key] for key in ("checkpoint", "nonce", "shown")}
    answer: dict[str, object] = {"approved": True}
    extra: dict[str, object] = {}
    (answer if where == "answer" else extra).update(arguments=other, input=other)
    if where == "context":
        extra["args"] = other
    view.result(view.act("answer", form["id"], **parts, answer=answer, **extra))
    view.state("finished")
    assert ran(page) == [["ls", ""]]


def test_no_part_of_a_key_is_in_anything_that_is_sent_to_the_page(
    open_kernel: Callable[..., Kernel], project: Path
):
    page = open_kernel(ANTHROPIC_API_KEY=KEY)
    page.ok("%load_ext bread_nb\nfrom bread_nb import *\nimport os")
    page.ok(
        "key = os.environ['ANTHROPIC_API_KEY']\n"
        "headers = {'x-api-key': key}\n"
        "@tool\n"
        "def fetch() -> str:\n"
        "    raise ValueError(f'403 for {headers}')\n"
        "def fail(request):\n"
        "    raise RuntimeError(f'401 {key[:14]}... with {headers}')\n"
        "call = {'name': 'tool_fetch'}\n"
        "leaky = Agent(model=Scripted([{'calls': [call]}, fail]), tools=[fetch])"
    )
    cell = page.start("%%bread leaky\nhi")
    view = page.view(page.card(cell))
    view.state("failed")
    assert page.finish(cell).error is not None
    late = page.view(view.model)
    late.state("failed")
    page.run("%bread show last", watched=False)
    page.run("%bread doctor --last")
    page.run("Bread.load().run(leaky, 'hi').result()")
    told = [m["content"] for m in page.messages]
    assert "401" in repr(told)
    assert "403" in repr(told)
    assert KEY[:8] not in repr(told)


def test_nested_secrets_reach_neither_page_nor_picture_and_survive_an_edit(
    page: Kernel,
):
    page.ok(
        "sent = []\n"
        "@tool\n"
        "def send(headers: dict[str, str], parts: list[dict[str, str]],\n"
        "    private_key: str, text: str) -> dict:\n"
        "    sent.append([headers, parts, private_key, text])\n"
        "    return {'echo': [{'headers': headers}]}\n"
        "args = {'headers': {'Authorization': 'Bearer CANARY'}, 'text': 'a',\n"
        "    'parts': [{'apiKey': 'CANARY'}, {'cookie': 's=CANARY'}],\n"
        "    'private_key': 'CANARY'}\n"
        "call = {'name': 'tool_send', 'args': args}\n"
        "courier = Agent(model=Scripted([{'calls': [call]}, 'ok'] * 2), tools=[send],\n"
        "    permissions=Permissions(ask=['tool:send']))"
    )
    for edit in (False, True):
        cell = page.start("%%bread courier\nhi")
        view = page.view(page.card(cell))
        form = view.form()
        page.finish(cell)
        answer: dict[str, object] = {"approved": True}
        if edit:
            fields = {f["path"][1:]: f.get("value") for f in form["fields"]}
            answer["args"] = {**fields, "text": "b"}
        action = view.answer(form, answer)
        assert view.result(action)["ok"], view.result(action)
        view.state("finished")
        page.run("%bread show last", watched=False)
    page.run("%bread pending")
    told = [m["content"] for m in page.messages if m["msg_type"] != "execute_input"]
    assert "CANARY" not in repr(told)
    secrets = [
        {"Authorization": "Bearer CANARY"},
        [{"apiKey": "CANARY"}, {"cookie": "s=CANARY"}],
        "CANARY",
    ]
    seen = json.loads(page.ok("import json; print(json.dumps(sent))").stdout)
    assert seen == [[*secrets, "a"], [*secrets, "b"]]


def test_an_interrupt_in_a_long_run_is_followed_by_one_last_crumb(page: Kernel):
    page.ok(
        "did, crumbs, over = [], [], threading.Event()\n"
        "def turn(request):\n"
        "    did.append('turn')\n"
        "    return {'calls': [{'name': 'tool_step'}]}\n"
        "@tool\n"
        "def step(context: ToolContext) -> str:\n"
        "    did.append('step')\n"
        "    if did.count('step') == 2:\n"
        "        context.cancelled.wait(30)\n"
        "        over.set()\n"
        "    return f'step {len(did)}'\n"
        "walker = Agent(model=Scripted([turn] * 10 + ['there']), tools=[step])\n"
        "off = Bread.load().on('crumb', lambda c: crumbs.append((len(did), c.type)))"
    )
    cell = page.start("%%bread walker\nhi")
    view = page.view(page.card(cell))
    view.until(lambda v: "step 2" in repr(v.data), "the second turn")
    view.until(lambda v: v.head()["state"] == "tools", "the second step")
    page.interrupt()
    assert page.finish(cell, 5).error is not None
    page.ok("off()")
    ended = page.ok("print(over.wait(5), did, crumbs[-2:])").stdout
    assert ended == (
        "True ['turn', 'step', 'turn', 'step'] "
        "[(4, 'tool:error'), (4, 'agent:error')]\n"
    )
    left = "len(asyncio.all_tasks(Bread.common_home.loop()))"
    assert page.ok(f"print({left})").stdout == "0\n"
    page.ok("%bread writer hi")
    assert page.ok("print(len(did))").stdout == "4\n"


def test_a_class_of_a_cell_is_what_its_tool_goes_on_getting(page: Kernel):
    page.ok(
        "from __future__ import annotations\n"
        "from typing import Annotated, Literal, Optional\n"
        "from pydantic import BaseModel, Field\n"
        "got = []\n"
        "class Dough(BaseModel):\n"
        "    water: float\n"
        "@tool\n"
        "def knead(minutes: Annotated[int, Field(ge=1)],\n"
        "    by: Optional[Literal['hand', 'machine']] = None,\n"
        "    dough: Dough | None = None) -> str:\n"
        "    got.append((minutes, by, type(dough) is First))\n"
        "    return 'kneaded'\n"
        "First = Dough\n"
        "good = {'minutes': 3, 'by': 'hand', 'dough': {'water': 0.7}}\n"
        "bad = {'minutes': 0, 'by': 'foot'}\n"
        "calls = [{'name': 'tool_knead', 'args': a} for a in (good, bad)]\n"
        "kneader = Agent(model=Scripted([{'calls': calls}, 'done'] * 2),\n"
        "    tools=[knead])"
    )
    first = page.ok("%bread kneader --out a hi", watched=False)
    page.ok("class Dough(BaseModel):\n    flour: str")
    second = page.ok("%bread kneader --out b hi", watched=False)
    assert "minutes" in first.plain[0]
    assert "minutes" in second.plain[0]
    assert page.ok("print(got)").stdout == "[(3, 'hand', True), (3, 'hand', True)]\n"
    told = page.ok("print(a.outcome.messages[2].parts[1].text)").stdout
    assert "minutes: must be 1 or more" in told
