"""Thinking that the Messages API would refuse is not asked for, nor sent back."""

import json

import pytest
from fixtures.api_rules import MessagesRules
from fixtures.model_play import end_of, play, thought_of
from fixtures.model_server import ModelServer, Reply
from fixtures.ovens import OVENS
from fixtures.strict_services import Messages
from fixtures.wire import block, messages, start, stop
from journeys.test_fault_table import CALL, Ledger

from bread_nb import Agent, Bread, Fallback
from bread_nb.messages import (
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    user,
)
from bread_nb.providers.anthropic import Anthropic
from bread_nb.providers.catalog import resolve
from bread_nb.providers.model import Model, ModelRequest, ReasoningEnd

CHAT, MESSAGES = OVENS[:2]
BLOCK = {"type": "thinking", "thinking": "Hm.", "signature": "S1=="}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
THOUGHT = Reasoning("Hm.", Native("anthropic", "oven-1", BLOCK))
FOREIGN = Reasoning("Hm.", Native("openai", "oven-1", {"reasoning_content": "Hm."}))
OK = Text("ok")
ASKED = ToolCall("c1", "tool_bake", {})
BAKED = Message("tool", (ToolResult("c1", "tool_bake", "baked"),))
AGAIN = assistant(ToolCall("c2", "tool_bake", {}))
BAKED_AGAIN = Message("tool", (ToolResult("c2", "tool_bake", "baked"),))


@pytest.mark.parametrize(
    ("history", "thinks"),
    [
        ((user("go"),), True),
        ((user("go"), assistant(THOUGHT, ASKED), BAKED), True),
        ((user("go"), assistant(Text(" "), THOUGHT, ASKED), BAKED), True),
        ((user("go"), assistant(THOUGHT, ASKED), BAKED, AGAIN, BAKED_AGAIN), True),
        ((user("go"), assistant(ASKED), BAKED), False),
        ((user("go"), assistant(FOREIGN, Text("I bake."), ASKED), BAKED), False),
        ((user("go"), assistant(ASKED), BAKED, user("and now?")), False),
        ((user("go"), assistant(ASKED), BAKED, AGAIN, BAKED_AGAIN), False),
        ((user("go"), assistant(ASKED), BAKED, assistant(OK), user("go")), True),
    ],
)
def test_thinking_is_asked_for_where_the_turn_began_with_a_thought(
    history: tuple[Message, ...], thinks: bool
):
    request = ModelRequest(model="oven-1", messages=history)
    rules = MessagesRules()
    rules.gave(BLOCK)
    sent = json.loads(Anthropic("oven-1").encode(request, THINKING))
    assert list(rules.faults(sent)) == []
    assert ("thinking" in sent) is thinks
    adaptive = {"thinking": {"type": "adaptive"}}
    assert "thinking" in json.loads(Anthropic("oven-1").encode(request, adaptive))


async def test_a_model_that_thinks_takes_over_in_the_middle_of_anothers_tools():
    ledger = Ledger([])
    broken = Reply.json({"error": {"message": "No bread today"}}, 400)
    first = CHAT.reply("I write.", CALL, end="calls")
    async with ModelServer(first, broken) as chat, Messages() as service:
        other = Model(
            service.model, base_url=service.url, api_key="made-up", settings=THINKING
        )
        agent = Agent(
            model=Fallback([CHAT.model(chat.url), other]), tools=[ledger.tool()]
        )
        async with Bread({"baker": agent}) as bread:
            await bread.run("baker", "go")
        assert service.refused == []
        assert "thinking" not in service.seen[0].body
    assert ledger.wrote == ["from a broken try"]


async def test_a_thought_that_the_limit_cut_is_shown_and_not_sent_back():
    empty = {"type": "thinking", "thinking": "", "signature": ""}
    piece = {"type": "thinking_delta", "thinking": "First I"}
    reply = Reply([messages(start(), *block(0, empty, piece), *stop("max_tokens"))])
    async with ModelServer(reply) as server:
        model = resolve(MESSAGES.model(server.url))
        deltas = await play(model)
        await model.aclose()
    assert (thought_of(deltas), end_of(deltas).stop_reason) == ("First I", "max_tokens")
    assert [d.native for d in deltas if isinstance(d, ReasoningEnd)] == [None]
