"""What a cell holds and how it ends, in a real kernel without a browser."""

from pathlib import Path

import pytest
from kernel.conftest import agent
from kernel.driver import WIDGET, Kernel

pytestmark = pytest.mark.kernel

NASTY = {
    "braces": '{"a": 1} {v: k for k in x} {In[3]} {{x}} {',
    "dollars": "$HOME $5 $x ${y} 100% %s %d %(a)s",
    "markup": "</script><b>&amp; <!-- \\ ' \" `x`",
    "emoji": "bread 🍞 famille 👨‍👩‍👧‍👦 e\u0301 \u202eabc\u202c",
    "backslash": "ends with one \\",
    "blank lines": "\n\n  indented\n\tand tabbed\n\n",
    "magics": "%%time\n!ls\n?help\n%bread writer\nx?",
    "long": "0123456789abcdef" * 65_536,
}


def echo(page: Kernel) -> None:
    page.ok(
        "heard = []\n"
        "def keep(request):\n"
        "    heard.append(request.messages[-1].text)\n"
        "    return 'kept'\n"
        "echo = Agent(model=Scripted([keep], repeat_last=True))"
    )


def test_a_cell_holds_the_card_and_the_picture(page: Kernel):
    result = page.ok("%%bread writer\nWrite about bread.", watched=False)
    assert result.outputs == [
        {},
        {
            "text/plain": "writer finished · scripted · 1 turn · 0 calls · 13 tokens\n"
            "Bread is **good**.",
            "text/markdown": "**writer** finished · scripted · 1 turn · 0 calls · "
            "13 tokens\n\nBread is **good**.",
            "text/html": "<p><strong>writer</strong> finished · scripted · 1 turn · "
            "0 calls · 13 tokens</p>\n<p>Bread is <strong>good</strong>.</p>",
        },
    ]


def test_the_card_is_the_widget_alone(page: Kernel):
    result = page.ok("%%bread writer\nWrite about bread.")
    card = page.of(result.msg_id, "display_data")[0]
    assert list(card["content"]["data"]) == [WIDGET]


def test_the_value_of_a_cell_is_the_run(page: Kernel):
    page.ok("%%bread writer\nWrite about bread.")
    said = page.ok("print(repr(_), _.text, _.status, len(_.crumbs) > 3)").stdout
    assert said == (
        "Run('writer', finished, 1 turn, 0 calls) Bread is **good**. finished True\n"
    )


def test_a_run_kept_in_a_variable_shows_its_picture_all_the_same(page: Kernel):
    kept = page.ok("x = %bread writer Write about bread.", watched=False)
    assert len(kept.outputs) == 2
    again = page.ok("x", watched=False)
    assert again.outputs == [kept.outputs[1]]


def test_out_assigns_the_run_and_gives_no_value(page: Kernel):
    result = page.ok("%%bread writer --out story\nWrite.\n", watched=False)
    assert len(result.outputs) == 2
    assert page.ok("print(story.text)").stdout == "Bread is **good**.\n"
    assert page.ok("del story").status == "ok"


def test_runs_in_a_loop_leave_a_picture_each(page: Kernel):
    code = "for topic in 'ab':\n    %bread writer --session loop about it"
    result = page.ok(code, watched=False)
    assert [list(output) for output in result.outputs] == [
        [],
        ["text/plain", "text/markdown", "text/html"],
    ] * 2


@pytest.mark.parametrize("body", NASTY.values(), ids=NASTY.keys())
def test_a_body_arrives_byte_for_byte(page: Kernel, body: str):
    echo(page)
    page.ok(f"%%bread echo\n{body}", bound=60)
    assert page.ok(f"print(heard[-1] == {body!r}, len(heard))").stdout == "True 1\n"


def test_a_line_arrives_as_it_stands_without_its_outer_quotes(page: Kernel):
    echo(page)
    page.ok("%bread echo {x} $HOME 100% it's\n%bread echo '--verbose is a flag?'")
    page.ok("%bread echo -- --not an option")
    assert page.ok("print(heard)").stdout == (
        """["{x} $HOME 100% it's", '--verbose is a flag?', '--not an option']\n"""
    )


