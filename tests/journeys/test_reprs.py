"""What a cell shows whose last line is an agent, a tool, a model or Bread."""

from collections.abc import Callable

import pytest
from journeys.conftest import MakeBread
from pydantic import BaseModel

from bread_nb import (
    Agent,
    CircuitBreaker,
    CustomFormat,
    Fallback,
    Guards,
    Hooks,
    Model,
    Permissions,
    Retrying,
    Scripted,
    human_tool,
    tool,
)


class Order(BaseModel):
    loaves: int


@tool
def publish(title: str) -> str:
    """Publish a post."""
    return title


def more_tools():
    return [publish]


def short(title: str) -> bool:
    return len(title) < 9


@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        (Agent(model="scripted:x"), "Agent(model='scripted:x')"),
        (
            Agent(
                name="writer",
                model=Model("openai:gpt-5", api_key="sk-1"),
                tools=[publish, human_tool("approve"), more_tools],
            ),
            "Agent('writer', model='openai:gpt-5', "
            "tools=[publish, approve, more_tools])",
        ),
        (
            Agent(
                model="scripted:x",
                prompt="You are a baker. " * 9,
                input_schema=Order,
                output_schema=list[str],
                permissions=Permissions(ask=["tool:publish"]),
                steps=5,
                output_repairs=0,
                guards=Guards(denials=1),
                hooks=Hooks(before_run=short),
                providers={"mine": short},
            ),
            "Agent(model='scripted:x', "
            "prompt='You are a baker. You are a baker. You…', "
            "input_schema=Order, output_schema=list[str], "
            "permissions=Permissions(ask=['tool:publish']), steps=5, "
            "providers=dict(…), guards=Guards(denials=1, identical_failures=3), "
            "hooks=Hooks(…), output_repairs=0)",
        ),
        (
            Agent(
                model="scripted:x",
                input_schema={"type": "object"},
                output=CustomFormat("short", short),
                tools=(),
            ),
            "Agent(model='scripted:x', input_schema=dict(…), output=CustomFormat(…))",
        ),
        (
            Agent(
                model="scripted:x",
                tools=[tool(short, name=f"t_{n}") for n in range(20)],
            ),
            "Agent(model='scripted:x', "
            "tools=[t_0, t_1, t_2, t_3, t_4, t_5, t_6, t_7, …])",
        ),
    ],
)
def test_an_agent_shows_what_it_was_told(agent: Agent, shown: str):
    assert repr(agent) == shown


def test_no_secret_of_the_environment_is_in_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OVEN_API_KEY", "sk-" + "Ab3" * 8)
    agent = Agent(model="scripted:x", prompt="sk-" + "Ab3" * 8)
    assert "Ab3" not in repr(agent)


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (publish, "Tool('tool:publish')"),
        (human_tool("approve"), "Tool('human:approve')"),
        (Retrying(Scripted(["x"])), "Retrying('scripted')"),
        (CircuitBreaker("openai:a"), "CircuitBreaker('openai:a')"),
        (Fallback(["openai:a", "ollama:b"]), "Fallback('openai:a', 'ollama:b')"),
    ],
)
def test_tools_and_models_show_their_names(made: Callable[..., object], shown: str):
    assert repr(made) == shown


async def test_bread_shows_its_agents_and_its_store(make_bread: MakeBread):
    agent = Agent(model="scripted:x")
    assert repr(make_bread()) == "Bread(no agents; store in memory)"
    assert repr(make_bread({"baker": agent})).startswith("Bread(1 agent: baker; store ")
    many = make_bread({f"a_{n}": agent for n in range(10)})
    assert "10 agents: a_0, a_1, a_2, a_3, a_4, a_5, a_6, a_7, …;" in repr(many)


def test_a_model_shows_its_name_and_nothing_that_may_be_secret():
    model = Model(
        "openai:gpt-5",
        base_url="http://baker:CANARY@ovens.example/v1",
        api_key="CANARY",
        settings={"extra_headers": {"X-Oven": "CANARY"}},
    )
    assert repr(model) == "Model('openai:gpt-5')"
