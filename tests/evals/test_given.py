"""What a suite gives its runs: objects for tools, and a person's answers."""

from evals.conftest import Evaluate

from bread_nb import Agent, Case, Scripted, Suite, ToolContext, human_tool, tool
from bread_nb.evals import contains, crumbs, exact


@tool
def mean(column: str, context: ToolContext) -> float:
    """The mean of a column."""
    rows = context.ctx["sales"][column]
    return sum(rows) / len(rows)


async def test_a_suite_hands_its_table_to_the_tools(evaluated: Evaluate):
    call = {"name": "tool_mean", "args": {"column": "flour"}}
    script = Scripted([{"calls": [call]}, lambda r: r.messages[-1].parts[0].text])
    agent = Agent(name="analyst", model=script, tools=[mean])
    case = Case(name="flour", input="?", scorers=[exact("3.0")])
    suite = Suite(agent, [case], ctx={"sales": {"flour": [2, 4]}})
    report = await evaluated(suite.select(names=["flour"]).repeated(1))
    assert report.check().rows[0].answer == "3.0"


async def test_a_question_to_a_person_is_answered_as_the_case_says(
    evaluated: Evaluate,
):
    approve = human_tool("approve", description="Ask the editor.")
    script = Scripted(
        [
            {"calls": [{"name": "human_approve", "args": {"question": "?"}}]},
            lambda r: r.messages[-1].parts[0].text,
        ]
    )
    agent = Agent(name="publisher", model=script, tools=[approve])
    case = Case(
        name="no",
        input="?",
        decisions={"approve": "drop it"},
        scorers=[contains("drop it"), crumbs(turns=2)],
    )
    report = await evaluated(Suite(agent, [case]))
    assert report.check().rows[0].turns == 2
