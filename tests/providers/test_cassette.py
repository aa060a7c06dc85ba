"""A model with a cassette: recorded once, played as often as it is asked."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fixtures.journey import call, calls, fault, finished, told

from bread_nb import (
    Agent,
    Bread,
    BreadConfig,
    Cassette,
    ErrorHandling,
    Fallback,
    Model,
    RetryPolicy,
    Scripted,
    ToolContext,
    tool,
)
from bread_nb.errors import BreadError, ProviderError
from bread_nb.messages import Native, Usage, user
from bread_nb.providers.model import (
    CallEnd,
    CallFragment,
    CallStart,
    Delta,
    FileChunk,
    Finish,
    ModelRequest,
    NativeBlock,
    ReasoningChunk,
    ReasoningEnd,
    Restart,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.prices import stamped
from bread_nb.stores.blobs import MemoryBlobs
from bread_nb.stores.in_memory import InMemoryStore

NAME = "test:baker"


class Baker:
    """A model that counts how often it is asked."""

    name = NAME
    free = True

    def __init__(self, *turns: list[Delta | BreadError]) -> None:
        self.turns = list(turns)
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.asked += 1
        for delta in self.turns.pop(0):
            if isinstance(delta, BreadError):
                raise delta
            yield delta

    async def aclose(self) -> None:
        pass


def says(*pieces: str) -> list[Delta | BreadError]:
    """A turn that says these pieces."""
    ends: list[Delta] = [UsageReport(Usage(10, 5)), Finish("end_turn", NAME)]
    return [*(TextChunk(piece) for piece in pieces), *ends]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.cassette.jsonl"


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in written(path).splitlines()]


def there(path: Path) -> bool:
    return path.exists()


def written(path: Path) -> str:
    return path.read_text("utf-8")


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def bread_with(model: object, **agent: object) -> Bread:
    made = Agent(model=model, prompt=str(agent.pop("prompt", "You bake.")), **agent)
    config = BreadConfig(blob_store=MemoryBlobs())
    return Bread({"baker": made}, config=config, store=InMemoryStore())


async def streamed(model: Cassette, text: str = "Bake.") -> list[Delta]:
    request = ModelRequest(model="baker", messages=(user(text),))
    return [delta async for delta in model.stream(request)]


async def test_a_run_is_recorded_and_replayed_without_the_model(path: Path):
    baker = Baker(says("Rye ", "bread."))
    async with bread_with(Cassette(baker, path, mode="record")) as bread:
        run = bread.run("baker", "Bake.")
        recorded = await finished(bread, run)
    assert baker.asked == 1
    async with bread_with(Cassette(baker, path, mode="replay")) as bread:
        again = bread.run("baker", "Bake.")
        replayed = await finished(bread, again)
    assert baker.asked == 1
    assert replayed.text == recorded.text == "Rye bread."
    assert replayed.usage == recorded.usage == Usage(10, 5)
    assert told(again.crumbs) == told(run.crumbs)
    deltas = [c.delta for c in again.crumbs if c.type == "text:delta"]
    assert deltas == ["Rye ", "bread."]


async def test_a_line_says_what_was_asked_and_answered(path: Path):
    await streamed(Cassette(Baker(says("Rye.")), path, mode="record"))
    [line] = lines(path)
    assert line == {
        "answer": [
            {"text": ["Rye."]},
            {
                "usage": {
                    "price": {"amount": 0.0, "source": "free"},
                    "usage": {"input": 10, "output": 5},
                }
            },
            {"finish": {"model": NAME, "stop_reason": "end_turn"}},
        ],
        "asked": {"messages": [{"user": "Bake."}], "model": NAME},
        "key": line["key"],
        "kind": "call",
        "model": NAME,
    }


async def test_the_kth_equal_request_gets_the_kth_recording(path: Path):
    model = Cassette(Baker(says("one"), says("two")), path, mode="record")
    first = await stamped(model, await streamed(model))
    second = await stamped(model, await streamed(model))
    replay = Cassette("openai:unused", path, mode="replay")
    replay.inner.name = NAME  # pyright: ignore[reportAttributeAccessIssue]
    played = [await streamed(replay) for _ in range(5)]
    assert played == [first, second, first, second, first]


async def test_a_loop_of_tools_is_replayed_and_its_tools_run(path: Path):
    ran: list[int] = []

    @tool
    def weigh(kg: int) -> str:
        """Weigh flour."""
        ran.append(kg)
        return f"{kg} kg"

    script = Scripted([calls(call("tool_weigh", kg=3)), "It weighs 3 kg."])
    model = Cassette(script, path, mode="record")
    async with bread_with(model, tools=[weigh]) as bread:
        run = bread.run("baker", "Weigh it.")
        await finished(bread, run)
    model = Cassette(Scripted([]), path, mode="replay")
    async with bread_with(model, tools=[weigh]) as bread:
        again = bread.run("baker", "Weigh it.")
        await finished(bread, again)
    assert ran == [3, 3]
    assert told(again.crumbs) == told(run.crumbs)


async def test_a_run_that_failed_fails_again_in_the_same_way(path: Path):
    broken = ProviderError("It refuses.", code="MODEL_AUTH", status=401, do="a key")
    baker = Baker([TextChunk("Ry"), broken])
    async with bread_with(Cassette(baker, path, mode="record")) as bread:
        first = await fault(bread, bread.run("baker", "Bake."))
    async with bread_with(Cassette(Baker(), path, mode="replay")) as bread:
        second = await fault(bread, bread.run("baker", "Bake."))
    assert (second.code, second.lines()) == (first.code, first.lines())
    assert second.context["text"] == "Ry"


async def test_a_stream_that_is_given_up_leaves_no_recording(path: Path):
    model = Cassette(Baker(says("Rye", "bread")), path, mode="record")
    request = ModelRequest(model="baker", messages=(user("Bake."),))
    stream = model.stream(request)
    assert await anext(stream) == TextChunk("Rye")
    await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
    assert not there(path)


@pytest.mark.parametrize("answer", ["words", None, {"text": "words"}])
async def test_an_answer_that_is_none_is_a_broken_recording(path: Path, answer: object):
    await streamed(Cassette(Baker(says("Rye.")), path, mode="record"))
    write(path, json.dumps({**lines(path)[0], "answer": answer}) + "\n")
    with pytest.raises(BreadError, match=r"a\.cassette\.jsonl:1 cannot be played"):
        await streamed(Cassette(Baker(), path, mode="replay"))


async def test_a_changed_word_of_the_prompt_is_named_by_the_miss(path: Path):
    model = Cassette(Baker(says("Rye.")), path, mode="record")
    async with bread_with(model, prompt="You bake.\nOnly wheat bread.") as bread:
        await finished(bread, bread.run("baker", "Bake."))
    model = Cassette(Baker(), path, mode="replay")
    async with bread_with(model, prompt="You bake.\nOnly rye bread.") as bread:
        error = await fault(bread, bread.run("baker", "Bake."))
    assert error.code == "REPLAY_MISS"
    assert error.what == "Not in the recording."
    assert error.why == (
        "nearest: a.cassette.jsonl:1; line 2 of the system prompt says 'rye', "
        "recorded 'wheat'."
    )


async def test_recording_again_replaces_what_was_recorded_of_that_request(path: Path):
    older = Cassette(Baker(says("old"), says("kept")), path, mode="record")
    await streamed(older)
    await streamed(older, "Something else.")
    await streamed(Cassette(Baker(says("new")), path, mode="record"))
    assert [line["answer"][0] for line in lines(path)] == [
        {"text": ["kept"]},
        {"text": ["new"]},
    ]


async def test_auto_asks_the_model_only_where_nothing_is_recorded(path: Path):
    await streamed(Cassette(Baker(says("recorded")), path, mode="record"))
    baker = Baker(says("live"))
    model = Cassette(baker, path, mode="auto")
    assert (await streamed(model))[0] == TextChunk("recorded")
    assert baker.asked == 0
    assert (await streamed(model, "New."))[0] == TextChunk("live")
    assert len(lines(path)) == 1


async def test_many_runs_at_once_share_one_cassette(path: Path):
    texts = [f"Number {n}." for n in range(20)]

    def echo(request: ModelRequest) -> str:
        return request.messages[-1].text

    async def all_of(bread: Bread) -> list[str]:
        runs = [bread.run("baker", text) for text in texts]
        return [(await finished(bread, run)).text for run in runs]

    script = Scripted([echo], repeat_last=True)
    async with bread_with(Cassette(script, path, mode="record")) as bread:
        assert await all_of(bread) == texts
    assert len(lines(path)) == 20
    async with bread_with(Cassette(Scripted([]), path, mode="replay")) as bread:
        assert await all_of(bread) == texts


async def test_a_replay_tries_again_without_waiting(path: Path):
    policy = RetryPolicy(attempts=2, backoff=0)
    handling = ErrorHandling(retry=policy)
    waits = ProviderError("It is busy.", status=529, retryable=True)
    recorder = Cassette(Baker([waits], says("Rye.")), path, mode="record")
    async with bread_with(recorder, error_handling=handling) as bread:
        await finished(bread, bread.run("baker", "Bake."))
    text = written(path).replace(
        '"retryable":true', '"retryable":true,"retry_after":500'
    )
    write(path, text)
    player = Cassette(Baker(), path, mode="replay")
    async with bread_with(player, error_handling=handling) as bread:
        run = bread.run("baker", "Bake.")
        assert (await finished(bread, run)).text == "Rye."
    [retry] = [crumb for crumb in run.crumbs if crumb.type == "model:retry"]
    assert retry.delay_ms == 500_000


async def test_a_fallback_of_cassettes_plays_each_from_its_own(
    path: Path, tmp_path: Path
):
    lost = ProviderError("It is gone.", status=503, retryable=True)
    other = tmp_path / "b.cassette.jsonl"

    def both(mode: str, first: Baker, second: Baker) -> Fallback:
        return Fallback(
            [Cassette(first, path, mode=mode), Cassette(second, other, mode=mode)]
        )

    async with bread_with(both("record", Baker([lost]), Baker(says("Rye.")))) as bread:
        await finished(bread, bread.run("baker", "Bake."))
    first, second = Baker(), Baker()
    async with bread_with(both("replay", first, second)) as bread:
        assert (await finished(bread, bread.run("baker", "Bake."))).text == "Rye."
        error = await fault(bread, bread.run("baker", "Fry."))
    assert error.code == "REPLAY_MISS"
    assert (first.asked, second.asked) == (0, 0)


async def test_no_key_and_no_credential_reaches_the_cassette(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    api_key, token = "made-up-key-0123456789", "made-up-token-9876543210"
    other = "made-up-key-in-code-5555"

    @tool(credentials=["oven"])
    def weigh(context: ToolContext) -> str:
        """Weigh flour."""
        return f"with {context.credentials['oven']}: 3 kg"

    turns = [calls(call("tool_weigh")), f"It was {api_key}, {token} and {other}."]
    monkeypatch.setenv("MINE_API_KEY", api_key)
    taped = Cassette(Scripted(turns), path, mode="record")
    # A key given in code is known from the description.
    vars(taped.inner)["described"] = Model("mine:x", api_key=other)
    agent = Agent(model=taped, prompt=f"Say {api_key}.", tools=[weigh])
    config = BreadConfig(credentials=lambda name: token if name == "oven" else None)
    async with Bread({"baker": agent}, config=config, store=InMemoryStore()) as bread:
        await finished(bread, bread.run("baker", f"Weigh it, {token}."))
    assert api_key[:12] not in written(path)
    assert token[:12] not in written(path)
    assert other[:12] not in written(path)


async def test_a_stream_that_cannot_be_closed_is_recorded_too(path: Path):
    class Plain:
        name, free = NAME, True

        def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            return Pieces()

        async def aclose(self) -> None:
            pass

    class Pieces:
        def __init__(self) -> None:
            self.left = says("Rye.")

        def __aiter__(self) -> "Pieces":
            return self

        async def __anext__(self) -> Delta:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    recorded = await streamed(Cassette(Plain(), path, mode="record"))
    played = await streamed(Cassette(Plain(), path, mode="replay"))
    assert recorded[0] == played[0] == TextChunk("Rye.")


async def test_signed_thoughts_files_and_retries_inside_come_back(path: Path):
    signed = Native("test", "baker", {"thinking": "…", "signature": "c2lnbmVk+/=="})
    busy = ProviderError("It is busy.", status=529, retryable=True)
    first: list[Delta | BreadError] = [
        TextChunk("Let me"),
        Restart(busy, 1, 3, 0.5),
        ReasoningChunk("I sho"),
        ReasoningChunk("uld weigh."),
        ReasoningEnd(signed),
        NativeBlock(signed),
        CallStart(0, "toolu_1", "tool_weigh"),
        CallFragment(0, ""),
        CallFragment(0, "{}"),
        CallEnd(0, signed),
        UsageReport(Usage(10, 5, cache_read=3)),
        Finish("tool_use", NAME),
    ]
    second: list[Delta | BreadError] = [
        FileChunk(b"\x89PNG\x00 made up", "image/png"),
        *says("3 kg."),
    ]

    @tool
    def weigh() -> str:
        """Weigh flour."""
        return "3 kg"

    baker = Baker(first, second)
    async with bread_with(Cassette(baker, path, mode="record"), tools=[weigh]) as bread:
        run = bread.run("baker", "Weigh it.")
        recorded = await finished(bread, run)
    player = Cassette(Baker(), path, mode="replay")
    async with bread_with(player, tools=[weigh]) as bread:
        again = bread.run("baker", "Weigh it.")
        replayed = await finished(bread, again)
    assert replayed.messages == recorded.messages
    assert replayed.usage == recorded.usage
    assert told(again.crumbs) == told(run.crumbs)
    assert signed in [part for m in replayed.messages for part in m.parts]
