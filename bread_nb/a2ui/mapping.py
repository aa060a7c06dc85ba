"""A crumb as the specs of the reference's A2UI table, row by row.

Flat by design: a spec stands alone, nothing nests, and a crumb that is not in the
table gives none. Results, outputs and answers pass through as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from pydantic import JsonValue

from bread_nb import crumbs as c

__all__ = ["A2UISpec", "Listened", "on_spec", "to_spec"]

Json = dict[str, JsonValue]


class A2UISpec(dict[str, JsonValue]):
    """One declarative piece of a user interface; plain JSON, with named fields.

    The fields that a spec does not have are left out of the JSON and read as None.
    """

    @property
    def type(self) -> str:
        """`text`, `markdown`, `card`, `form`, `progress`, `error` or `file`."""
        return cast("str", self["type"])

    @property
    def content(self) -> str | None:
        """The text of a `markdown` or `text` spec."""
        return cast("str | None", self.get("content"))

    @property
    def fields(self) -> list[Json] | None:
        """The fields of a `form` spec."""
        return cast("list[Json] | None", self.get("fields"))

    @property
    def progress(self) -> float | None:
        """How far it is, 0 to 1."""
        return cast("float | None", self.get("progress"))

    @property
    def message(self) -> str | None:
        """The words of a `progress`, `form` or `error` spec."""
        return cast("str | None", self.get("message"))

    @property
    def metadata(self) -> Json | None:
        """What a program may need, with the names of the wire."""
        return cast("Json | None", self.get("metadata"))

    def to_wire(self) -> Json:
        """The spec as a plain mapping."""
        return dict(self)


class Listened(Protocol):
    """Whatever tells of its crumbs, such as a `Bread`."""

    def on(self, event: str, fn: Callable[..., Any], /) -> object: ...


def on_spec(bread: Listened, fn: Callable[[A2UISpec, c.Crumb], object]) -> object:
    """Call `fn(spec, crumb)` for each spec of each crumb; returns what `on` returns."""

    def tell(crumb: c.Crumb) -> None:
        for spec in to_spec(crumb):
            fn(spec, crumb)

    return bread.on("crumb", tell)


def to_spec(crumb: c.Crumb) -> list[A2UISpec]:
    """The specs of one crumb: one for a row of the table, two for a file as output."""
    row = _ROWS.get(type(crumb))
    if row is None:
        return []
    spec = row(crumb)
    if isinstance(crumb, c.RunEnd) and (file := _echoed(crumb.output)):
        return [file, spec]
    return [spec]


def _spec(
    kind: str,
    message: str | None = None,
    *,
    progress: float | None = None,
    content: str | None = None,
    metadata: Mapping[str, JsonValue] | None = None,
) -> A2UISpec:
    spec = A2UISpec(type=kind)
    if content is not None:
        spec["content"] = content
    if progress is not None:
        spec["progress"] = progress
    if message is not None:
        spec["message"] = message
    if metadata is not None:
        spec["metadata"] = {k: v for k, v in metadata.items() if v is not None}
    return spec


def _echoed(output: JsonValue) -> A2UISpec | None:
    match output:
        case {"kind": "file", "uri": str() as uri, "mimeType": str() as mime}:
            name = output.get("name")
            known = {"uri": uri, "mimeType": mime, "name": name}
            return _spec("file", metadata=known)
        case _:
            return None


def _file(crumb: c.FileGenerated) -> A2UISpec:
    known = {"uri": crumb.uri, "mimeType": crumb.mime_type, "name": crumb.name}
    return _spec("file", metadata=known)


def _called(crumb: c.ToolCalled) -> A2UISpec:
    return _spec("card", metadata={"toolName": crumb.tool_name, "status": "calling"})


def _returned(crumb: c.ToolReturned) -> A2UISpec:
    spec = _spec("card", metadata={"toolName": crumb.tool_name, "status": "done"})
    metadata = cast("Json", spec["metadata"])
    metadata["result"] = crumb.result
    metadata["durationMs"] = crumb.duration_ms
    return spec


def _tool_failed(crumb: c.ToolFailed) -> A2UISpec:
    known: Json = {
        "toolName": crumb.tool_name,
        "toolCallId": crumb.tool_call_id,
        "durationMs": crumb.duration_ms,
    }
    return _spec("error", crumb.error.message, metadata=known)


def _required(crumb: c.HumanRequired) -> A2UISpec:
    known: Json = {"checkpointId": crumb.checkpoint_id, "toolName": crumb.tool_name}
    message = crumb.prompt or f"Input required for {crumb.tool_name}"
    spec = _spec("form", message, metadata=known)
    field: Json = {
        "name": "response",
        "type": "text",
        "label": "Response",
        "required": True,
    }
    spec["fields"] = [field]
    return spec


def _resumed(crumb: c.HumanResumed) -> A2UISpec:
    spec = _spec("progress", "Human input received", progress=1)
    spec["metadata"] = {
        "checkpointId": crumb.checkpoint_id,
        "kind": crumb.kind,
        "response": crumb.response,
    }
    return spec


def _subagent(crumb: c.SubagentStart | c.SubagentEnd) -> A2UISpec:
    known: Json = {
        "parentAgentId": crumb.parent_agent_id,
        "subagentId": crumb.subagent_id,
    }
    name = f"Sub-agent {crumb.subagent_id}"
    if isinstance(crumb, c.SubagentStart):
        return _spec("progress", f"{name} started", progress=0, metadata=known)
    spec = _spec("progress", f"{name} done", progress=1)
    spec["metadata"] = {**known, "output": crumb.output}
    return spec


def _step(crumb: c.StepStart | c.StepEnd) -> A2UISpec:
    known: Json = {"pipelineId": crumb.pipeline_id, "stepIndex": crumb.step_index}
    name = f"Pipeline step {crumb.step_index}"
    if isinstance(crumb, c.StepStart):
        return _spec("progress", f"{name} started", progress=0, metadata=known)
    spec = _spec("progress", f"{name} done", progress=1)
    spec["metadata"] = {**known, "output": crumb.output}
    return spec


def _loop_start(crumb: c.LoopStart) -> A2UISpec:
    known: Json = {"loopId": crumb.loop_id, "maxIterations": crumb.max_iterations}
    message = f"Loop started: {' → '.join(crumb.pipeline)}"
    return _spec("progress", message, progress=0, metadata=known)


def _iteration(crumb: c.IterationStart | c.IterationEnd) -> A2UISpec:
    known: Json = {"loopId": crumb.loop_id, "iteration": crumb.iteration}
    name = f"Iteration {crumb.iteration}"
    if isinstance(crumb, c.IterationStart):
        return _spec("progress", name, metadata=known)
    spec = _spec("progress", f"{name} done")
    spec["metadata"] = {**known, "output": crumb.output}
    return spec


def _loop_end(crumb: c.LoopEnd) -> A2UISpec:
    known: Json = {"loopId": crumb.loop_id, "status": crumb.status}
    message = f"Loop {crumb.status} after {crumb.iterations} iteration(s)"
    return _spec("progress", message, progress=1, metadata=known)


def _task_start(crumb: c.TaskStart) -> A2UISpec:
    known: Json = {
        "taskRunId": crumb.task_run_id,
        "taskId": crumb.task_id,
        "model": crumb.model,
    }
    message = f"Task {crumb.task_id} started"
    return _spec("progress", message, progress=0, metadata=known)


def _task_end(crumb: c.TaskEnd) -> A2UISpec:
    known: Json = {
        "taskRunId": crumb.task_run_id,
        "taskId": crumb.task_id,
        "status": crumb.status,
        "durationMs": crumb.duration_ms,
        "usage": crumb.usage,
        "error": crumb.error,
    }
    message = f"Task {crumb.task_id} {crumb.status}"
    return _spec("progress", message, progress=1, metadata=known)


_ROWS: dict[type[c.Crumb], Callable[[Any], A2UISpec]] = {
    c.RunStart: lambda crumb: _spec(
        "progress", f"Agent {crumb.agent_id} started", progress=0
    ),
    c.RunEnd: lambda _: _spec("progress", "Done", progress=1),
    c.RunFailed: lambda crumb: _spec("error", crumb.error.message),
    c.TextDelta: lambda crumb: _spec("markdown", content=crumb.delta),
    c.ReasoningDelta: lambda crumb: _spec("text", content=crumb.delta),
    c.FileGenerated: _file,
    c.ToolCalled: _called,
    c.ToolReturned: _returned,
    c.ToolFailed: _tool_failed,
    c.HumanRequired: _required,
    c.HumanResumed: _resumed,
    c.SubagentStart: _subagent,
    c.SubagentEnd: _subagent,
    c.StepStart: _step,
    c.StepEnd: _step,
    c.LoopStart: _loop_start,
    c.LoopEnd: _loop_end,
    c.IterationStart: _iteration,
    c.IterationEnd: _iteration,
    c.TaskStart: _task_start,
    c.TaskEnd: _task_end,
}
