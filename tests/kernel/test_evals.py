"""Evaluations in a real kernel: live while they work, stopped, gone on with, kept."""

import nbformat
import pytest
from kernel.conftest import agent
from kernel.driver import WIDGET, Kernel, View
from kernel.test_notebooks import execute, nbval

pytestmark = pytest.mark.kernel

BAKERY = """
from bread_nb.evals import contains
gates, asked = {}, []

@tool
async def prove(case: str) -> str:
    "Wait until the dough of a case has risen."
    while not gates.setdefault(case, threading.Event()).is_set():
        await asyncio.sleep(0.01)
    return "risen"

def turn(request):
    if request.messages[-1].role == "tool":
        case = request.messages[-3].text
        return "flat" if case in bad else f"bread {case}"
    asked.append(request.messages[-1].text)
    return {"calls": [{"name": "tool_prove", "args": {"case": asked[-1]}}]}

def suite_of(number, name="bakery"):
    cases = [Case(name=f"case {i}", input=f"{i}") for i in range(1, number + 1)]
    model = Scripted([turn], by="history", repeat_last=True)
    agent = Agent(name="baker", model=model, tools=[prove])
    return Suite(agent, cases, name=name, scorers=[contains("bread")])

def let(*numbers):
    for number in numbers:
        gates.setdefault(str(number), threading.Event()).set()

bad = set()
"""
EVAL = "%bread eval bakery --concurrency 2"


@pytest.fixture
def bakery(page: Kernel) -> Kernel:
    """The kernel, with suites whose cases end when a test lets them."""
    page.ok(BAKERY)
    return page


def at_work(kernel: Kernel, code: str) -> tuple[str, View]:
    """A cell that evaluates, and a view on its card."""
    cell = kernel.start(code)
    view = kernel.view(kernel.card(cell))
    view.state("evaluating")
    return cell, view


def figures(view: View) -> dict:
    return view.look().data["b"]["eval"]


def until_done(view: View, number: int) -> dict:
    def there(view: View) -> bool:
        return view.data.get("b", {}).get("eval", {}).get("done") == number

    view.until(there, f"{number} rows")
    return figures(view)


def test_the_card_counts_tells_failures_and_gives_way_to_the_report(bakery: Kernel):
    bakery.ok("bakery = suite_of(8); bad = {'1', '4'}")
    cell, view = at_work(bakery, EVAL)
    assert (figures(view)["words"], view.head()["button"]) == ("0 of 8", "stop")
    bakery.run_aside("let(1, 2, 3, 4)")
    shown = until_done(view, 4)
    assert (shown["passed"], shown["failed"]) == ("2 passed", "2 failed")
    assert sorted(row["case"] for row in shown["missed"]) == ["case 1", "case 4"]
    assert shown["missed"][0]["why"] == "contains: it lacks 'bread'"
    assert view.head()["cost"] == "no charge"
    view.until(lambda v: figures(v)["case"] == "case 6", "the case begun last")
    assert shown["rest_ms"] is not None
    bakery.run_aside("let(*range(5, 9))")
    result = bakery.finish(cell)
    assert WIDGET in result.outputs[0]
    report = result.outputs[1]
    view.state("evaluated")
    assert view.head()["word"] == "Finished"
    bakery.ok("print('the next cell')")
    assert bakery.result(cell).outputs[0] == {}
    assert report["text/plain"].startswith("bakery: 6 of 8 passed (75%")
    assert bakery.ok("print(repr(_))").stdout == "Report(bakery: 6 of 8 passed)\n"


@pytest.mark.parametrize("how", ["stop", "interrupt"])
@pytest.mark.parametrize("line", [EVAL, "await bread.eval(bakery, concurrency=2)"])
def test_stopping_keeps_what_is_done_and_the_next_run_goes_on(
    bakery: Kernel, how: str, line: str
):
    name = f"{how}{'-await' if 'await' in line else ''}"
    bakery.ok(f"bread = Bread.load(); bakery = suite_of(6, {name!r}); let(1, 2, 3)")
    cell, view = at_work(bakery, line)
    until_done(view, 3)
    if how == "stop":
        assert view.result(view.act("stop"))["ok"] is True
    else:
        bakery.interrupt()
    result = bakery.finish(cell, 5)
    assert result.told.splitlines() == [
        "Stopped by you. [RUN_CANCELLED]",
        "  why  3 of 6 rows are kept.",
        "  do   run the cell again to go on",
    ]
    bakery.wait(lambda: bakery.result(cell).outputs == [{}], "the settled card")
    bakery.ok("let(*range(1, 7)); asked.clear()")
    report = bakery.ok(line).outputs[-1]["text/plain"]
    assert report.startswith(f"{name}: 6 of 6 passed")
    again = bakery.ok("print(sorted(asked))").stdout
    assert "'1'" not in again
    assert "'3'" not in again
    assert bakery.ok("print(len(_.rows))").stdout == "6\n"


def test_two_at_once_have_a_card_each(bakery: Kernel):
    bakery.ok("one, two = suite_of(2, 'one'), suite_of(3, 'two'); let(1)")
    cell = bakery.start(
        "bread = Bread.load()\n"
        "reports = await asyncio.gather(bread.eval(one), bread.eval(two))\n"
        "[r.passed for r in reports]"
    )
    bakery.wait(lambda: len(bakery.cards(cell)) == 2, "two cards")
    views = [bakery.view(model) for model in bakery.cards(cell)]
    for view in views:
        until_done(view, 1)
    assert sorted(v.head()["agent"] for v in views) == ["one", "two"]
    bakery.run_aside("let(2, 3)")
    assert bakery.finish(cell).outputs[2] == {"text/plain": "[2, 3]"}
    bakery.wait(lambda: bakery.result(cell).outputs[:2] == [{}, {}], "settled cards")


