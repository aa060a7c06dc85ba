"""Crumbs for the tests of this folder, short to write and with a steady clock."""

from __future__ import annotations

from typing import Any

from bread_nb import crumbs as c


class Told:
    """Writes the crumbs of one run, 100 ms apart."""

    def __init__(
        self, agent: str = "analyst", run: str = "run-1", model: str | None = None
    ) -> None:
        self.agent = agent
        self.run = run
        self.model = model
        self.crumbs: list[c.Crumb] = []
        self.seq = 0
        self.turn = 0

    def say(self, of: type[c.Crumb], /, **fields: Any) -> Told:
        if of not in (c.TextDelta, c.ReasoningDelta):
            self.seq += 1
        base: dict[str, Any] = {
            "agent_id": self.agent,
            "run_id": self.run,
            "session_id": "session-1",
            "timestamp": 1_000 + 100 * len(self.crumbs),
            "seq": self.seq,
        }
        self.crumbs.append(of(**{**base, **fields}))
        return self

    def start(self, **fields: Any) -> Told:
        return self.say(c.RunStart, input="go", model=self.model, **fields)

    def text(self, text: str) -> Told:
        return self.say(c.TextDelta, delta=text)

    def thought(self, text: str) -> Told:
        return self.say(c.ReasoningDelta, delta=text)

    def used(
        self, tokens: int | None = None, cost: float | None = None, **fields: Any
    ) -> Told:
        self.turn += 1
        usage = None if tokens is None else {"input": tokens, "output": 0}
        return self.say(
            c.ModelUsed,
            model=self.model or "",
            turn=self.turn,
            usage=usage,
            cost=cost,
            **fields,
        )

    def call(self, call_id: str, tool: str, **args: Any) -> Told:
        return self.say(
            c.ToolCalled, tool_call_id=call_id, tool_name=f"tool_{tool}", args=args
        )

    def done(self, call_id: str, tool: str, result: Any = "ok", ms: int = 200) -> Told:
        return self.say(
            c.ToolReturned,
            tool_call_id=call_id,
            tool_name=f"tool_{tool}",
            result=result,
            duration_ms=ms,
        )

    def failed(
        self, call_id: str, tool: str, message: str, code: str = "TOOL_ERROR"
    ) -> Told:
        return self.say(
            c.ToolFailed,
            tool_call_id=call_id,
            tool_name=f"tool_{tool}",
            error=c.ErrorInfo(code, message),
            duration_ms=0,
        )

    def ask(self, call_id: str, tool: str, kind: str = "approval", **args: Any) -> Told:
        return self.say(
            c.HumanRequired,
            checkpoint_id=f"check-{call_id}",
            tool_name=tool if kind == "input" else f"tool_{tool}",
            schema=None,
            kind=kind,
            args=args,
            tool_call_id=call_id,
            rule=f"ask tool:{tool}",
        )

    def answer(self, call_id: str, response: Any, kind: str = "approval") -> Told:
        return self.say(
            c.HumanResumed,
            checkpoint_id=f"check-{call_id}",
            response=response,
            kind=kind,
        )

    def end(self, output: Any = None, **fields: Any) -> Told:
        return self.say(c.RunEnd, output=output, duration_ms=1, **fields)

    def fail(self, code: str, message: str, do: str = "") -> Told:
        return self.say(c.RunFailed, error=c.ErrorInfo(code, message, "", do))