def test_half_a_character_is_refused_clearly(page: Kernel):
    echo(page)
    result = page.run("get_ipython().run_cell_magic('bread', 'echo', 'a\\ud800b')")
    assert result.error is not None
    assert result.told == (
        "The input does not fit echo. [INVALID_INPUT]\n"
        "  why  at 1 stands half a character (U+D800).\n"
        "  do   echo takes: text"
    )
    assert page.ok("print(heard)").stdout == "[]\n"


def test_a_marker_for_nbval_is_no_part_of_the_prompt(page: Kernel):
    echo(page)
    page.ok("%%bread echo\n# NBVAL_IGNORE_OUTPUT\nthe prompt")
    assert page.ok("print(heard)").stdout == "['the prompt']\n"


def test_a_template_is_filled_in_once(page: Kernel):
    echo(page)
    page.ok("topic, other = '{{other}}', 'no'")
    page.ok("%%bread echo --template\nabout {{topic}} and {{ other }} and {topic}")
    said = page.ok("print(heard[-1])").stdout
    assert said == "about {{other}} and no and {topic}\n"
    wrong = page.run("%bread echo --template about {{topci}}")
    assert wrong.told == (
        "There is no variable 'topci'. [NAME_NOT_FOUND]\n"
        "  why  this notebook has not made one of that name; 'topic' is near.\n"
        "  do   run the cell that makes topci, then this one again"
    )


def test_only_names_of_the_notebook_are_near(page: Kernel):
    for line in ("%bread writer --template {{opne}}", "%bread writer --with exti x"):
        told = page.run(line).told
        assert "[NAME_NOT_FOUND]" in told
        assert "made one of that name.\n" in told


def test_a_cell_for_nobody_says_who_there_is(page: Kernel):
    assert page.run("%%bread\nhi").told.splitlines() == [
        "%%bread needs the name of an agent. [USAGE]",
        "  why  the cell is the input, and agents/ has baker, publisher, writer.",
        "  do   %%bread baker",
    ]


def test_objects_reach_the_tools_and_their_look_the_model(page: Kernel):
    page.ok(
        "class Frame:\n"
        "    shape = (2, 2); columns = ['a', 'b']; dtypes = ['int', 'text']\n"
        "    def head(self, n): return f'the first {n} rows'\n"
        "sales = Frame()\n"
        "got = []\n"
        "@tool\n"
        "def peek(ctx: ToolContext) -> str:\n"
        "    got.append(ctx.ctx['sales'] is sales)\n"
        "    return 'seen'\n"
        "def keep(request):\n"
        "    got.append(request.messages[0].text)\n"
        "    return {'calls': [{'name': 'tool_peek'}]}\n"
        "looker = Agent(model=Scripted([keep, 'done']), tools=[peek])"
    )
    page.ok("%%bread looker --with sales\nLook at it.")
    said = page.ok("print(got[0]); print(got[1:])").stdout
    assert said == (
        "Look at it.\n\n`sales` is there for the tools: a Frame, 2 x 2. "
        "Columns: a int, b text.\nFirst rows:\nthe first 5 rows\n[True]\n"
    )
    assert (
        "do   run the cell that makes nosuch"
        in page.run("%bread looker --with nosuch hi").told
    )


def test_a_mapping_is_read_as_yaml_where_the_agent_takes_one(page: Kernel):
    page.ok("%%bread baker --out order\ntopic: no\nloaves: 3")
    assert page.ok("print(order.text)").stdout == '{"topic":"no","loaves":3}\n'
    wrong = page.run("%%bread baker\ntopic: rye\nloaves: three")
    assert wrong.told.splitlines()[0] == "The input does not fit baker. [INVALID_INPUT]"
    assert wrong.outputs == []


