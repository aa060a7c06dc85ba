"""Every crumb goes over the wire and comes back; what is unknown is kept."""

import json
from dataclasses import MISSING, fields
from typing import Any

import pytest

import bread_nb.crumbs
from bread_nb import BreadError
from bread_nb.crumbs import (
    Crumb,
    ErrorInfo,
    RunFailed,
    TextDelta,
    UnknownCrumb,
    from_wire,
    to_wire,
)

KINDS = sorted(
    (
        kind
        for kind in (getattr(bread_nb.crumbs, name) for name in bread_nb.crumbs.__all__)
        if isinstance(kind, type) and issubclass(kind, Crumb) and kind.type
    ),
    key=lambda kind: kind.type,
)
VALUES: dict[str, Any] = {
    "str": "text 🍞",
    "int": 3,
    "float": 0.5,
    "bool": True,
    "JsonValue": {"a": [1, None, {"b": "c"}]},
    "list[str]": ["a", "b"],
    "list[JsonValue]": [{"uri": "blob:1"}, "x"],
    "HumanKind": "approval",
    "ErrorInfo": ErrorInfo("CODE", "What.", "why", "do", True, {"a": 1}),
}


def value_of(annotation: str) -> object:
    name = annotation.removesuffix(" | None")
    if name.startswith("Literal["):
        return name.removeprefix("Literal[").split(",")[0].strip("\"' ")
    return VALUES[name]


def made(kind: type[Crumb], *, whole: bool) -> Crumb:
    """A crumb with a value in every field, or only in those that need one."""
    given: dict[str, Any] = {"agent_id": "a", "run_id": "r", "timestamp": 1}
    for item in fields(kind):
        needed = item.default is MISSING and item.default_factory is MISSING
        if item.name in given or item.name == "extra" or not (whole or needed):
            continue
        given[item.name] = value_of(str(item.type))
    return kind(**given)


def test_all_types_of_the_contract_are_there():
    assert {kind.type for kind in KINDS} == {
        *("agent:run:start", "agent:run:end", "agent:error"),
        *("text:delta", "reasoning:delta", "file:generated"),
        *("tool:input:start", "tool:input:delta", "tool:input:end"),
        *("tool:call", "tool:result", "tool:result:partial", "tool:error"),
        *("human:required", "human:resumed"),
        *("subagent:run:start", "subagent:run:end"),
        *("pipeline:step:start", "pipeline:step:end"),
        *("loop:start", "loop:iteration:start", "loop:iteration:end", "loop:end"),
        *("task:start", "task:end"),
        *("gate:decision", "gate:halt", "budget:warn"),
        *("model:usage", "model:retry", "context:fold", "context:restore"),
        *("plan:created", "recurse:node:start", "recurse:node:end"),
        *("eval:verdict", "schedule:fired", "skill:loaded"),
    }


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.type)
def test_every_type_comes_back_as_it_was(kind: type[Crumb], whole: bool):
    crumb = made(kind, whole=whole)
    wire = to_wire(crumb)
    assert from_wire(wire) == crumb
    assert from_wire(json.loads(json.dumps(wire))) == crumb
    assert wire["type"] == kind.type
    assert not any("_" in key for key in wire)
    assert type(from_wire(wire)) is kind


def test_what_is_not_set_is_left_out():
    assert to_wire(TextDelta(agent_id="a", run_id="r", timestamp=1, delta="x")) == {
        "type": "text:delta",
        "agentId": "a",
        "runId": "r",
        "timestamp": 1,
        "delta": "x",
    }


def test_an_unknown_type_is_kept_as_it_came():
    wire = {
        "type": "oven:hot",
        "agentId": "a",
        "runId": "r",
        "sessionId": "s",
        "timestamp": 1,
        "seq": 4,
        "degrees": 250,
        "error": {"code": "X", "message": "y"},
    }
    crumb = from_wire(wire)
    assert isinstance(crumb, UnknownCrumb)
    assert (crumb.name, crumb.seq) == ("oven:hot", 4)
    assert to_wire(crumb) == wire


def test_unknown_fields_of_a_known_type_are_kept():
    wire = {
        "type": "text:delta",
        "agentId": "a",
        "runId": "r",
        "timestamp": 1,
        "delta": "x",
        "colour": "brown",
    }
    crumb = from_wire(wire)
    assert isinstance(crumb, TextDelta)
    assert crumb.extra == {"colour": "brown"}
    assert to_wire(crumb) == wire


BASE = {"agentId": "a", "runId": "r", "timestamp": 1}


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"type": "text:delta"},
        {**BASE},
        {**BASE, "type": 3},
        {**BASE, "type": "text:delta"},
        {"type": "text:delta", "agentId": "a", "timestamp": 1, "delta": "x"},
        {"type": "text:delta", "agentId": "a", "runId": "r", "delta": "x"},
        {**BASE, "type": "agent:error"},
    ],
)
def test_what_is_no_crumb_is_refused(wire: dict[str, Any]):
    with pytest.raises(BreadError) as caught:
        from_wire(wire)
    assert caught.value.code == "PROTOCOL_DECODE_ERROR"


def test_a_large_thing_that_is_no_crumb_is_quoted_shortly():
    with pytest.raises(BreadError) as caught:
        from_wire({"type": "x" * 5000})
    assert len(str(caught.value.context["raw"])) == 201


def test_an_error_travels_without_cause_or_stack():
    try:
        raise ValueError("odd")
    except ValueError as cause:
        error = BreadError("What.", code="X", why="why", do="do", retryable=True)
        error.__cause__ = cause
    info = ErrorInfo.of(error)
    wire = to_wire(RunFailed(agent_id="a", run_id="r", timestamp=1, error=info))
    assert wire["error"] == {
        "name": "BreadError",
        "code": "X",
        "message": "What.",
        "why": "why",
        "do": "do",
        "retryable": True,
    }
    again = info.error()
    assert (again.code, again.lines()) == ("X", error.lines())


@pytest.mark.parametrize(
    ("error", "info"),
    [
        (ValueError("odd"), ErrorInfo("AGENT_ERROR", "ValueError: odd")),
        (ValueError(), ErrorInfo("AGENT_ERROR", "ValueError")),
    ],
)
def test_an_error_without_a_code_names_its_type(error: Exception, info: ErrorInfo):
    assert ErrorInfo.of(error) == info


def test_an_error_of_an_older_peer_gets_the_default_code():
    wire = {**BASE, "type": "agent:error", "error": {"message": "m"}}
    crumb = from_wire(wire)
    assert isinstance(crumb, RunFailed)
    assert crumb.error == ErrorInfo("AGENT_ERROR", "m")
