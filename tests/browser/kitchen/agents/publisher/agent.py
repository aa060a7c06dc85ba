"""Publishes a post of the title it is given, when a person says so.

It asks once the gate `ask` is open; the tool works until the gate `publish` is.
"""

from gates import passing, write_down

from bread_nb import Agent, Permissions, Scripted, tool
from bread_nb.messages import ToolResult
from bread_nb.providers.model import ModelRequest

BODY = """# Rye for beginners

Rye flour drinks more water than wheat."""


@tool
async def publish(title: str, body: str, copies: int = 1) -> str:
    """Publish a post on the blog.

    Args:
        title: The headline.
        body: The post, in markdown.
        copies: How many are printed.
    """
    write_down(f"{title} x{copies}")
    await passing("publish")
    return f"published {title} x{copies}"


async def ask(request: ModelRequest) -> dict[str, object]:
    await passing("ask")
    title = request.messages[0].text.strip()
    return {
        "text": "The post is ready. I will publish it to the blog now.",
        "calls": [{"name": "tool_publish", "args": {"title": title, "body": BODY}}],
    }


def report(request: ModelRequest) -> str:
    results = [p for p in request.messages[-1].parts if isinstance(p, ToolResult)]
    return f"The blog said: {results[-1].text}"


agent = Agent(
    model=Scripted([ask, report], by="history"),
    tools=[publish],
    permissions=Permissions(ask=["tool:publish"]),
)
