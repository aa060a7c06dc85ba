"""`bread eval --record`: recordings lie beside the suites, and replays find them."""

import json

import pytest
from cli.conftest import Project

PARROT = """
    from bread_nb import Agent
    from bread_nb.messages import Usage
    from bread_nb.providers.model import Finish, TextChunk, UsageReport

    class Parrot:
        name, free = "made:parrot", True

        async def stream(self, request):
            yield TextChunk(request.messages[-1].text.upper())
            yield UsageReport(Usage(input=1, output=1))
            yield Finish("end_turn", "parrot")

        async def aclose(self):
            pass

    agent = Agent(model=Parrot(), prompt="Say it loudly.")
"""
SUITE = """
    cases:
      - {name: rye, input: rye, expected: RYE}
      - {name: oats, input: oats, expected: OATS}
    scorers: [exact]
"""
TAPE = "agents/parrot/evals/loud.cassette.jsonl"


@pytest.fixture
def aviary(project: Project) -> Project:
    files = {
        "agents/parrot/agent.py": PARROT,
        "agents/parrot/evals/loud.yaml": SUITE,
        "agents/parrot/evals/more.py": """
            from bread_nb import Case, Suite
            from bread_nb.evals import exact

            suite = Suite("parrot", [Case(name="far", input="far")], name="more",
                          scorers=[exact("FAR")])
        """,
    }
    project.write(files)
    return project


def asked(project: Project, tape: str = TAPE) -> list[str]:
    """What was asked in the lines of a recording."""
    lines = (project.root / tape).read_text().splitlines()
    return [json.loads(line)["asked"]["messages"][-1]["user"] for line in lines]


def test_each_suite_is_recorded_beside_its_file_and_replayed(aviary: Project):
    assert aviary.bread("eval", "parrot", "--record").code == 0
    assert asked(aviary) == ["oats", "rye"]
    assert asked(aviary, "agents/parrot/evals/more.cassette.jsonl") == ["far"]
    assert not list(aviary.root.glob("*.cassette.jsonl"))
    aviary.write({"agents/parrot/agent.py": PARROT.replace(".upper()", "")})
    said = aviary.bread("eval", "parrot", BREAD_MODE="replay")
    assert said.code == 0
    assert "loud: 2 of 2 passed" in said.out


def test_a_changed_prompt_says_which_words_differ(aviary: Project):
    aviary.bread("eval", "parrot", "--record")
    aviary.write({"agents/parrot/agent.py": PARROT.replace("loudly", "softly")})
    said = aviary.bread("eval", "parrot", BREAD_MODE="replay")
    assert said.code == 1
    assert "says 'softly', recorded 'loudly'" in said.err


def test_a_whole_recording_leaves_nothing_of_older_ones(aviary: Project):
    aviary.bread("eval", "parrot", "--record")
    aviary.write({"agents/parrot/evals/loud.yaml": SUITE.replace("oats", "spelt")})
    aviary.bread("eval", "parrot", "--record", "--pass-rate", "0")
    assert asked(aviary) == ["rye", "spelt"]


def test_one_case_that_is_recorded_leaves_the_others_as_they_are(aviary: Project):
    aviary.bread("eval", "parrot", "--record")
    name = "agents/parrot/evals/loud.yaml::rye"
    assert aviary.bread("eval", name, "--record").code == 0
    assert sorted(asked(aviary)) == ["oats", "rye"]


def test_in_a_build_nothing_is_recorded(aviary: Project):
    said = aviary.bread("eval", "parrot", "--record", CI="true")
    assert said.code != 0
    assert "RECORD_REFUSED" in said.err
    assert not (aviary.root / TAPE).exists()


def test_a_name_that_was_said_gets_all_of_it(aviary: Project):
    said = aviary.bread("eval", "parrot", BREAD_MODE="record", BREAD_CASSETTE="all")
    assert said.code == 0
    assert sorted(asked(aviary, "all.cassette.jsonl")) == ["far", "oats", "rye"]
