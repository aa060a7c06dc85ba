"""From a model's name to the model."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fixtures.model_play import ask, play, play_to_fault, text_of
from fixtures.model_server import ModelServer, Reply
from fixtures.more_wire import answered, lines, ndjson, told
from fixtures.wire import messages, said, start, stop, text_block

from bread_nb.errors import BreadError
from bread_nb.providers import weights
from bread_nb.providers.catalog import Catalog, known_providers, resolve
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    Finish,
    Model,
    ModelRequest,
    TextChunk,
)
from bread_nb.providers.scripted import Scripted

OK = messages(start(), *text_block(0, "ok"), *stop())


async def fault_of(model: ChatModel) -> BreadError:
    _, fault = await play_to_fault(model)
    assert isinstance(fault, BreadError)
    return fault


def test_a_model_object_is_itself():
    model = Scripted(["x"])
    assert resolve(model) is model
    assert Catalog().resolve(model) is model


@pytest.mark.parametrize("wrong", [3, None, object()])
def test_what_is_no_model_is_refused(wrong: object):
    with pytest.raises(BreadError) as caught:
        resolve(wrong)  # pyright: ignore[reportArgumentType]
    assert caught.value.code == "INVALID_MODEL"


def test_a_mode_there_is_not_calls_no_model(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BREAD_MODE", "frob")
    with pytest.raises(BreadError) as caught:
        Catalog({}).resolve("anthropic:claude-opus-4-8")
    assert caught.value.code == "INVALID_MODE"
    monkeypatch.setenv("BREAD_MODE", "live")
    Catalog({}).resolve("anthropic:claude-opus-4-8")


@pytest.mark.parametrize("name", ["gpt-4o", ":x", "x:", ""])
def test_a_name_without_a_provider_is_refused_at_once(name: str):
    with pytest.raises(BreadError) as caught:
        resolve(name)
    assert caught.value.code == "INVALID_MODEL"


async def test_nothing_is_looked_up_before_a_live_call():
    model = resolve("nobody:knows")
    assert (model.name, model.free) == ("nobody:knows", False)
    fault = await fault_of(model)
    assert fault.code == "UNKNOWN_PROVIDER"
    assert fault.why == (
        "the providers are anthropic, clipipe, gemini, local, ollama, openai, "
        "responses, scripted."
    )


async def test_a_mistyped_provider_gets_a_suggestion():
    fault = await fault_of(resolve("antropic:claude", {"mine": Scripted}))  # pyright: ignore[reportArgumentType]
    assert "mine" in fault.why
    assert fault.do == "did you mean anthropic:…?"


def answering(text: str):
    return lambda model_id: Scripted([f"{text} {model_id}"], repeat_last=True)


async def test_the_agents_providers_come_before_the_projects_and_the_built_in():
    agent = {"oven": answering("agent")}
    project = {"oven": answering("project"), "openai": answering("mine")}
    assert text_of(await play(resolve("oven:7", agent, project))) == "agent 7"
    assert text_of(await play(resolve("openai:7", agent, project))) == "mine 7"
    assert text_of(await play(resolve("oven:7", {}, project))) == "project 7"
    assert known_providers(agent, project) == [
        "anthropic",
        "clipipe",
        "gemini",
        "local",
        "ollama",
        "openai",
        "oven",
        "responses",
        "scripted",
    ]


async def test_a_factory_may_be_slow():
    async def later(model_id: str) -> Scripted:
        await asyncio.sleep(0)
        return Scripted([model_id], repeat_last=True)

    model = resolve("oven:7", {"oven": later})
    assert [text_of(await play(model)) for _ in range(2)] == ["7", "7"]
    assert model.free


class Plain:
    """A model of somebody's own, whose stream is an iterator and no more."""

    name, free = "own:plain", True

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        return Pieces()

    async def aclose(self) -> None:
        return


class Pieces:
    def __init__(self) -> None:
        self._left: list[Delta] = [TextChunk("plain"), Finish("end_turn")]

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop(0)


@pytest.mark.parametrize("settings", [{}, {"tools": "json"}])
async def test_a_stream_needs_no_more_than_to_be_iterated(settings: dict[str, str]):
    model = resolve(Model("own:plain", settings=settings), {"own": lambda _: Plain()})
    assert text_of(await play(model)) == "plain"


async def test_a_factory_that_gives_no_model_is_named():
    fault = await fault_of(resolve("oven:7", {"oven": str}))  # pyright: ignore[reportArgumentType]
    assert (fault.code, fault.what) == (
        "INVALID_MODEL",
        "The factory for oven:7 gave no model.",
    )


