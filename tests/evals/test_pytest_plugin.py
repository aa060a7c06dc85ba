"""`pytest --bread`: a case is a test, a cell is a test, and both say what is wrong."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

pytest_plugins = ["pytester"]

AGENT = """
    from bread_nb import Agent, Scripted

    ANSWERS = {"What?": "Rye", "Who?": "Me"}
    agent = Agent(model=Scripted([lambda request: ANSWERS[request.messages[-1].text]],
                                 repeat_last=True))
"""
SUITE = """
    cases:
      - {name: what, input: "What?", expected: Rye}
      - {name: who, input: "Who?", expected: Nobody}
    scorers: [exact]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    write(pytester.path, "agents/baker/agent.py", AGENT)
    write(pytester.path, "agents/baker/evals/words.yaml", SUITE)
    return pytester


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))


def notebook(root: Path, *cells: tuple[str, str]) -> None:
    """A notebook of sources and the stdout saved with each."""
    made = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "execution_count": None,
            "source": source,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": said}]
            if said
            else [],
        }
        for number, (source, said) in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {
        "cells": made,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (root / "story.ipynb").write_text(json.dumps(whole))


def test_each_case_is_a_test(project: pytest.Pytester):
    result = project.runpytest("--bread", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*words.yaml::what PASSED*",
            "*words.yaml::who FAILED*",
            "The evaluation is not good enough. [[]EVAL_FAILED[]]",
            "*who: exact: it is not 'Nobody'*",
            "*answer*",
            "Me",
        ]
    )


def test_without_the_option_nothing_is_collected(project: pytest.Pytester):
    assert project.runpytest().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_one_case_is_chosen_as_any_test_is(project: pytest.Pytester):
    result = project.runpytest("--bread", "agents/baker/evals/words.yaml::what")
    result.assert_outcomes(passed=1)
    assert project.runpytest("--bread", "-k", "what").ret == 0


def test_a_case_without_scorers_is_no_green_test(project: pytest.Pytester):
    text = "cases: [{name: what, input: 'What?', expected: Wrong}]"
    write(project.path, "agents/baker/evals/words.yaml", text)
    result = project.runpytest("--bread")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*what of baker/words is held against nothing*"])


def test_a_broken_file_is_told_in_its_three_lines(project: pytest.Pytester):
    write(project.path, "agents/baker/evals/words.yaml", "cases: []")
    result = project.runpytest("--bread")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*words.yaml cannot be used. [[]EVAL_BROKEN[]]"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.kernel
def test_each_cell_is_a_test_and_a_change_is_a_diff(pytester: pytest.Pytester):
    notebook(pytester.path, ("print('one')", "one\n"), ("print('two')", "too\n"))
    result = pytester.runpytest_subprocess("--bread", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*story.ipynb::cell 0 PASSED*",
            "*story.ipynb::cell 1 FAILED*",
            "it shows something else now:",
            "*-stream:stdout: too",
            "*+stream:stdout: two",
        ]
    )


@pytest.mark.kernel
def test_a_cell_that_raises_fails_and_later_ones_are_still_run(
    pytester: pytest.Pytester,
):
    notebook(pytester.path, ("x = 1", ""), ("1 / 0", ""), ("print(x)", "1\n"))
    result = pytester.runpytest_subprocess("--bread")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["Cell 1 of story.ipynb raised ZeroDivisionError. [[]CELL_FAILED[]]"]
    )


def test_the_fixtures_are_there_for_tests_of_ones_own(project: pytest.Pytester):
    write(
        project.path,
        "test_own.py",
        """
        import asyncio

        from bread_nb import Agent

        def test_it(bread, script, crumbs):
            agent = Agent(model=script("Hello"), name="greeter")

            async def go():
                return await bread.run(agent, "hi")

            assert asyncio.run(go()).text == "Hello"
            assert crumbs[0].type == "agent:run:start"
            assert bread.agent_ids() == ["baker"]
        """,
    )
    project.runpytest_subprocess("-p", "no:asyncio").assert_outcomes(passed=1)


def test_the_plugin_alone_loads_little(project: pytest.Pytester):
    write(
        project.path,
        "test_light.py",
        """
        import sys

        def test_light():
            heavy = {"bread_nb.bread", "bread_nb.evals.case", "httpx2", "nbclient"}
            assert heavy.isdisjoint(sys.modules)
        """,
    )
    others = ("-p", "no:asyncio", "-p", "no:nbmake")
    project.runpytest_subprocess(*others).assert_outcomes(passed=1)


def test_a_name_with_colons_is_chosen_and_found_again_as_any_other(
    pytester: pytest.Pytester,
):
    pytester.makefile(
        ".py",
        **{
            "agents/baker/evals/two": """
            from bread_nb import Agent, Case, Scripted, Suite
            from bread_nb.evals import exact
            baker = Agent(name="baker", model=Scripted(["rye"], repeat_last=True))
            cases = [Case("a::b", "?", expected="oat"), Case("c", "?", expected="rye")]
            first = Suite(baker, cases, scorers=[exact()], name="first")
            second = Suite(baker, cases[1:], scorers=[exact()], name="second")
            """
        },
    )
    file = "agents/baker/evals/two.py"
    pytester.runpytest("--bread", "-p", "no:xdist").assert_outcomes(failed=1, passed=2)
    again = pytester.runpytest("--bread", "--lf", "-p", "no:xdist")
    again.assert_outcomes(failed=1)
    one = pytester.runpytest("--bread", f"{file}::first: a:b", "-p", "no:xdist")
    one.assert_outcomes(failed=1)