def test_a_thousand_rows_take_few_messages(bakery: Kernel):
    bakery.ok("bakery = suite_of(1000, 'many'); let(*range(1, 1001)); bad = {'500'}")
    cell, view = at_work(bakery, "%bread eval bakery --concurrency 50")
    result = bakery.finish(cell, 120)
    assert result.outputs[-1]["text/plain"].startswith("many: 999 of 1000 passed")
    frames = [m for m in view.heard() if m["t"] == "frame"]
    took = frames[-1]["messages"][0]["updateDataModel"]["value"]["elapsed_ms"]
    assert len(frames) <= 2 + 20 * took / 1000
    view.look()
    assert (figures(view)["words"], view.gaps) == ("1,000 of 1,000", 0)


def test_a_view_that_comes_later_sees_it_all_and_keeps_it(bakery: Kernel):
    bakery.ok("bakery = suite_of(2, 'late'); let(1)")
    cell = bakery.start(EVAL)
    early = bakery.view(bakery.card(cell))
    until_done(early, 1)
    early.bye()
    bakery.client.session.session = "another-page"
    late = bakery.view(bakery.card(cell))
    until_done(late, 1)
    bakery.run_aside("let(2)")
    bakery.finish(cell)
    late.state("evaluated")
    assert late.head()["word"] == "Finished"
    assert "Run `_` in a new cell" in late.look().data["note"]["title"]
    assert bakery.result(cell).outputs[0] != {}
    late.bye()
    bakery.wait(lambda: bakery.result(cell).outputs[0] == {}, "the settled card")


def test_where_nobody_draws_cards_there_is_one_line(bakery: Kernel):
    bakery.ok("bakery = suite_of(2, 'unseen'); let(1)")
    cell = bakery.start(EVAL)

    def line() -> str | None:
        plain = bakery.result(cell).plain
        return plain[0] if plain and "1 of 2" in plain[0] else None

    told = bakery.wait(line, "the line")
    assert told.startswith("unseen: 1 of 2 · 1 passed · no charge · about ")
    assert told.endswith("Interrupt the kernel to stop.")
    bakery.run_aside("let(2)")
    assert bakery.finish(cell).outputs[0] == {}


def test_a_report_is_a_value_unless_the_line_asks_for_more(bakery: Kernel):
    bakery.ok("bakery = suite_of(4, 'asked'); let(1, 2, 3, 4); bad = {'4'}")
    for line in (f"x = {EVAL}", f"{EVAL} --out y"):
        assert [
            output.keys() & {"text/plain"} for output in bakery.ok(line).outputs
        ] in (
            [],
            [set()],
        )
    assert bakery.ok("print(x.passed, y.passed)").stdout == "3 3\n"
    failed = bakery.run(f"{EVAL} --pass-rate 0.9")
    assert failed.told.startswith("The evaluation is not good enough. [EVAL_FAILED]")
    assert failed.outputs[-1]["text/plain"].startswith("asked: 3 of 4 passed")
    bakery.ok(f"{EVAL} --pass-rate 0.7")
    bakery.ok("x.save('before.json'); bad = {'3'}")
    lost = bakery.run(f"{EVAL} --baseline before.json --out z")
    assert "case 3 passed before" in lost.told
    compared, kept = lost.outputs[-2:]
    assert compared["text/plain"].startswith("1 gained, 1 lost: that may be luck")
    assert kept["text/plain"].startswith("asked: 3 of 4 passed")
    assert bakery.ok("print(z.passed)").stdout == "3\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--nosuch", "There is no option --nosuch."),
        ("bakery --repeat 0", "--repeat 0 is no such number."),
        ("bakery --pass-rate 90", "--pass-rate 90 is no such number."),
        ("bakery --tag", "--tag needs a value."),
        ("bakery --tag nosuch", "No case is tagged nosuch."),
        ("nosuch", "There is no nosuch."),
        ("bakery --baseline nosuch.json", "nosuch.json is no report."),
    ],
)
def test_what_cannot_be_evaluated_is_three_lines(bakery: Kernel, line: str, said: str):
    bakery.ok("bakery = suite_of(1)")
    result = bakery.run(f"%bread eval {line}")
    assert result.told.startswith(said)
    assert len(result.told.splitlines()) == 3
    assert result.outputs == []


WRITER = """
from bread_nb import Agent, Scripted

agent = Agent(model=Scripted(["Rye keeps.", "No."], by="history", repeat_last=True))
"""
SUITE = """
cases:
  - {name: rye, input: rye, scorers: [{contains: {expected: keeps}}]}
  - {name: salt, input: salt, scorers: [{contains: {expected: salt}}]}
"""
STORY = [
    "%load_ext bread_nb",
    "%bread eval writer",
    "from bread_nb import Bread\nawait Bread.load().eval('writer')",
]


def test_a_program_that_runs_a_notebook_keeps_the_report_alone(tmp_path):
    agent(tmp_path, "writer", WRITER)
    (tmp_path / "agents" / "writer" / "evals").mkdir()
    (tmp_path / "agents" / "writer" / "evals" / "first.yaml").write_text(SUITE)
    first = execute(tmp_path, STORY, "first.ipynb")
    again = execute(tmp_path, STORY, "again.ipynb")
    assert first.read_bytes() == again.read_bytes()
    for cell in nbformat.read(first, 4).cells[1:]:
        (output,) = cell.outputs
        assert output.data["text/plain"].startswith("writer/first: 1 of 2 passed")
    assert WIDGET not in first.read_text()
    told = nbval(tmp_path, "first.ipynb", "--nbval")
    assert [line.split()[2] for line in told if "::ipynb::" in line] == ["PASSED"] * 3