async def test_settings_reach_what_a_factory_makes():
    made = Scripted(["x", "y"])
    described = Model("oven:7", settings={"temperature": 0, "seed": 1})
    model = resolve(described, {"oven": lambda _: made})
    request = ModelRequest(model="7", messages=ask().messages, settings={"seed": 2})
    await play(model, request)
    await play(model, request)
    assert [dict(r.settings) for r in made.requests] == [
        {"temperature": 0, "seed": 2}
    ] * 2


async def test_an_address_for_a_factory_is_refused_and_never_ignored():
    described = Model("oven:7", base_url="http://127.0.0.1:9")
    fault = await fault_of(resolve(described, {"oven": answering("x")}))
    assert fault.code == "INVALID_MODEL"


def test_what_costs_nothing_is_known_before_it_is_made():
    free, paid = ("local:x", "scripted:x", "ollama:x"), ("openai:x", "gemini:x")
    assert all(resolve(name).free for name in free)
    assert not any(resolve(name).free for name in paid)
    assert not resolve("local:x", {"local": answering("x")}).free


async def test_a_script_in_a_file_is_a_model(tmp_path: Path):
    path = tmp_path / "story.yaml"
    path.write_text("- from a file\n")
    model = resolve(f"scripted:{path}")
    assert (model.name, model.free) == (f"scripted:{path}", True)
    assert text_of(await play(model)) == "from a file"


async def test_built_in_dialects_are_made_of_the_description():
    replies = {
        "openai:a": Reply([said("ok")]),
        "anthropic:a": Reply([OK]),
        "responses:a": Reply([answered("ok")]),
        "gemini:a": Reply([told("ok")]),
        "ollama:a": ndjson(lines({"content": "ok"})),
    }
    async with ModelServer(*replies.values()) as server:
        for name in replies:
            model = resolve(Model(name, base_url=server.url, api_key="made-up-key"))
            assert text_of(await play(model)) == "ok"
            await model.aclose()
    assert [seen.path for seen in server.seen] == [
        "/chat/completions",
        "/v1/messages",
        "/responses",
        "/v1beta/models/a:streamGenerateContent?alt=sse",
        "/api/chat",
    ]


async def test_a_catalog_makes_each_model_once_and_closes_them_together():
    class Oven(Scripted):
        closed = 0

        async def aclose(self) -> None:
            Oven.closed += 1

    catalog = Catalog({"oven": lambda _: Oven(["x"], repeat_last=True)})
    first = catalog.resolve("oven:7")
    assert catalog.resolve("oven:7") is first
    assert catalog.resolve(Model("oven:7", settings={"seed": 1})) is not first
    assert catalog.resolve("oven:7", {"oven": answering("agent")}) is not first
    await play(first)
    await catalog.aclose()
    await catalog.aclose()
    assert Oven.closed == 1


async def test_a_stream_left_early_is_closed_inside():
    class Oven(Scripted):
        open = 0

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            Oven.open += 1
            try:
                async for delta in super().stream(request):
                    yield delta
            finally:
                Oven.open -= 1

    model = resolve("oven:7", {"oven": lambda _: Oven(["x"], repeat_last=True)})
    for _ in range(2):
        stream = model.stream(ask())
        await anext(stream)
        assert Oven.open == 1
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        assert Oven.open == 0


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without keys, addresses and weights."""
    for provider in ("ANTHROPIC", "OPENAI", "GEMINI", "OLLAMA"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
    monkeypatch.delenv("BREAD_LOCAL_MODEL", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return monkeypatch


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "responses"])
async def test_a_missing_key_shows_both_ways_forward(
    provider: str, keyless: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "any.gguf").touch()
    keyless.setenv("BREAD_LOCAL_MODEL", str(tmp_path / "any.gguf"))
    fault = await fault_of(resolve(f"{provider}:x"))
    service = "openai" if provider == "responses" else provider
    name = f"{service.upper()}_API_KEY"
    assert fault.code == "MODEL_KEY_MISSING"
    assert fault.what == f"No key for {service}."
    assert fault.why == f"{name} is not set in this kernel."
    assert fault.do.startswith("set it and restart, or: ")
    assert fault.do.endswith("%%bread writer --model local:smollm2-135m")


@pytest.mark.usefixtures("keyless")
async def test_without_weights_the_way_to_the_local_model_begins_with_them():
    if weights.find() is not None:
        pytest.skip("this environment carries the weights as a package")
    fault = await fault_of(resolve("anthropic:x"))
    assert "bread local install, then %%bread writer --model local" in fault.do
    if not weights.runtime_present():
        assert 'pip install "bread-nb[local]"' in fault.do


def test_naming_a_model_loads_no_client_and_no_dialect():
    program = (
        "import sys\n"
        "from bread_nb.providers.catalog import Catalog\n"
        "from bread_nb.providers.scripted import Scripted\n"
        "Catalog().resolve('anthropic:x')\n"
        "slow = {'httpx2', 'xllamacpp', 'bread_nb.providers.client'}\n"
        "print(sorted(slow & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
