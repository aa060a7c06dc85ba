"""Reports beside each other, and the files that are made of them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bread_nb.evals.junit import write_junit
from bread_nb.evals.report import Report, SuiteReport
from bread_nb.evals.scoresheet import EvalRow


def row(case: str, passed: bool = True, repeat: int = 1) -> EvalRow:
    status = "passed" if passed else "failed"
    return EvalRow(case=case, repeat=repeat, status=status, answer=f"{case}\x1b\x00")


def suite(name: str, *rows: EvalRow) -> SuiteReport:
    return SuiteReport(
        name=name,
        kind="functional",
        agent="baker",
        model="scripted",
        rows=rows,
        expected=len(rows),
    )


def test_one_suite_is_found_again_among_several():
    one = Report(suites=(suite("first", row("rye"), row("oat")),))
    more = Report(suites=(*one.suites, suite("second", row("rye"))))
    assert more.compare(one).lost == []
    assert one.compare(more).lost == ["second: rye"]
    assert more.compare(one).note == "No case changed. 1 on one side only."


def test_suites_of_one_name_are_told_apart():
    before = Report(suites=(suite("same", row("rye")), suite("same", row("rye"))))
    now = Report(suites=(suite("same", row("rye")), suite("same", row("rye", False))))
    assert now.compare(before).lost == ["same: rye (2)"]


def test_a_case_that_passes_less_often_is_a_change():
    runs = [[row("rye", n > most, n) for n in range(1, 6)] for most in (1, 4)]
    before, now = (Report(suites=(suite("s", *rows),)) for rows in runs)
    assert now.compare(before).note.startswith("0 gained, 1 lost")


@pytest.mark.parametrize("text", ["\x00\x1b[31m\x07", "half \ud800", "\ufffe"])
def test_a_report_of_any_text_can_be_kept(tmp_path: Path, text: str):
    report = Report(suites=(suite(f"suite {text}", row(text, passed=False)),))
    report.save(tmp_path / "new" / "report.json")
    assert Report.load(tmp_path / "new" / "report.json") == report
    write_junit(report, tmp_path / "other" / "junit.xml")
    assert ET.parse(tmp_path / "other" / "junit.xml").getroot().tag == "testsuites"
