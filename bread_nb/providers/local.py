"""A small real model on this machine, without a key and without a network.

It runs in a process of its own, shared by all that use it, and is spoken to in the
Chat Completions dialect over loopback. Settings go into the request; beside those of
the server there is `grammar`: `one_sentence`, `two_sentences` or `three_sentences`
hold an answer in plain text to that form, anything else is a grammar itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.providers import weights
from bread_nb.providers.client import Client
from bread_nb.providers.local_child import Child, Serving, children
from bread_nb.providers.local_protocol import Step, shape, with_grammar
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    Finish,
    Model,
    ModelRequest,
    TextChunk,
    closing,
)
from bread_nb.providers.naming import CallIds
from bread_nb.providers.openai import OpenAI

__all__ = ["Local"]

_DEFAULTS: dict[str, JsonValue] = {"temperature": 0, "seed": 0}


class Local:
    """The local model.

    Args:
        model: The model's id or its description; `smollm2-135m` comes with bread_nb.
    """

    free = True

    def __init__(self, model: str | Model = weights.MODEL) -> None:
        described = model if isinstance(model, Model) else Model(f"local:{model}")
        self.name = described.name
        self.described = self._described = described
        self._model = described.name.partition(":")[2]
        self._client = Client(trust_env=False)
        self._child: Child | None = None
        self._spoken: tuple[Serving, OpenAI] | None = None

    @property
    def pid(self) -> int | None:
        """The id of the model's process while it runs."""
        return self._child.pid if self._child else None

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Ask, and stream the answer; the model is started at the first call.

        Raises:
            BreadError: `LOCAL_NOT_INSTALLED`, naming the commands that install it.
        """
        step = shape(
            request.messages,
            request.tools,
            system=request.system,
            schema=request.output_schema,
            choice=request.tool_choice,
        )
        identifier = CallIds(request.messages).unique(None) if step.tool else ""
        if step.tool is not None and step.fixed is not None:
            for delta in _fixed(step, identifier):
                yield delta
            return
        dialect = await self._dialect()
        stream = dialect.stream(self._asked(step, request))
        async with closing(stream) as deltas:
            if step.tool is None:
                async for delta in deltas:
                    yield delta
            else:
                yield CallStart(0, identifier, step.tool.name)
                async for delta in deltas:
                    for piece in _as_call(delta):
                        yield piece

    async def aclose(self) -> None:
        """Let go of the process; the last one to do so ends it."""
        child, self._child, self._spoken = self._child, None, None
        await self._client.aclose()
        if child is not None:
            await asyncio.to_thread(children.give_back, child)

    def _asked(self, step: Step, request: ModelRequest) -> ModelRequest:
        settings = {**_DEFAULTS, **self._described.settings, **request.settings}
        if step.tool is None:
            settings = {**step.settings, **with_grammar(settings)}
        else:
            settings = {**settings, **step.settings}
        return ModelRequest(
            model=self._model,
            system=step.system,
            messages=step.messages,
            settings=settings,
            agent_id=request.agent_id,
        )

    async def _dialect(self) -> OpenAI:
        """The dialect that speaks to the process where it serves now."""
        if self._described.base_url or self._described.api_key:
            raise BreadError(
                "The local model has no address and no key.",
                code="INVALID_MODEL",
                why="it runs on this machine, in a process of its own.",
                do='leave out base_url and api_key, or use Model("openai:…") for '
                "a server of your own",
            )
        if self._child is None:
            self._child = children.take(weights.to_run(self._model), self._model)
        serving = await self._child.serving()
        if self._spoken is None or self._spoken[0] is not serving:
            place = Model(self.name, base_url=f"{serving.url}/v1", api_key=serving.key)
            dialect = OpenAI(place, transport=self._client, provider="local")
            self._spoken = serving, dialect
        return self._spoken[1]


def _fixed(step: Step, identifier: str) -> list[Delta]:
    assert step.tool is not None
    return [
        CallStart(0, identifier, step.tool.name),
        CallFragment(0, step.fixed or ""),
        CallEnd(0),
        Finish("tool_use"),
    ]


def _as_call(delta: Delta) -> tuple[Delta, ...]:
    """A piece of the model's answer as a piece of its arguments."""
    match delta:
        case TextChunk(text=text):
            return (CallFragment(0, text),)
        case Finish(stop_reason=reason, model=model):
            stop = "tool_use" if reason == "end_turn" else reason
            return (CallEnd(0), Finish(stop, model))
        case _:
            return (delta,)
