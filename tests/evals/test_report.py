"""Reports: figures that cannot flatter, the same table each time, files for others."""

import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from evals.conftest import Evaluate, answering

from bread_nb import BreadError
from bread_nb.errors import ProviderError
from bread_nb.evals import Case, Suite, custom, exact
from bread_nb.evals.junit import write_junit
from bread_nb.evals.odds import interval, mcnemar, pass_at
from bread_nb.evals.report import Report

TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
ALLOWED = {"p", "strong", "pre", "details", "summary", *TABLE}
LONG = "A long answer. " * 400


def suite(**answers: object) -> Suite:
    """A suite of one case for each answer; right is right."""

    def answer(question: str) -> object:
        given = answers[question]
        if isinstance(given, Exception):
            raise given
        return given

    cases = [Case(name=name, input=name, expected="right") for name in answers]
    return Suite(answering(answer), cases, scorers=[exact()], name="bakery")


MIXED = {
    "rye": "right",
    "oats": "<b>wrong</b> | *very*",
    "spelt": ProviderError("It is down.", code="MODEL_ERROR"),
}


async def test_a_report_says_the_same_in_three_forms_each_time(evaluated: Evaluate):
    first = await evaluated(suite(**MIXED))
    again = await evaluated(suite(**MIXED))
    shown = first._repr_mimebundle_()
    assert shown == again._repr_mimebundle_()
    assert shown["text/plain"].splitlines() == [
        "bakery: 1 of 3 passed (33%, 95 % interval 6% to 79%) · 1 error · scripted"
        " · no charge",
        "   case   score  answer                 why",
        "✓  rye    1.00   right",
        "✗  oats   0.00   <b>wrong</b> | *very*  exact: it is not 'right'",
        "!  spelt  0.00                          It is down. [MODEL_ERROR]",
    ]
    assert r"\<b\>wrong\</b\> \| \*very\*" in shown["text/markdown"]
    assert "&lt;b&gt;wrong&lt;/b&gt;" in shown["text/html"]


async def test_the_html_uses_only_what_untrusted_notebooks_show(evaluated: Evaluate):
    tags: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.add(tag)
            assert not attrs

    many = {f"q{i}": "right" if i % 10 else LONG for i in range(40)}
    report = await evaluated(suite(**MIXED))
    Reader().feed(report._repr_mimebundle_()["text/html"])
    large = await evaluated(suite(**many))
    Reader().feed(large._repr_mimebundle_()["text/html"])
    Reader().feed(large.compare(report)._repr_mimebundle_()["text/html"])
    assert tags <= ALLOWED


async def test_what_did_not_pass_is_told_by_sign_word_and_weight(evaluated: Evaluate):
    report = await evaluated(suite(**MIXED))
    lines = report._repr_mimebundle_()["text/html"].splitlines()
    assert lines[0].startswith("<p><strong>bakery: 1 of 3 passed</strong> (33%, ")
    assert "<tr><td>✓</td><td>rye</td><td>1.00</td>" in lines[4]
    assert (
        "<td><strong>✗ failed</strong></td><td><strong>oats</strong></td>" in lines[5]
    )
    assert "<td><strong>! error</strong></td>" in lines[6]


async def test_long_answers_and_many_passes_are_folded(evaluated: Evaluate):
    many = {f"q{i}": "right" if i % 10 else LONG for i in range(400)}
    html = (await evaluated(suite(**many)))._repr_mimebundle_()["text/html"]
    missed, passed = html.split("<details><summary>360 passed</summary>")
    assert missed.count("✗ failed") == 40
    assert "✗" not in passed
    assert passed.count("<tr><td>✓</td>") == 160
    assert "<p>200 more passed</p>" in passed
    folds = missed.count("<details><summary>A long answer. A long")
    assert 10 < folds < 40
    assert len(html) < 120_000


async def test_what_cannot_be_seen_in_an_answer_is_shown(evaluated: Evaluate):
    report = await evaluated(suite(rye="rye\u202emd.exe"))
    for form in report._repr_mimebundle_().values():
        assert "\u202e" not in form
    assert "rye⟦U+202E⟧md.exe" in report._repr_mimebundle_()["text/html"]


async def test_a_comparison_says_first_what_was_lost(evaluated: Evaluate):
    before = await evaluated(suite(a="right", b="wrong", c="right", d="wrong"))
    now = await evaluated(suite(a="right", b="right", c="wrong", e="wrong"))
    html = now.compare(before)._repr_mimebundle_()["text/html"].splitlines()
    rows = [line for line in html if line.startswith("<tr><td>")]
    assert rows == [
        "<tr><td></td><td>passed</td><td>2 of 4</td><td>2 of 4</td></tr>",
        "<tr><td><strong>▼ lost</strong></td><td><strong>c</strong></td>"
        "<td>100%</td><td>0%</td></tr>",
        "<tr><td>▲ gained</td><td>b</td><td>0%</td><td>100%</td></tr>",
        "<tr><td>− gone</td><td>d</td><td>0%</td><td>–</td></tr>",
        "<tr><td>+ new</td><td>e</td><td>–</td><td>0%</td></tr>",
    ]


async def test_a_thousand_rows_show_the_failures_and_say_what_is_left_out(
    evaluated: Evaluate,
):
    answers = {f"q{i}": "right" if i % 100 else "wrong" for i in range(1000)}
    report = await evaluated(suite(**answers), concurrency=50)
    plain = report._repr_mimebundle_()["text/plain"].splitlines()
    assert len(plain) == 203
    assert sum(line.startswith("✗") for line in plain) == 10
    assert plain[-1].strip() == "800 more"


