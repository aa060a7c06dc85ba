"""A model that tries what a hostile page would: scripts, images, links, addresses."""

from bread_nb import Agent, Permissions, Scripted, tool

CANARY = "window.canary='fired'"
TEXT = f"""# Hello <img src=x onerror="{CANARY}">

<script>{CANARY}</script><svg onload="{CANARY}"></svg>
<iframe srcdoc="<script>parent.{CANARY}</script>"></iframe>
<style>@import url(http://leak.example/a.css);</style>

![picture](http://leak.example/pixel.png) [press](javascript:{CANARY})
[data](data:text/html,<script>{CANARY}</script>) <http://leak.example/>

<details open ontoggle="{CANARY}"><summary>x</summary></details>
"""


@tool
def look(what: str) -> str:
    """Look at something."""
    return TEXT


@tool
def send(what: str) -> str:
    """Send something away."""
    return TEXT


agent = Agent(
    model=Scripted(
        [
            {
                "reasoning": TEXT,
                "text": TEXT,
                "calls": [{"name": "tool_look", "args": {"what": TEXT}}],
            },
            {"text": TEXT, "calls": [{"name": "tool_send", "args": {"what": TEXT}}]},
            TEXT,
        ],
        by="history",
    ),
    tools=[look, send],
    permissions=Permissions(ask=["tool:send"]),
)
