"""What no service should send, and some do: an error or an answer, never a crash."""

import pytest
from fixtures.model_play import calls_of, end_of, play, play_to_fault
from fixtures.model_server import ModelServer, Reply
from fixtures.ovens import OVENS
from fixtures.wire import chunk, messages, sse, start, stop

from bread_nb.errors import ProviderError
from bread_nb.messages import StopReason
from bread_nb.providers.catalog import resolve
from bread_nb.providers.model import Delta, NativeBlock

CHAT, MESSAGES = OVENS[:2]
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "search", "input": {}}
CUT_SEARCH = (
    {"type": "content_block_start", "index": 0, "content_block": SEARCH},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"query": "ry'},
    },
)
ENDED = {"type": "content_block_stop", "index": 0}


async def fault_of(reply: Reply) -> ProviderError:
    async with ModelServer(reply) as server:
        model = resolve(CHAT.model(server.url))
        _, fault = await play_to_fault(model)
        await model.aclose()
    assert isinstance(fault, ProviderError)
    return fault


async def searched(*events: dict, reason: StopReason) -> list[Delta]:
    reply = Reply([messages(start(), *events, *stop(reason))])
    async with ModelServer(reply) as server:
        model = resolve(MESSAGES.model(server.url))
        try:
            return await play(model)
        finally:
            await model.aclose()


async def test_a_search_that_the_limit_cut_is_left_out_and_the_reason_stands():
    for events in (CUT_SEARCH, (*CUT_SEARCH, ENDED)):
        deltas = await searched(*events, reason="max_tokens")
        assert end_of(deltas).stop_reason == "max_tokens"
        assert not [d for d in deltas if isinstance(d, NativeBlock)]


async def test_a_search_that_is_cut_without_a_limit_is_a_broken_stream():
    for events in (CUT_SEARCH, (*CUT_SEARCH, ENDED)):
        with pytest.raises(ProviderError) as caught:
            await searched(*events, reason="end_turn")
        assert (caught.value.code, caught.value.retryable) == ("STREAM_BROKEN", True)


async def test_a_reason_that_is_no_word_is_a_broken_stream():
    events = chunk({"content": "x"}), chunk(finish_reason=["stop"])
    fault = await fault_of(Reply([sse(*events)]))
    assert (fault.code, fault.retryable) == ("STREAM_BROKEN", True)


async def test_calls_that_a_host_numbers_have_ids_all_the_same():
    function = {"name": "bake", "arguments": "{}"}
    call = {"index": 0, "id": 7, "type": "function", "function": function}
    events = chunk({"tool_calls": [call]}), chunk(finish_reason="tool_calls")
    async with ModelServer(Reply([sse(*events)])) as server:
        model = resolve(CHAT.model(server.url))
        assert calls_of(await play(model)) == [("7", "bake", "{}")]
        await model.aclose()