def test_an_unknown_agent_is_three_lines_and_a_suggestion(page: Kernel):
    result = page.run("%%bread writr\nhi")
    assert result.error is not None
    assert (result.error["ename"], result.told) == (
        "BreadError",
        "No agent called 'writr'. [AGENT_NOT_FOUND]\n"
        "  why  agents/ has baker, publisher, writer.\n"
        "  do   %%bread writer",
    )
    assert result.outputs == []


@pytest.mark.parametrize(
    "line",
    [
        "%bread writer --nosuch hi",
        "%bread writer --session",
        "%%bread writer text on the line\nand a body",
        "%%bread pending\nbody",
        "%bread resume",
        "%bread runs now",
        "%bread cost now",
        "%bread cost --by cook",
        "%bread mode wrong",
        "%bread gate drop 7",
        "%bread writer --budget lots hi",
        "%bread pendin",
    ],
)
def test_wrong_use_is_an_ordinary_error(page: Kernel, line: str):
    result = page.run(line)
    assert result.status == "error"
    assert result.told.splitlines()[0].endswith("[USAGE]")
    assert len(result.told.splitlines()) == 3


@pytest.mark.parametrize(
    "line",
    [
        "%bread diff a b",
        "%bread fork last",
        "%bread gate try publish {}",
        "%bread resume last --budget 2",
        "%bread writer --skill x hi",
        "%bread writer --budget 1 hi",
    ],
)
def test_what_comes_later_says_so(page: Kernel, line: str):
    result = page.run(line)
    assert result.told.splitlines()[0].endswith("[NOT_AVAILABLE]")


def test_a_variable_wins_over_a_folder_and_the_cell_says_so(page: Kernel):
    page.ok("baker = Agent(model=Scripted(['from the variable'], repeat_last=True))")
    result = page.ok("%bread baker hi", watched=False)
    assert result.plain[0] == (
        "baker is the variable of this notebook, not agents/baker."
    )
    assert "from the variable" in result.plain[1]
    page.ok("del baker")


def test_an_edited_agent_is_read_again_and_the_cell_says_so(
    page: Kernel, project: Path
):
    agent(
        project,
        "fresh",
        "from bread_nb import Agent, Scripted\n"
        'agent = Agent(model=Scripted(["one"], repeat_last=True))',
        "Be short.",
    )
    assert "one" in page.ok("%bread fresh hi").plain[-1]
    (project / "agents/fresh/prompt.md").write_text("Be long.")
    result = page.ok("%bread fresh hi")
    assert result.plain[0] == "fresh reloaded (prompt.md changed)"


def test_a_broken_agent_cannot_run_and_says_where(page: Kernel, project: Path):
    agent(project, "broken", "agent = Agent(")
    result = page.run("%bread broken hi")
    assert "[AGENT_BROKEN]" in result.told
    assert "agents/broken/agent.py line 1" in result.told
    assert page.ok("%bread writer hi").status == "ok"
    (project / "agents/broken/agent.py").unlink()


def test_a_failed_run_leaves_its_picture_and_then_the_error(page: Kernel):
    page.ok("faulty = Agent(model=Scripted([{'text': 'so far', 'error': 400}]))")
    result = page.run("%bread faulty hi", watched=False)
    assert result.outputs[0] == {}
    assert result.plain[0].startswith("faulty failed: ")
    assert result.error is not None
    assert result.error["ename"] == "ProviderError"
    assert 2 <= len(result.told.splitlines()) <= 3


def test_a_bound_draws_the_picture_and_stops_the_notebook(page: Kernel):
    page.ok("cut = Agent(model=Scripted([{'text': 'half', 'stop': 'max_tokens'}]))")
    result = page.run("%bread cut hi", watched=False)
    assert result.plain[0].startswith("cut stopped: answer cut off")
    assert result.error is not None
    assert result.error["ename"] == "BreadStopped"
    assert result.told.splitlines()[0].endswith("[truncated:max_tokens]")


