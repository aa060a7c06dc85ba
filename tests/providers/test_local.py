"""The local model, live: a real small model in a process of its own.

Its words are its own affair; what is checked is their form.
"""

import asyncio
import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from fixtures.model_play import (
    ask,
    calls_of,
    end_of,
    play,
    play_to_fault,
    text_of,
    usage_of,
)
from pydantic import BaseModel

from bread_nb.errors import BreadError
from bread_nb.messages import Message, ToolCall, ToolResult, ToolSpec, assistant, user
from bread_nb.providers import weights
from bread_nb.providers.catalog import resolve
from bread_nb.providers.local import Local
from bread_nb.providers.local_child import children
from bread_nb.providers.model import Model, ModelRequest, TextChunk
from bread_nb.providers.openai import OpenAI

pytestmark = pytest.mark.local_model

COLUMNS = ["price", "weight", "age"]
MEAN = ToolSpec(
    "tool_column_mean",
    "The mean of a column.",
    {
        "type": "object",
        "properties": {"column": {"type": "string", "enum": COLUMNS}},
        "required": ["column"],
    },
)
COUNT = ToolSpec(
    "tool_word_count",
    "Counts the words of a text.",
    {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
)


class Loaf(BaseModel):
    name: str
    grams: int


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BREAD_LOCAL_MODEL", raising=False)
    if weights.find() is None or not weights.runtime_present():
        pytest.skip("the local model is not installed: bread local install")


@pytest.fixture
async def local() -> AsyncIterator[Local]:
    model = Local()
    yield model
    await model.aclose()


def ended(pid: int) -> bool:
    """Whether a process is gone, or goes within ten seconds."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], 10)[0])
    finally:
        os.close(watch)


async def test_a_text_streams_and_counts_its_tokens(local: Local):
    request = ModelRequest(
        model="",
        messages=(user("Write two sentences about bread."),),
        settings={"grammar": "two_sentences"},
    )
    deltas = await play(local, request)
    pieces = [d for d in deltas if isinstance(d, TextChunk)]
    text = text_of(deltas)
    assert len(pieces) > 10
    assert text.endswith(".")
    assert len([part for part in text.split(". ") if part]) >= 2
    usage = usage_of(deltas)
    assert usage is not None
    assert usage.output >= len(pieces) - 1
    assert usage.input + usage.cache_read > 5
    assert (end_of(deltas).stop_reason, end_of(deltas).model) == (
        "end_turn",
        "smollm2-135m",
    )
    assert (local.name, local.free) == ("local:smollm2-135m", True)
    assert text_of(await play(local, request)) == text


async def test_an_answer_keeps_to_its_schema(local: Local):
    request = ModelRequest(
        model="",
        messages=(user("Describe a rye loaf of 900 grams."),),
        output_schema=Loaf.model_json_schema(),
    )
    Loaf.model_validate_json(text_of(await play(local, request)))


async def test_a_tool_is_called_first_and_its_result_closes_in_one_sentence(
    local: Local,
):
    question = user("What is the mean of the weight column?")
    deltas = await play(
        local, ModelRequest(model="", messages=(question,), tools=(MEAN,))
    )
    ((identifier, name, text),) = calls_of(deltas)
    args = json.loads(text)
    assert name == "tool_column_mean"
    assert args["column"] in COLUMNS
    assert end_of(deltas).stop_reason == "tool_use"
    turn = assistant(ToolCall(identifier, name, args))
    result = Message("tool", (ToolResult(identifier, name, 31.5),))
    deltas = await play(
        local, ModelRequest(model="", messages=(question, turn, result), tools=(MEAN,))
    )
    assert calls_of(deltas) == []
    assert "31.5" in text_of(deltas)
    assert end_of(deltas).stop_reason == "end_turn"


async def test_a_quoted_text_arrives_as_it_was_written(local: Local):
    request = ModelRequest(
        model="",
        messages=(user('How many words are in "Rye, wheat {and} «spelt» 🍞"?'),),
        tools=(COUNT,),
    )
    ((_, _, text),) = calls_of(await play(local, request))
    assert json.loads(text) == {"text": "Rye, wheat {and} «spelt» 🍞"}


async def test_leaving_in_mid_stream_frees_the_slot(local: Local):
    endless = ModelRequest(
        model="",
        messages=(user("Tell me everything about bread."),),
        settings={"ignore_eos": True, "max_tokens": 1900},
    )

    async def leave() -> None:
        async with aclosing(local.stream(endless)) as deltas:  # pyright: ignore[reportArgumentType]
            async for _ in deltas:
                return

    async with asyncio.timeout(20):
        await asyncio.gather(leave(), leave())
        assert text_of(await play(local, ask(user("Hello"))))


async def test_a_cancelled_reader_frees_the_slot(local: Local):
    endless = ModelRequest(
        model="",
        messages=(user("Tell me everything about bread."),),
        settings={"ignore_eos": True, "max_tokens": 1900},
    )
    started = asyncio.Event()

    async def read() -> None:
        async for _ in local.stream(endless):
            started.set()

    async with asyncio.timeout(20):
        tasks = [asyncio.ensure_future(read()) for _ in range(2)]
        await started.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert text_of(await play(local, ask(user("Hello"))))


async def test_a_conversation_that_is_too_long_is_told_so(local: Local):
    _, fault = await play_to_fault(local, ask(user("word " * 3000)))
    assert isinstance(fault, BreadError)
    assert (fault.code, fault.retryable) == ("CONTEXT_EXCEEDED", False)
    assert fault.context["n_ctx"] == 2048
    assert text_of(await play(local, ask(user("Hello"))))


async def test_the_process_is_shared_and_gone_after_the_last_close():
    first, second = Local(), resolve("local:smollm2-135m")
    await play(first)
    await play(second)
    pid = first.pid
    assert pid is not None
    await first.aclose()
    await first.aclose()
    assert text_of(await play(second))
    await second.aclose()
    assert ended(pid)
    assert first.pid is None
    gc.collect()


async def test_a_process_that_died_is_started_again(local: Local):
    await play(local)
    pid = local.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert ended(pid)
    assert text_of(await play(local))
    assert local.pid not in (None, pid)


async def test_an_interrupt_of_the_terminal_does_not_reach_it(local: Local):
    await play(local)
    assert local.pid is not None
    os.kill(local.pid, signal.SIGINT)
    assert os.getpgid(local.pid) != os.getpgid(0)
    assert text_of(await play(local))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_child_is_given_no_keys_and_shows_none(
    local: Local, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OVEN_API_KEY", "canary-of-the-oven")
    await play(local)
    place = Path(f"/proc/{local.pid}")
    environment = (place / "environ").read_bytes()
    assert b"canary" not in environment
    assert b"PATH=" in environment
    command = (place / "cmdline").read_bytes().split(b"\0")
    assert command[1:] == [b"-P", b"-m", b"bread_nb.providers.local_server", b""]


async def test_nobody_else_may_ask_it():
    path = weights.find()
    assert path is not None
    child = children.take(path, weights.MODEL)
    serving = await child.serving()
    assert serving.key not in repr(serving)
    stranger = OpenAI(
        Model("openai:x", base_url=f"{serving.url}/v1", api_key="a-strangers-key")
    )
    _, fault = await play_to_fault(stranger)
    assert isinstance(fault, BreadError)
    assert fault.code == "MODEL_AUTH"
    await stranger.aclose()
    await asyncio.to_thread(children.give_back, child)


async def test_a_file_that_holds_no_model_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"junk")
    monkeypatch.setenv("BREAD_LOCAL_MODEL", str(junk))
    model = Local("mine")
    _, fault = await play_to_fault(model)
    await model.aclose()
    assert isinstance(fault, BreadError)
    assert fault.code == "LOCAL_FAILED"
    assert fault.why


async def test_a_library_the_system_lacks_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    lacks = "libgomp.so.1: cannot open shared object file: No such file or directory"
    package = tmp_path / "xllamacpp"
    package.mkdir()
    (package / "__init__.py").write_text(f"raise ImportError({lacks!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine.gguf").write_bytes(b"never read")
    monkeypatch.setenv("BREAD_LOCAL_MODEL", str(tmp_path / "mine.gguf"))
    model = Local("mine")
    _, fault = await play_to_fault(model)
    await model.aclose()
    assert isinstance(fault, BreadError)
    assert fault.code == "LOCAL_FAILED"
    assert fault.why == "this system has no libgomp.so.1, which xllamacpp needs."
    assert fault.do == "apt-get install libgomp1 (dnf: libgomp), then run again"


async def test_another_name_needs_a_file_of_its_own():
    _, fault = await play_to_fault(Local("large"))
    assert isinstance(fault, BreadError)
    assert fault.code == "MODEL_NOT_FOUND"
    assert "smollm2-135m" in fault.why


@pytest.mark.skipif(sys.platform != "linux", reason="watches a process by its pidfd")
def test_the_child_ends_when_its_parent_is_killed():
    program = (
        "import asyncio, sys\n"
        "from bread_nb.messages import user\n"
        "from bread_nb.providers.local import Local\n"
        "from bread_nb.providers.model import ModelRequest\n"
        "async def main():\n"
        "    model = Local()\n"
        "    request = ModelRequest(model='', messages=(user('Hello'),))\n"
        "    async for _ in model.stream(request):\n"
        "        pass\n"
        "    print(model.pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert ended(pid)
