"""Crumbs for the tests of this folder, short to write and with a steady clock."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

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

    def say(self, of: type[c.Crumb], /, **fields: object) -> Told:
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

    def start(self, **fields: object) -> Told:
        return self.say(c.RunStart, input="go", model=self.model, **fields)

    def text(self, text: str) -> Told:
        return self.say(c.TextDelta, delta=text)

    def thought(self, text: str) -> Told:
        return self.say(c.ReasoningDelta, delta=text)

    def used(
        self, tokens: int | None = None, cost: float | None = None, **fields: object
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

    def call(self, call_id: str, tool: str, **args: object) -> Told:
        return self.say(
            c.ToolCalled, tool_call_id=call_id, tool_name=f"tool_{tool}", args=args
        )

    def done(
        self, call_id: str, tool: str, result: JsonValue = "ok", ms: int = 200
    ) -> Told:
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

    def ask(
        self, call_id: str, tool: str, kind: str = "approval", **args: object
    ) -> Told:
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

    def answer(self, call_id: str, response: JsonValue, kind: str = "approval") -> Told:
        return self.say(
            c.HumanResumed,
            checkpoint_id=f"check-{call_id}",
            response=response,
            kind=kind,
        )

    def end(self, output: JsonValue = None, **fields: object) -> Told:
        return self.say(c.RunEnd, output=output, duration_ms=1, **fields)

    def fail(self, code: str, message: str, do: str = "") -> Told:
        return self.say(c.RunFailed, error=c.ErrorInfo(code, message, "", do))


def every_type() -> list[c.Crumb]:
    """A run that drops a crumb of every type there is, and one there is not."""
    told = Told("maker", model="openai:gpt-5").start(steps=9)
    lost = c.ErrorInfo("ETIMEDOUT", "The model went silent.", "60 s", "wait", True)
    told.thought("Hmm, ").thought("yes.").text("I will ")
    told.say(c.ModelRetry, attempt=1, attempts=2, delay_ms=4000, error=lost)
    told.text("I will *bake*.").say(
        c.ToolInputStart, tool_call_id="a", tool_name="tool_bake"
    )
    told.say(c.ToolInputDelta, tool_call_id="a", delta='{"n": 1}')
    told.say(c.ToolInputEnd, tool_call_id="a").used(120, 0.01)
    told.say(c.SkillLoaded, skill_id="baking")
    told.say(c.PlanCreated, plan_id="p", steps=["mix", "bake"])
    told.call("a", "bake", n=1, note="hello\nthere", token="secret-secret")
    told.say(
        c.ToolPartial,
        tool_call_id="a",
        tool_name="tool_bake",
        result={"done": 3, "of": 8, "text": "Baking"},
    )
    told.done("a", "bake", {"loaves": 3})
    told.call("b", "burn").failed("b", "burn", "No oven.")
    told.say(
        c.GateDecided,
        tool_name="tool_rm_all",
        decision="deny",
        rule="deny tool:rm_*",
        tool_call_id="d",
    ).failed("d", "rm_all", "denied", "DENIED")
    told.say(c.FileGenerated, uri="https://x.example/a.png", mime_type="image/png")
    told.say(c.FileGenerated, uri="blob:2", mime_type="text/csv", name="a.csv")
    told.say(c.BudgetWarn, rule="budget", spent=0.9, cap=1.0)
    told.say(c.ContextFold, fold_id="f", messages=4).say(
        c.ContextRestore, fold_id="f", messages=4
    )
    _parts(told)
    told.used(80).ask("e", "publish", title="Rye", body="x\n" * 40)
    told.answer("e", {"approved": True, "args": {"title": "Wheat"}})
    told.call("e", "publish", title="Wheat").done("e", "publish", None)
    told.ask("q", "human_approve", "input", question="Really?", depth=3)
    told.answer("q", {"answer": "yes"}, "input")
    told.ask("o", "order", "outcome", kg=40)
    told.answer("o", {"failed": True}, "outcome")
    told.ask("h", "", "halt").answer("h", {"topup": 1.5}, "halt")
    told.say(c.UnknownCrumb, name="oven:glow", extra={"heat": 230, "type2": "x"})
    told.text("All baked.").used(60, 0.02)
    told.say(c.GateHalted, rule="budget", spent=1.1, cap=1.0)
    return told.end("", stop_reason="halt:budget", files=[]).crumbs


def _parts(told: Told) -> None:
    step = {"pipeline_id": "p", "step_index": 0}
    told.say(c.StepStart, **step).say(c.StepEnd, **step, output="mixed")
    told.say(c.LoopStart, loop_id="l", pipeline=["a", "b"], max_iterations=2)
    told.say(c.IterationStart, loop_id="l", iteration=1)
    told.say(c.IterationEnd, loop_id="l", iteration=1, output=1)
    told.say(c.LoopEnd, loop_id="l", status="completed", iterations=1)
    told.say(c.TaskStart, task_run_id="t", task_id="title", model="openai:x")
    told.say(
        c.TaskEnd, task_run_id="t", task_id="title", status="failed", duration_ms=1
    )
    told.say(c.NodeStart, node_id="n", task="split it", depth=0)
    told.say(c.NodeEnd, node_id="n", depth=0, verdict="done")
    told.say(c.EvalVerdict, status="satisfied", score=0.75)
    told.say(c.ScheduleFired, job_id="j", target="baker")
    child = {"run_id": "run-2", "agent_id": "clerk", "parent_agent_id": told.agent}
    told.say(c.SubagentStart, **child, subagent_id="clerk", input="count")
    told.say(c.TextDelta, run_id="run-2", agent_id="clerk", delta="Three.")
    told.say(c.SubagentEnd, **child, subagent_id="clerk", output="Three.")
