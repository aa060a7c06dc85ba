"""Recorded traffic of the real services, played through the dialects in every cut."""

import json
from typing import Any

import pytest
from fixtures.model_play import (
    calls_of,
    end_of,
    play,
    play_to_fault,
    text_of,
    thought_of,
)
from fixtures.recorded import (
    ABSENT,
    FOLDER,
    WAYS,
    Player,
    Recording,
    events,
    recordings,
    sealed,
    told,
)

from bread_nb import Agent, Bread, ErrorHandling, RetryPolicy
from bread_nb.base.ids import pinned
from bread_nb.crumbs import to_wire
from bread_nb.errors import BreadError, ProviderError
from bread_nb.messages import Usage
from bread_nb.providers.anthropic import Anthropic
from bread_nb.providers.gemini import Gemini
from bread_nb.providers.model import ChatModel, Delta, Model, UsageReport
from bread_nb.providers.openai import OpenAI
from bread_nb.providers.responses import Responses
from bread_nb.stores.in_memory import InMemoryStore

DIALECTS = {
    "anthropic-messages": ("anthropic", Anthropic),
    "gemini": ("gemini", Gemini),
    "gemini-stream": ("gemini", Gemini),
    "openai-chat": ("openai", OpenAI),
    "openai-responses": ("responses", Responses),
}

# Recordings that are no answer, and what they are instead.
FAULTS = {
    "openai-chat/openai_o1_mini_system_role-developer--0": ("BAD_REQUEST", 400),
    "openai-chat/openai_o1_mini_system_role-system--0": ("BAD_REQUEST", 400),
    "openai-chat/openrouter_errors_raised-0": ("MODEL_RATE_LIMIT", 429),
    "openai-chat/openrouter_errors_raised-1": ("MODEL_RATE_LIMIT", 429),
    "openai-chat/openrouter_errors_raised-2": ("MODEL_RATE_LIMIT", 429),
    "openai-chat/openrouter_stream_error-0": ("BAD_REQUEST", 400),
    "openai-chat/tool_use_failed_error_streaming-0": ("BAD_REQUEST", 400),
    "openai-chat/tool_use_failed_error_streaming_with_text-0": ("BAD_REQUEST", 400),
    "openai-chat/tool_use_failed_error_with_text-0": ("BAD_REQUEST", 400),
    "openai-responses/background_mode_with_tool_vcr-2": ("STREAM_INCOMPLETE", None),
    "openai-responses/multimodal_tool_return_matrix-direct-url-audio-openai_responses-"
    "-1": ("BAD_REQUEST", 400),
    "openai-responses/multimodal_tool_return_matrix-tool_return_content-url-audio-"
    "openai_responses--1": ("BAD_REQUEST", 400),
    "openai-responses/openai_responses_model_http_error-0": ("BAD_REQUEST", 400),
}

ALL = recordings()
ANSWERS = [each for each in ALL if each.name not in FAULTS]
NO_ANSWERS = [each for each in ALL if each.name in FAULTS]

pytestmark = pytest.mark.skipif(not ALL, reason=ABSENT)


def test_no_recording_is_left_out():
    files = [path for path in FOLDER.rglob("*.json") if path.is_file()]
    assert len(ALL) == len(files) == len(ANSWERS) + len(NO_ANSWERS)
    assert {recording.api for recording in ALL} == DIALECTS.keys()
    assert {recording.name for recording in NO_ANSWERS} == FAULTS.keys()


def each(some: list[Recording]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("recording", some, ids=lambda r: r.name)


def model_of(recording: Recording, way: str) -> ChatModel:
    provider, dialect = DIALECTS[recording.api]
    model = Model(f"{provider}:{recording.model}", api_key="made-up")
    return dialect(model, transport=Player(recording, way))  # pyright: ignore[reportArgumentType]


async def played(recording: Recording, way: str) -> list[Delta]:
    """The deltas of a recording, ids pinned."""
    with pinned():
        return await play(model_of(recording, way))


def parsed(deltas: list[Delta]) -> list[tuple[str, Any]]:
    return [(name, json.loads(text or "{}")) for _, name, text in calls_of(deltas)]


@each(ANSWERS)
async def test_an_answer_says_what_its_body_says_however_it_is_cut(
    recording: Recording,
):
    deltas = await played(recording, "whole")
    expected = told(recording)
    assert text_of(deltas) == expected.text
    assert thought_of(deltas) == expected.thought
    assert parsed(deltas) == expected.calls
    assert end_of(deltas).stop_reason == expected.stop
    reported = [d.usage for d in deltas if isinstance(d, UsageReport)]
    found = reported[-1] if reported else Usage()
    assert {k: getattr(found, k) for k in expected.tokens} == expected.tokens
    for way in WAYS[:-1]:
        assert await played(recording, way) == deltas


@each(NO_ANSWERS)
async def test_what_is_no_answer_is_the_fault_it_is(recording: Recording):
    for way in WAYS:
        _, error = await play_to_fault(model_of(recording, way))
        assert isinstance(error, ProviderError)
        assert (error.code, error.status) == FAULTS[recording.name]


@each(ALL)
async def test_the_crumbs_of_a_run_are_the_same_however_the_answer_is_cut(
    recording: Recording,
):
    first, *others = [await crumbs_of(recording, way) for way in WAYS]
    assert first
    assert others == [first] * len(others)


async def crumbs_of(recording: Recording, way: str) -> list[Any]:
    """The crumbs of a run of one turn, without how long it took."""
    once = ErrorHandling(retry=RetryPolicy(attempts=1))
    agent = Agent(model=model_of(recording, way), steps=1, error_handling=once)
    with pinned():
        bread = Bread({"baker": agent}, store=InMemoryStore())
        run = bread.run("baker", "go")
        try:
            await run
        except BreadError as error:
            assert error.code in {code for code, _ in FAULTS.values()}  # noqa: PT017
        await bread.close()
    crumbs = [to_wire(crumb) for crumb in run.crumbs]
    return [{k: v for k, v in c.items() if k != "durationMs"} for c in crumbs]


@each([r for r in ANSWERS if sealed(events(r))])
async def test_what_is_sealed_in_an_answer_goes_back_as_it_came_through_the_store(
    recording: Recording,
):
    player, store = Player(recording, "sevens"), InMemoryStore()
    provider, dialect = DIALECTS[recording.api]
    model = Model(f"{provider}:{recording.model}", api_key="made-up")
    for _ in range(2):
        agent = Agent(model=dialect(model, transport=player), steps=1)  # pyright: ignore[reportArgumentType]
        bread = Bread({"baker": agent}, store=store)
        await bread.run("baker", "go", session="s")
        await bread.close()
    first, second = (json.loads(call.body) for call in player.calls)
    assert sealed(first) == set()
    back, given = sealed(second), sealed(events(recording))
    # Responses seals one thought anew in each event that tells of it.
    assert (back == given) or (recording.api == "openai-responses" and back < given)
    assert back