def test_awaiting_and_waiting_work_in_plain_cells(page: Kernel):
    page.ok("bread = Bread.load()")
    awaited = page.ok("outcome = await bread.run('writer', 'hi'); print(outcome)")
    assert awaited.stdout == "Finished('Bread is **good**.', 1 turn, 0 calls)\n"
    waited = page.ok("print(bread.run('writer', 'hi').result())")
    assert waited.stdout == awaited.stdout
    read = page.ok("print([c.type async for c in bread.run('writer', 'hi')][-1])")
    assert read.stdout == "agent:run:end\n"
    inside = page.ok(
        "async def ask():\n    return (await bread.run('writer', 'hi')).text\n"
        "await ask()"
    )
    assert inside.plain == ["'Bread is **good**.'"]
    blocking = page.ok(
        "async def hold():\n    return bread.run('writer', 'hi').result().text\n"
        "await hold()"
    )
    assert blocking.plain == inside.plain


def test_a_run_as_the_last_expression_shows_itself(page: Kernel):
    result = page.ok("Bread.load().run('writer', 'hi')")
    page.wait(
        lambda: any("writer finished" in p for p in page.result(result.msg_id).plain),
        "the picture",
    )


def test_time_and_capture_work_around_a_cell(page: Kernel):
    assert page.ok("%%time\n%bread writer hi", watched=False).plain
    page.ok("%%capture kept\n%bread writer hi", watched=False)
    pictures = "[o.data['text/plain'] for o in kept.outputs if 'text/plain' in o.data]"
    assert page.ok(f"print(len({pictures}))").stdout == "1\n"


def test_lists_come_as_text_and_as_a_table(page: Kernel):
    agents = page.ok("%bread agents").outputs[0]
    assert agents["text/plain"].splitlines()[0].split() == [
        "agent",
        "model",
        "tools",
        "asks",
        "state",
    ]
    assert agents["text/html"].startswith("<table><caption>")
    assert "writer-1" in page.ok("%bread runs --all").plain[0]
    assert "last 12 runs" in page.ok("%bread cost").plain[0]
    assert "writer" in page.ok("%bread cost --by agent --all").outputs[0]["text/html"]
    assert page.ok("%bread mode live").plain == ["live: models are called."]
    assert "%bread pending" in page.ok("%bread help").plain[0]
    assert page.ok("%bread").plain == page.ok("%bread help").plain
    assert "Python" in page.ok("%bread doctor").plain[0]


def test_the_doctor_has_the_traceback_of_the_last_error(page: Kernel):
    page.run("%bread nosuchagent hi")
    assert "Traceback" in page.ok("%bread doctor --last").plain[0]


def test_show_redraws_any_run(page: Kernel):
    first = page.ok("%bread writer hi", watched=False)
    shown = page.ok("%bread show last", watched=False)
    assert shown.outputs == first.outputs
    assert page.ok("print(_.text)").stdout == "Bread is **good**.\n"
    assert "[RUN_NOT_FOUND]" in page.run("%bread show nosuch-9").told


def test_every_quick_run_leaves_its_picture_in_its_own_cell(page: Kernel):
    page.ok(
        "import sys\n"
        "before = sys.getswitchinterval()\n"
        "sys.setswitchinterval(1e-6)\n"
        "quick = Agent(model=Scripted(['quick'], repeat_last=True))"
    )
    many = "for _ in range(60):\n    get_ipython().run_line_magic('bread', 'quick go')"
    drawn = [plain for plain in page.ok(many).plain if plain.endswith("quick")]
    page.ok("sys.setswitchinterval(before)")
    assert len(drawn) == 60


def test_a_misspelt_rule_is_told_once_in_the_cell_that_runs_first(page: Kernel):
    page.ok(
        "@tool\n"
        "def publish(title: str) -> str:\n"
        "    return title\n"
        "slip = Agent(model=Scripted(['x'], repeat_last=True), tools=[publish],\n"
        "             permissions=Permissions(ask=['tool:publsh']))"
    )
    told = page.ok("%%bread slip\nGo.").stdout
    assert "slip: the rule ask tool:publsh matches no tool: did you mean" in told
    assert page.ok("%%bread slip\nGo.").stdout == ""