async def test_a_report_comes_back_from_its_file(evaluated: Evaluate, tmp_path: Path):
    report = await evaluated(suite(**MIXED))
    report.save(tmp_path / "report.json")
    assert Report.load(tmp_path / "report.json") == report


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "suites": []}', '{"version": 1, "suites": [{}]}']
)
def test_a_file_that_is_no_report_is_one_error(tmp_path: Path, text: str):
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(BreadError, match="is no report") as caught:
        Report.load(path)
    assert caught.value.code == "INVALID_REPORT"


async def test_what_passed_before_must_pass(evaluated: Evaluate, tmp_path: Path):
    before = await evaluated(suite(rye="right", oats="wrong", spelt="right"))
    before.save(tmp_path / "before.json")
    now = await evaluated(
        suite(rye="right", oats="right", spelt="wrong", emmer="wrong")
    )
    compared = now.compare(before)
    assert (compared.lost, compared.gained) == (["spelt"], ["oats"])
    note = "1 gained, 1 lost: that may be luck (p = 1.00). 1 on one side only."
    assert compared.note == note
    assert repr(compared) == (f"Comparison(2 of 3 -> 2 of 4; {note})")
    table = compared._repr_mimebundle_()["text/plain"].splitlines()
    assert [line.split() for line in table[1:]] == [
        ["case", "before", "now"],
        ["passed", "2", "of", "3", "2", "of", "4"],
        ["oats", "0%", "100%"],
        ["spelt", "100%", "0%"],
        ["emmer", "–", "0%"],
    ]
    with pytest.raises(BreadError, match="spelt passed before"):
        now.check(no_regressions=tmp_path / "before.json")
    before.check(no_regressions=before)


async def test_a_case_that_vanished_is_a_regression(evaluated: Evaluate):
    before = await evaluated(suite(rye="right", oats="right"))
    now = await evaluated(suite(rye="right"))
    with pytest.raises(BreadError, match="oats passed before"):
        now.check(no_regressions=before)


@pytest.mark.parametrize("share", [float("nan"), -0.1, 1.5, 50, True, "0.9"])
async def test_a_pass_rate_that_is_no_share_is_refused(
    evaluated: Evaluate, share: float
):
    report = await evaluated(suite(rye="wrong"))
    with pytest.raises(BreadError) as caught:
        report.check(pass_rate=share)
    assert caught.value.code == "INVALID_SETTING"
    assert report.check(pass_rate=0) is report


async def test_junit_tells_failures_from_errors(evaluated: Evaluate, tmp_path: Path):
    broken = custom(lambda _: None, name="broken")
    report = await evaluated(suite(**MIXED, emmer="bell \x07 and half \ud800"))
    other = Suite(
        answering(lambda _: "x"), [Case(name="a", input="a")], scorers=[broken]
    )
    second = await evaluated(other)
    write_junit(Report(suites=(*report.suites, *second.suites)), tmp_path / "junit.xml")
    root = ET.parse(tmp_path / "junit.xml").getroot()
    first, other = root.findall("testsuite")
    assert (first.get("tests"), first.get("failures"), first.get("errors")) == (
        "4",
        "2",
        "1",
    )
    assert other.get("errors") == "1"
    assert [case.get("name") for case in first.findall("testcase")] == [
        "rye",
        "oats",
        "spelt",
        "emmer",
    ]
    failure = first.find("testcase[@name='oats']/failure")
    assert failure is not None
    assert failure.get("message") == "exact: it is not 'right'"


async def test_the_rows_are_a_data_frame(evaluated: Evaluate):
    report = await evaluated(suite(**MIXED))
    frame = report.frame()
    assert list(frame["status"]) == ["passed", "failed", "error"]
    assert list(frame["exact score"].dropna()) == [1.0, 0.0]
    assert frame["cost"].iloc[0] == 0.0


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (8, 10, 0.490, 0.943),
        (10, 10, 0.722, 1.0),
        (0, 10, 0.0, 0.278),
    ],
)
def test_intervals_are_wilsons(passed: int, total: int, low: float, high: float):
    assert interval(passed, total) == pytest.approx((low, high), abs=0.001)


def test_pass_at_k_and_the_paired_test_are_exact():
    assert pass_at(1, 3, 10) == pytest.approx(0.3)
    assert pass_at(5, 3, 10) == pytest.approx(1 - 21 / 252)
    assert pass_at(10, 1, 10) == 1.0
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(6, 0) == pytest.approx(0.03125)
    assert mcnemar(5, 5) == 1.0


async def test_the_plot_shows_cases_costs_and_times(
    evaluated: Evaluate, tmp_path: Path
):
    report = await evaluated(suite(**MIXED))
    figure = report.plot()
    rates, costs, times = figure.axes
    assert [bar.get_width() for bar in rates.patches] == [0.0, 0.0, 1.0]
    assert [label.get_text() for label in rates.get_yticklabels()] == [
        "oats",
        "spelt",
        "rye",
    ]
    unknown = [not len(dot.get_facecolors()) for dot in costs.collections]
    assert unknown == [row.cost is None for row in report.rows]
    assert sum(bar.get_height() for bar in times.patches) == 3
    figure.savefig(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 1000
