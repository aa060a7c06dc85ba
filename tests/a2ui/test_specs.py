"""The reference's A2UI table, row by row."""

from __future__ import annotations

import json

import pytest
from a2ui.told import every_type

from bread_nb import crumbs as c
from bread_nb.a2ui import A2UISpec, on_spec, to_spec

BASE = {"agent_id": "writer", "run_id": "r", "session_id": "s", "timestamp": 1}


def made(of: type[c.Crumb], /, **fields: object) -> c.Crumb:
    return of(**{**BASE, **fields})


OOPS = c.ErrorInfo("TOOL_ERROR", "it broke")
SUB = {"parent_agent_id": "writer", "subagent_id": "clerk"}
SUB_WIRE = {"parentAgentId": "writer", "subagentId": "clerk"}
CALL = {"tool_call_id": "1", "tool_name": "tool_plot"}
STEP = {"pipeline_id": "p", "step_index": 2}
STEP_WIRE = {"pipelineId": "p", "stepIndex": 2}
TASK = {"task_run_id": "t1", "task_id": "title"}
TASK_WIRE = {"taskRunId": "t1", "taskId": "title"}
FIELD = {"name": "response", "type": "text", "label": "Response", "required": True}

ROWS = [
    (
        made(c.RunStart, input="x"),
        {"type": "progress", "progress": 0, "message": "Agent writer started"},
    ),
    (
        made(c.RunEnd, output="x", duration_ms=1),
        {"type": "progress", "progress": 1, "message": "Done"},
    ),
    (made(c.RunFailed, error=OOPS), {"type": "error", "message": "it broke"}),
    (made(c.TextDelta, delta="Fl"), {"type": "markdown", "content": "Fl"}),
    (made(c.ReasoningDelta, delta="Hm"), {"type": "text", "content": "Hm"}),
    (
        made(c.FileGenerated, uri="blob:1", mime_type="image/png", name="a.png"),
        {
            "type": "file",
            "metadata": {"uri": "blob:1", "mimeType": "image/png", "name": "a.png"},
        },
    ),
    (
        made(c.ToolCalled, **CALL, args={}),
        {"type": "card", "metadata": {"toolName": "tool_plot", "status": "calling"}},
    ),
    (
        made(c.ToolReturned, **CALL, result={"n": 1}, duration_ms=7),
        {
            "type": "card",
            "metadata": {
                "toolName": "tool_plot",
                "status": "done",
                "result": {"n": 1},
                "durationMs": 7,
            },
        },
    ),
    (
        made(c.ToolFailed, **CALL, error=OOPS, duration_ms=7),
        {
            "type": "error",
            "message": "it broke",
            "metadata": {"toolName": "tool_plot", "toolCallId": "1", "durationMs": 7},
        },
    ),
    (
        made(
            c.HumanRequired,
            checkpoint_id="k",
            tool_name="human_approve",
            schema={},
            kind="input",
            prompt="Publish it?",
        ),
        {
            "type": "form",
            "message": "Publish it?",
            "metadata": {"checkpointId": "k", "toolName": "human_approve"},
            "fields": [FIELD],
        },
    ),
    (
        made(
            c.HumanRequired,
            checkpoint_id="k",
            tool_name="tool_rm",
            schema={},
            kind="approval",
        ),
        {
            "type": "form",
            "message": "Input required for tool_rm",
            "metadata": {"checkpointId": "k", "toolName": "tool_rm"},
            "fields": [FIELD],
        },
    ),
    (
        made(c.HumanResumed, checkpoint_id="k", response={"a": 1}, kind="approval"),
        {
            "type": "progress",
            "progress": 1,
            "message": "Human input received",
            "metadata": {
                "checkpointId": "k",
                "kind": "approval",
                "response": {"a": 1},
            },
        },
    ),
    (
        made(c.SubagentStart, **SUB),
        {
            "type": "progress",
            "progress": 0,
            "message": "Sub-agent clerk started",
            "metadata": SUB_WIRE,
        },
    ),
    (
        made(c.SubagentEnd, **SUB, output=None),
        {
            "type": "progress",
            "progress": 1,
            "message": "Sub-agent clerk done",
            "metadata": {**SUB_WIRE, "output": None},
        },
    ),
    (
        made(c.StepStart, **STEP),
        {
            "type": "progress",
            "progress": 0,
            "message": "Pipeline step 2 started",
            "metadata": STEP_WIRE,
        },
    ),
    (
        made(c.StepEnd, **STEP, output="x"),
        {
            "type": "progress",
            "progress": 1,
            "message": "Pipeline step 2 done",
            "metadata": {**STEP_WIRE, "output": "x"},
        },
    ),
    (
        made(c.LoopStart, loop_id="l", pipeline=["draft", "judge"], max_iterations=3),
        {
            "type": "progress",
            "progress": 0,
            "message": "Loop started: draft → judge",
            "metadata": {"loopId": "l", "maxIterations": 3},
        },
    ),
    (
        made(c.IterationStart, loop_id="l", iteration=2),
        {
            "type": "progress",
            "message": "Iteration 2",
            "metadata": {"loopId": "l", "iteration": 2},
        },
    ),
    (
        made(c.IterationEnd, loop_id="l", iteration=2, output=[1]),
        {
            "type": "progress",
            "message": "Iteration 2 done",
            "metadata": {"loopId": "l", "iteration": 2, "output": [1]},
        },
    ),
    (
        made(c.LoopEnd, loop_id="l", status="exhausted", iterations=3),
        {
            "type": "progress",
            "progress": 1,
            "message": "Loop exhausted after 3 iteration(s)",
            "metadata": {"loopId": "l", "status": "exhausted"},
        },
    ),
    (
        made(c.TaskStart, **TASK, model={"name": "openai:x"}),
        {
            "type": "progress",
            "progress": 0,
            "message": "Task title started",
            "metadata": {**TASK_WIRE, "model": {"name": "openai:x"}},
        },
    ),
    (
        made(c.TaskEnd, **TASK, status="completed", duration_ms=5, usage={"input": 1}),
        {
            "type": "progress",
            "progress": 1,
            "message": "Task title completed",
            "metadata": {
                **TASK_WIRE,
                "status": "completed",
                "durationMs": 5,
                "usage": {"input": 1},
            },
        },
    ),
]


