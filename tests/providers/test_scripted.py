"""The scripted model: a double that says what its script says."""

import asyncio
from pathlib import Path

import pytest
from fixtures.model_play import ask, play, play_to_fault, text_of

from bread_nb.errors import BreadError, ProviderError
from bread_nb.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    user,
)
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    ChatModel,
    Finish,
    ModelRequest,
    ReasoningChunk,
    ReasoningEnd,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.scripted import Scripted, load_script


async def test_a_string_is_an_answer_with_counted_tokens():
    model = Scripted(["Good morning"])
    assert isinstance(model, ChatModel)
    assert (model.name, model.free) == ("scripted", True)
    assert await play(model) == [
        TextChunk("Good morning"),
        UsageReport(Usage(input=2, output=3)),
        Finish("end_turn", "scripted"),
    ]


async def test_calls_come_as_deltas_with_stable_ids_and_stop_for_tools():
    script = [{"calls": [{"name": "add", "args": {"a": 1}}, {"name": "bell"}]}]
    deltas = await play(Scripted(script))
    assert deltas[:6] == [
        CallStart(0, "call_1_1", "add"),
        CallFragment(0, '{"a":1}'),
        CallEnd(0),
        CallStart(1, "call_1_2", "bell"),
        CallFragment(1, "{}"),
        CallEnd(1),
    ]
    assert deltas[-1] == Finish("tool_use", "scripted")
    assert deltas == await play(Scripted(script))


async def test_an_id_the_history_has_already_gets_a_number():
    before = assistant(ToolCall("call_1_1", "add"))
    result = Message("tool", (ToolResult("call_1_1", "add", 3),))
    deltas = await play(
        Scripted([{"calls": [{"name": "add"}]}]), ask(user("x"), before, result)
    )
    assert deltas[0] == CallStart(0, "call_1_1_2", "add")


async def test_broken_arguments_are_passed_on_as_they_are():
    deltas = await play(Scripted([{"calls": [{"name": "add", "args": '{"a": 1'}]}]))
    assert deltas[1] == CallFragment(0, '{"a": 1')


async def test_reasoning_comes_first_and_pieces_stay_pieces():
    turn = {
        "reasoning": ["Let me", " see"],
        "deltas": ["Rye", " bread"],
        "usage": {"input": 12, "output": 7, "cache_read": 3},
        "stop": "max_tokens",
    }
    assert await play(Scripted([turn])) == [
        ReasoningChunk("Let me"),
        ReasoningChunk(" see"),
        ReasoningEnd(),
        TextChunk("Rye"),
        TextChunk(" bread"),
        UsageReport(Usage(input=12, output=7, cache_read=3)),
        Finish("max_tokens", "scripted"),
    ]


async def test_a_turn_without_usage_reports_none():
    assert await play(Scripted([{"text": "x", "usage": None, "stop": None}])) == [
        TextChunk("x"),
        Finish(None, "scripted"),
    ]


async def test_an_error_after_text_fails_in_mid_stream():
    model = Scripted([{"deltas": ["half"], "error": 529}])
    seen, fault = await play_to_fault(model)
    assert seen == [TextChunk("half")]
    assert isinstance(fault, ProviderError)
    assert (fault.code, fault.status, fault.retryable) == (
        "MODEL_OVERLOADED",
        529,
        True,
    )


async def test_an_error_is_an_exception_a_status_or_a_description():
    mine = RuntimeError("flour everywhere")
    slow = {"status": 429, "retry_after": 2, "message": "slow down"}
    lost = {"code": "STREAM_INCOMPLETE"}
    model = Scripted([{"error": mine}, {"error": slow}, {"error": lost}])
    with pytest.raises(RuntimeError) as first:
        await play(model)
    assert first.value is mine
    with pytest.raises(ProviderError) as second:
        await play(model)
    assert (second.value.code, second.value.retry_after) == ("MODEL_RATE_LIMIT", 2.0)
    assert "slow down" in second.value.why
    with pytest.raises(ProviderError) as third:
        await play(model)
    assert (third.value.code, third.value.retryable) == ("STREAM_INCOMPLETE", True)


