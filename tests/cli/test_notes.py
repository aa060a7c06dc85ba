"""What is told on stderr beside the answer cannot steer a terminal."""

from fixtures.projects import Project

AGENT = """
    from bread_nb import Agent, Scripted, tool

    @tool
    def bake():
        "Bake."
        yield "red \\x1b[31m and \\u202e turned"
        yield "baked"

    @tool
    def burn() -> str:
        "Burn."
        return "burnt"

    call = {"calls": [{"name": "tool_bake", "args": {}}]}
    agent = Agent(model=Scripted([call, "It is done."]), tools=[bake, burn])
"""
BROKEN = """
    from bread_nb import Agent, BreadError, Scripted

    fault = BreadError("no \\x1b[31m oven", code="OVEN")
    agent = Agent(model=Scripted([{"error": fault}]))
"""


def test_the_words_of_a_tool_at_work_are_written_out(project: Project):
    project.agent("baker", AGENT)
    said = project.bread("run", "baker", "go")
    assert said.out == "It is done.\n"
    assert "bake: red ⟦U+001B⟧[31m and ⟦U+202E⟧ turned" in said.err


def test_so_are_those_of_an_error(project: Project):
    project.agent("broken", BROKEN)
    said = project.bread("run", "broken", "go")
    assert said.code != 0
    assert "no ⟦U+001B⟧[31m oven" in said.err
    assert "\x1b" not in said.err