@pytest.mark.parametrize(("crumb", "spec"), ROWS, ids=lambda v: getattr(v, "type", ""))
def test_a_row_of_the_table(crumb, spec):
    assert to_spec(crumb) == [spec]


def test_a_file_as_output_gives_the_file_first_and_then_done():
    output = {"kind": "file", "uri": "blob:1", "mimeType": "image/png"}
    end = made(c.RunEnd, output=output, duration_ms=1)
    assert to_spec(end) == [
        {"type": "file", "metadata": {"uri": "blob:1", "mimeType": "image/png"}},
        {"type": "progress", "progress": 1, "message": "Done"},
    ]


def test_the_list_of_files_of_a_run_gives_no_specs():
    files = [{"uri": "blob:1", "mimeType": "image/png"}]
    assert len(to_spec(made(c.RunEnd, output="x", duration_ms=1, files=files))) == 1


def test_types_that_are_not_in_the_table_give_nothing():
    rows = {type(crumb) for crumb, _ in ROWS}
    others = [crumb for crumb in every_type() if type(crumb) not in rows]
    assert len({type(crumb) for crumb in others}) > 15
    assert [to_spec(crumb) for crumb in others] == [[] for _ in others]


def test_a_spec_is_plain_json_with_named_fields():
    (spec,) = to_spec(made(c.TextDelta, delta="Fl"))
    assert isinstance(spec, A2UISpec)
    assert json.loads(json.dumps(spec)) == spec.to_wire()
    assert (spec.type, spec.content, spec.message, spec.fields) == (
        "markdown",
        "Fl",
        None,
        None,
    )
    assert (spec.progress, spec.metadata) == (None, None)


def test_a_listener_gets_each_spec_with_its_crumb():
    class Telling:
        def on(self, event, fn):
            self.event, self.fn = event, fn
            return "off"

    bread, heard = Telling(), []
    assert on_spec(bread, lambda spec, crumb: heard.append((spec, crumb))) == "off"
    output = {"kind": "file", "uri": "blob:1", "mimeType": "image/png"}
    end = made(c.RunEnd, output=output, duration_ms=1)
    bread.fn(end)
    bread.fn(made(c.SkillLoaded, skill_id="x"))
    assert bread.event == "crumb"
    assert [(spec.type, crumb) for spec, crumb in heard] == [
        ("file", end),
        ("progress", end),
    ]