async def test_a_function_of_the_request_gives_the_turn():
    async def later(request: ModelRequest) -> dict[str, object]:
        await asyncio.sleep(0)
        return {"text": f"you said {request.messages[-1].text}"}

    model = Scripted([lambda request: request.agent_id, later])
    assert text_of(await play(model)) == "writer"
    assert text_of(await play(model, ask(user("rye")))) == "you said rye"
    assert [request.messages[-1].text for request in model.requests] == ["Hello", "rye"]


async def test_a_cursor_moves_on_and_then_the_script_is_exhausted():
    model = Scripted(["one", "two"])
    assert [text_of(await play(model)), text_of(await play(model))] == ["one", "two"]
    with pytest.raises(BreadError) as caught:
        await play(model)
    assert caught.value.code == "SCRIPT_EXHAUSTED"
    assert "it has 2 turns" in caught.value.why


async def test_the_last_turn_may_repeat_for_ever():
    model = Scripted(["one", "more"], repeat_last=True)
    assert [text_of(await play(model)) for _ in range(4)] == ["one"] + ["more"] * 3


async def test_by_history_the_turn_is_the_number_of_answers_and_failed_tries():
    model = Scripted(["one", "two", "three"], by="history")
    spoken = ask(user("x"), assistant(Text("one")), user("y"))
    assert text_of(await play(model)) == "one"
    assert text_of(await play(model)) == "one"
    assert text_of(await play(model, spoken)) == "two"
    again = ask(*spoken.messages, attempt=2)
    assert text_of(await play(model, again)) == "three"


async def test_a_mapping_gives_each_agent_its_own_turns():
    model = Scripted({"writer": ["w1", "w2"], "critic": ["c1"]})
    assert text_of(await play(model)) == "w1"
    assert text_of(await play(model, ask(agent="critic"))) == "c1"
    assert text_of(await play(model)) == "w2"
    with pytest.raises(BreadError) as caught:
        await play(model, ask(agent="baker"))
    assert caught.value.code == "SCRIPT_EXHAUSTED"
    assert "critic, writer" in caught.value.why


async def test_delay_waits_before_the_first_event_and_between_pieces(
    monkeypatch: pytest.MonkeyPatch,
):
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    await play(Scripted([{"deltas": ["a", "b", "c"], "delay": 0.5}]))
    assert waited == [0.5, 0.5, 0.5]


async def test_a_cancelled_wait_ends_the_turn():
    model = Scripted([{"text": "never", "delay": 3600}])
    task = asyncio.ensure_future(play(model))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([{"txt": "x"}], "did you mean 'text'?"),
        ([{"stop": "enough"}], "turn 1: stop is 'enough'"),
        ([{"calls": [{"args": {}}]}], "a call is {name, args, id}"),
        ([{"usage": {"tokens": 3}}], "tokens"),
        ([{"deltas": [1]}], "1 is not text"),
        ([{"error": {"staus": 1}}], "an error has no staus"),
        ([3], "turn 1: 3"),
        ("hello", "this is a str"),
        ({"text": "one turn alone"}, "this is one turn alone"),
        ({"writer": "hello"}, "writer, this is a str"),
    ],
)
def test_what_is_no_script_is_refused_when_it_is_made(turns: object, words: str):
    with pytest.raises(BreadError) as caught:
        Scripted(turns)  # pyright: ignore[reportArgumentType]
    assert caught.value.code == "INVALID_SCRIPT"
    assert words in caught.value.why


async def test_a_script_in_a_file_is_played_by_history(tmp_path: Path):
    path = tmp_path / "story.yaml"
    path.write_text(
        "- calls:\n    - {name: tool_add, args: {a: 1, b: 2}}\n- done\n- {error: 429}\n"
    )
    model = load_script(path)
    assert model.name == f"scripted:{path}"
    assert (await play(model))[0] == CallStart(0, "call_1_1", "tool_add")
    assert text_of(await play(model, ask(user("x"), assistant(Text("1"))))) == "done"


@pytest.mark.parametrize(
    "text", ["a: [", "just words", "- [1]", "- {text: a, text: b}"]
)
def test_a_file_that_holds_no_script_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "story.yaml"
    path.write_text(text)
    with pytest.raises(BreadError) as caught:
        load_script(path)
    assert caught.value.code == "INVALID_SCRIPT"


def test_a_missing_script_is_one_clear_error():
    with pytest.raises(BreadError) as caught:
        load_script("nowhere.yaml")
    assert caught.value.code == "SCRIPT_NOT_FOUND"
