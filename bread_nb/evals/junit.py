"""Reports as JUnit XML, which every CI service shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from os import PathLike
from pathlib import Path

from bread_nb.evals.report import Report, SuiteReport
from bread_nb.evals.report_files import write_whole
from bread_nb.evals.scoresheet import EvalRow

__all__ = ["write_junit"]

# What no XML 1.0 text may hold.
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(report: Report, path: str | PathLike[str]) -> None:
    """Write a report as JUnit XML: a suite a test suite, a row a test case.

    A row that did not pass is a failure; one that is broken, or whose run failed, is an
    error; a row that is missing is an error too.

    Raises:
        BreadError: `REPORT_UNWRITABLE`.
    """
    root = ET.Element("testsuites", name="bread")
    for suite in report.suites:
        root.append(_suite(suite))
    ET.indent(root)
    text = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    write_whole(Path(path), text)


def _suite(suite: SuiteReport) -> ET.Element:
    errors = suite.count("error", "broken") + suite.missing
    found = ET.Element(
        "testsuite",
        name=_fit(suite.name),
        tests=str(suite.expected),
        failures=str(suite.count("failed")),
        errors=str(errors),
        time=f"{sum(row.ms for row in suite.rows) / 1000:.3f}",
    )
    for row in suite.rows:
        found.append(_row(suite, row))
    if suite.missing:
        missing = ET.SubElement(found, "testcase", name="missing rows")
        words = f"{suite.missing} rows are missing: {suite.stopped or 'interrupted'}"
        ET.SubElement(missing, "error", message=words)
    return found


def _row(suite: SuiteReport, row: EvalRow) -> ET.Element:
    name = row.case if row.repeat == 1 else f"{row.case} #{row.repeat}"
    found = ET.Element(
        "testcase",
        classname=_fit(suite.name),
        name=_fit(name),
        time=f"{row.ms / 1000:.3f}",
    )
    if not row.passed:
        kind = "failure" if row.status == "failed" else "error"
        told = ET.SubElement(found, kind, message=_fit(row.why), type=row.status)
        told.text = _fit(row.answer)
    return found


def _fit(text: str) -> str:
    return _UNFIT.sub("\ufffd", text)
