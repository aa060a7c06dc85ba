"""What nbval is told to overlook: costs, times, tokens, versions, and nothing else."""

import re
import subprocess
import sys

import pytest
from nbval.plugin import get_sanitize_patterns

from bread_nb.evals.sanitizer import PATTERNS


def overlooked(text: str) -> str:
    """A text as nbval compares it."""
    for pattern, instead in get_sanitize_patterns(PATTERNS.read_text("ascii")):
        text = re.sub(pattern, instead, text)
    return text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("bread 0.1.0: 3 agents", "bread 1.12.3rc1: 3 agents"),
        ("3 calls · 2,310 tokens · $0.0164", "3 calls · 99 tokens · $1,002.5"),
        ("plot done 1.1 s, 0:19 in all", "plot done 12 s, 1:02:09 in all"),
        ("2026-01-01T12:00:00.123456+00:00.", "2031-12-31T09:07:01+02:00."),
        ("baked 2026-01-01 12:00, done", "baked 2027-02-03 04:05:06Z, done"),
        ("the end\nReceipt: $1 a\n", "the end\nReceipt: $2 b\n"),
    ],
)
def test_what_differs_by_nature_is_overlooked(first: str, second: str):
    assert first != second
    assert overlooked(first) == overlooked(second)


@pytest.mark.parametrize(
    "text",
    ["Rye rises slowly.", "3 calls, 1 failed", "mean of flour = 412.0", "bread rises"],
)
def test_what_an_agent_said_is_compared(text: str):
    assert overlooked(text) == text


def test_the_module_says_where_the_patterns_are():
    command = [sys.executable, "-m", "bread_nb.evals.sanitizer"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout == f"{PATTERNS}\n"
