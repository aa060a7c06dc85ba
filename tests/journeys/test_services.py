"""Whole runs over the wire: what a service is sent after it said what it said."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fixtures.journey import fault, finished, stopped, told, waiting, within
from fixtures.model_server import ModelServer, Reply
from fixtures.wire import (
    block,
    call_block,
    chunk,
    messages,
    said,
    sse,
    start,
    stop,
    text_block,
)
from journeys.conftest import MakeBread

from bread_nb import Agent, ErrorHandling, Finished, Permissions, RetryPolicy, tool
from bread_nb.messages import Usage
from bread_nb.providers.anthropic import Anthropic
from bread_nb.providers.model import ChatModel, Model
from bread_nb.providers.openai import OpenAI
from bread_nb.stores.sqlite import SqliteStore

Oven = Callable[[str], ChatModel]


def chat(url: str) -> ChatModel:
    return OpenAI(Model("openai:oven-1", base_url=url))


def talk(url: str) -> ChatModel:
    return Anthropic(Model("anthropic:oven-1", base_url=url))


both = pytest.mark.parametrize("oven", [chat, talk])


def says(oven: Oven, text: str) -> Reply:
    """An answer in words."""
    if oven is chat:
        return Reply([said(text)])
    return Reply([messages(start(), *text_block(0, text), *stop())])


def asks(
    oven: Oven, name: str, args: str, *, cut: bool = False, text: str = ""
) -> Reply:
    """An answer that calls a tool; `cut` by the limit of tokens."""
    if oven is chat:
        function = {"name": name, "arguments": args}
        item = {"index": 0, "id": "call_a", "function": function}
        delta = {"content": text, "tool_calls": [item]}
        end = chunk(finish_reason="length" if cut else "tool_calls")
        return Reply([sse(chunk(delta), end)])
    end = stop("max_tokens" if cut else "tool_use")
    called = call_block(1, name, args)
    return Reply([messages(start(), *text_block(0, text), *called, *end)])


@asynccontextmanager
async def kitchen(
    oven: Oven, *replies: Reply, **fields: object
) -> AsyncIterator[tuple[ModelServer, Agent]]:
    """A service with these replies, and an agent that asks it."""
    async with ModelServer(*replies) as server:
        model = oven(server.url)
        yield server, Agent(model=model, **fields)
        await model.aclose()


def result_in(seen: dict[str, Any]) -> str:
    """The words of the one result in a request."""
    for message in seen["messages"]:
        if message["role"] == "tool":
            return message["content"]
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "tool_result":
                return part["content"]
    raise AssertionError("no result was sent")


def words_in(seen: dict[str, Any]) -> list[str]:
    """Every text of a request, results included."""
    texts: list[str | None] = []
    for message in seen["messages"]:
        content = message["content"]
        if isinstance(content, list):
            texts += [part.get("text", part.get("content")) for part in content]
        else:
            texts.append(content)
    return [text for text in texts if text is not None]


@both
async def test_after_a_cancel_the_call_is_answered_before_the_next_words(
    make_bread: MakeBread, oven: Oven
):
    started, kneaded = asyncio.Event(), []

    @tool
    async def knead(minutes: int) -> str:
        """Knead."""
        kneaded.append(minutes)
        started.set()
        await asyncio.Event().wait()
        return "never"

    replies = asks(oven, "tool_knead", '{"minutes":3}'), says(oven, "Fine.")
    async with kitchen(oven, *replies, tools=[knead]) as (server, agent):
        bread = make_bread({"baker": agent})
        run = bread.run("baker", "bake", session="s1")
        await within(started.wait())
        run.cancel()
        await fault(bread, run)
        await finished(bread, bread.run("baker", "carry on", session="s1"))
    turns = server.seen[1].body["messages"]
    assert kneaded == [3]
    if oven is chat:
        assert [turn["role"] for turn in turns] == ["user", "assistant", "tool", "user"]
        assert turns[2]["content"] == "Error: cancelled by user"
        assert turns[2]["tool_call_id"] == turns[1]["tool_calls"][0]["id"]
        return
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    result, words = turns[2]["content"]
    assert result == {
        "type": "tool_result",
        "tool_use_id": turns[1]["content"][-1]["id"],
        "content": "cancelled by user",
        "is_error": True,
    }
    assert words["text"] == "carry on"


@pytest.mark.parametrize("asking", [False, True])
async def test_signed_thinking_comes_back_from_the_store_byte_for_byte(
    make_bread: MakeBread, tmp_path: Path, asking: bool
):
    thought = {"type": "thinking", "thinking": "pain 🍞 d'abord", "signature": "SIG1="}
    redacted = {"type": "redacted_thinking", "data": "b3BhcXVl+/=="}
    empty = {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [
        {"type": "thinking_delta", "thinking": "pain 🍞 "},
        {"type": "thinking_delta", "thinking": "d'abord"},
        {"type": "signature_delta", "signature": "SIG1="},
    ]
    body = messages(
        start(),
        *block(0, empty, *deltas),
        *block(1, redacted),
        *call_block(2, "tool_weigh", '{"grams":', " 5}"),
        *stop("tool_use"),
    )

    @tool
    def weigh(grams: int) -> str:
        """Weigh."""
        return f"{grams} g"

    permissions = Permissions(ask=["tool:weigh"] if asking else [])
    replies = Reply([body]), says(talk, "5 g."), says(talk, "Still 5 g.")
    fields = {"tools": [weigh], "permissions": permissions}
    path = tmp_path / "bread.db"
    async with kitchen(talk, *replies, **fields) as (server, agent):
        bread = make_bread({"baker": agent}, store=SqliteStore(path))
        run = bread.run("baker", "go", session="s1")
        if asking:
            question = (await waiting(bread, run)).only
            await bread.close()
            bread = make_bread({"baker": agent}, store=SqliteStore(path))
            run = bread.resume(question, "yes")
        assert isinstance(await within(run), Finished)
        await bread.close()
        bread = make_bread({"baker": agent}, store=SqliteStore(path))
        await finished(bread, bread.run("baker", "Sure?", session="s1"))
    call = {
        "type": "tool_use",
        "id": "toolu_2",
        "name": "tool_weigh",
        "input": {"grams": 5},
    }
    for seen in server.seen[1:]:
        assert seen.body["messages"][1]["content"] == [thought, redacted, call]


@both
async def test_nothing_blank_is_sent_whatever_was_blank(
    make_bread: MakeBread, oven: Oven
):
    @tool
    def knead() -> str:
        """Knead."""
        return ""

    @tool
    def rest() -> str:
        """Rest."""
        return " \n"

    first, second = asks(oven, "tool_knead", "", text=""), asks(oven, "tool_rest", "{}")
    replies = first, second, says(oven, "Done."), says(oven, "More.")
    fields = {"tools": [knead, rest], "prompt": " \n "}
    async with kitchen(oven, *replies, **fields) as (server, agent):
        bread = make_bread({"baker": agent})
        await finished(bread, bread.run("baker", "go", session="s1"))
        with pytest.raises(Exception, match="the input is empty"):
            await within(bread.run("baker", "   ", session="s1"))
        assert len(server.seen) == 3
        await finished(bread, bread.run("baker", "on", session="s1"))
    for seen in server.seen:
        assert all(text.strip() for text in words_in(seen.body)), seen.body
        assert "system" not in seen.body
    assert words_in(server.seen[-1].body).count("(no output)") == 2


@both
async def test_a_call_that_is_cut_every_time_is_asked_for_once_and_never_run(
    make_bread: MakeBread, oven: Oven
):
    @tool
    def write(path: str, content: str) -> str:
        """Write."""
        raise AssertionError("never called")

    half = asks(oven, "tool_write", '{"path":"loaf.md","content":"half', cut=True)
    async with kitchen(oven, half, tools=[write]) as (server, agent):
        bread = make_bread({"baker": agent})
        outcome = await stopped(bread, bread.run("baker", "go", session="s1"))
        assert outcome.reason == "truncated:max_tokens"
        assert len(server.seen) == 1


@both
async def test_an_overload_after_the_first_words_is_the_end_of_the_run(
    make_bread: MakeBread, oven: Oven
):
    words = text_block(0, "Rye ", "bread")[:-1]
    error = {"type": "overloaded_error", "message": "Oven full"}
    body = messages(start(), *words, {"type": "error", "error": error})
    if oven is chat:
        pieces = [chunk({"content": text}) for text in ("Rye ", "bread")]
        body = sse(*pieces, {"error": error}, done=False)
    once = ErrorHandling(retry=RetryPolicy(attempts=1))
    async with kitchen(oven, Reply([body]), error_handling=once) as (_, agent):
        bread = make_bread({"baker": agent})
        run = bread.run("baker", "go")
        error = await fault(bread, run)
    assert (error.code, run.status) == ("MODEL_OVERLOADED", "failed")
    last = told(run.crumbs)[-1]
    assert (last["type"], last["error"]["retryable"]) == ("agent:error", True)
    assert last["error"]["context"]["text"] == "Rye bread"


LONG = "stock_levels_by_warehouse_and_day_of_week_and_by_the_baker_who_counted_them"


@both
async def test_a_tool_with_a_long_name_is_ruled_and_called_by_its_own_name(
    make_bread: MakeBread, oven: Oven
):
    counted: list[str] = []

    def count(day: str) -> str:
        """Count."""
        counted.append(day)
        return "7 loaves"

    fields = {
        "tools": [tool(count, name=LONG)],
        "permissions": Permissions(ask=[f"tool:{LONG}"]),
    }
    async with kitchen(oven, says(oven, "Hello."), **fields) as (server, agent):
        bread = make_bread({"baker": agent})
        await finished(bread, bread.run("baker", "hello"))
        [sent] = server.seen[0].body["tools"]
        name = sent["function"]["name"] if oven is chat else sent["name"]
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        server.replies = [says(oven, ""), asks(oven, name, '{"day":"Monday"}')]
        server.replies.append(says(oven, "7."))
        asked = await waiting(bread, bread.run("baker", "go"))
        assert asked.pending[0].tool_name == f"tool_{LONG}"
        assert counted == []
        await finished(bread, bread.resume(asked.only, "yes"))
    assert counted == ["Monday"]
    assert result_in(server.seen[-1].body) == "7 loaves"
    assert name in str(server.seen[-1].body["messages"])


@both
async def test_what_a_call_leaves_out_has_its_default(
    make_bread: MakeBread, oven: Oven
):
    baked: list[object] = []

    @tool
    def bake(
        temp: int,
        note: str | None = None,
        extra: dict[str, Any] = {},  # noqa: B006 - a default as users write it
    ) -> str:
        """Bake."""
        baked.append((temp, note, extra))
        return "baked"

    replies = asks(oven, "tool_bake", '{"temp":200}'), says(oven, "Done.")
    async with kitchen(oven, *replies, tools=[bake]) as (server, agent):
        bread = make_bread({"baker": agent})
        await finished(bread, bread.run("baker", "go"))
    assert baked == [(200, None, {})]
    [sent] = server.seen[0].body["tools"]
    shown = sent["function"] if oven is chat else sent
    assert "strict" not in shown
    schema = shown["parameters"] if oven is chat else shown["input_schema"]
    assert schema["required"] == ["temp"]


@both
async def test_a_run_counts_the_same_tokens_streamed_or_whole(
    make_bread: MakeBread, oven: Oven
):
    if oven is chat:
        usage = {"prompt_tokens": 40, "completion_tokens": 21}
        growing = [usage | {"completion_tokens": number} for number in (2, 9, 21)]
        pieces = [chunk({"content": "ok"}, usage=used) for used in growing]
        ending = {"choices": [], "usage": usage}
        body = sse({"choices": []}, *pieces, chunk(finish_reason="stop"), ending)
        message = {"role": "assistant", "content": "okokok"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole: dict[str, Any] = {"choices": [choice], "usage": usage}
    else:
        first = start(input_tokens=40, output_tokens=2)
        growing = [stop("end_turn", output_tokens=number) for number in (9, 21)]
        body = messages(first, *text_block(0, "okokok"), growing[0][0], *growing[1])
        text = {"type": "text", "text": "okokok"}
        whole = {"type": "message", "content": [text], "stop_reason": "end_turn"}
        whole["usage"] = {"input_tokens": 40, "output_tokens": 21}
    async with kitchen(oven, Reply([body]), Reply.json(whole)) as (_, agent):
        bread = make_bread({"baker": agent})
        ends = [await finished(bread, bread.run("baker", "go")) for _ in range(2)]
    assert [(end.text, end.usage) for end in ends] == [
        ("okokok", Usage(input=40, output=21))
    ] * 2
