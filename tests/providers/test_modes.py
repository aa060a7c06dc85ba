"""Live, record, replay, auto: who says so, and what becomes of a call."""

from pathlib import Path

import pytest
from fixtures.journey import fault, finished
from providers.test_cassette import Baker, lines, says

from bread_nb import Agent, Bread, BreadConfig, BreadError, Cassette, Model, Scripted
from bread_nb.providers.catalog import Catalog
from bread_nb.providers.modes import decide, mode_named
from bread_nb.providers.shelf import append
from bread_nb.stores.in_memory import InMemoryStore

PYTEST = "PYTEST_CURRENT_TEST"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment that says nothing of modes."""
    monkeypatch.chdir(tmp_path)
    for name in ("BREAD_MODE", "BREAD_CASSETTE", "CI", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


def files() -> list[str]:
    """What is in the working directory."""
    return sorted(path.name for path in Path().iterdir())


def bread_of(model: object, **config: object) -> Bread:
    agent = Agent(model=model, prompt="You bake.")
    config = BreadConfig(**config)
    return Bread({"baker": agent}, config=config, store=InMemoryStore())


async def said(bread: Bread, text: str = "Bake.") -> str:
    async with bread:
        return (await finished(bread, bread.run("baker", text))).text


async def refused(bread: Bread, text: str = "Bake.") -> BreadError:
    async with bread:
        return await fault(bread, bread.run("baker", text))


@pytest.mark.parametrize(
    ("environ", "mode", "said_by"),
    [
        ({}, "auto", ""),
        ({"CI": "1"}, "replay", "CI"),
        ({"CI": "false"}, "auto", ""),
        ({"PYTEST_CURRENT_TEST": "x"}, "replay", PYTEST),
        ({"BREAD_MODE": "live", "CI": "1"}, "live", "BREAD_MODE"),
        ({"BREAD_MODE": "Record"}, "record", "BREAD_MODE"),
        ({"BREAD_MODE": " ", "PYTEST_CURRENT_TEST": "x"}, "replay", PYTEST),
    ],
)
def test_who_says_the_mode(environ: dict[str, str], mode: str, said_by: str):
    found = decide(environ)
    assert (found.name, found.said_by) == (mode, said_by)


def test_nothing_is_recorded_in_ci():
    with pytest.raises(BreadError) as caught:
        decide({"CI": "true", "BREAD_MODE": "record"})
    assert caught.value.code == "RECORD_REFUSED"
    assert "commit the cassette; here BREAD_MODE=replay" in caught.value.do


@pytest.mark.parametrize(
    ("said_by", "instead"),
    [
        ("--record", "BREAD_MODE=replay"),
        ("Cassette(mode=)", 'Cassette(mode="replay")'),
        ("%bread mode", "%bread mode replay"),
    ],
)
def test_the_mend_in_ci_is_what_can_be_written_there(said_by: str, instead: str):
    with pytest.raises(BreadError) as caught:
        mode_named("record", said_by, {"CI": "1"})
    assert caught.value.do.endswith(f"here {instead}")


def test_a_mode_that_is_none_is_refused():
    with pytest.raises(BreadError) as caught:
        decide({"BREAD_MODE": "repaly"})
    assert caught.value.code == "INVALID_MODE"
    assert caught.value.do == "BREAD_MODE=replay"


async def test_a_named_model_is_recorded_and_replayed(env: pytest.MonkeyPatch):
    baker = Baker(says("Rye."), says("Live."))
    providers = {"test": lambda _: baker}
    env.setenv("BREAD_MODE", "record")
    env.setenv("BREAD_CASSETTE", "mine")
    assert await said(bread_of("test:baker", providers=providers)) == "Rye."
    [line] = lines(Path("mine.cassette.jsonl"))
    assert line["model"] == "test:baker"
    env.delenv("BREAD_CASSETTE")
    env.setenv("BREAD_MODE", "replay")
    assert await said(bread_of("test:baker", providers=providers)) == "Rye."
    env.delenv("BREAD_MODE")
    assert await said(bread_of("test:baker", providers=providers)) == "Rye."
    assert baker.asked == 1
    env.setenv("BREAD_MODE", "live")
    assert await said(bread_of("test:baker", providers=providers)) == "Live."


async def test_settings_are_a_part_of_what_is_asked(env: pytest.MonkeyPatch):
    providers = {"test": lambda _: Baker(says("Rye."))}
    env.setenv("BREAD_MODE", "record")
    env.setenv("BREAD_CASSETTE", "mine")
    cool = Model("test:baker", settings={"temperature": 0, "deadline": 9})
    await said(bread_of(cool, providers=providers))
    env.setenv("BREAD_MODE", "replay")
    later = Model("test:baker", settings={"temperature": 0, "deadline": 20})
    assert await said(bread_of(later, providers=providers)) == "Rye."
    warm = Model("test:baker", settings={"temperature": 1})
    error = await refused(bread_of(warm, providers=providers))
    assert error.code == "REPLAY_MISS"
    assert "the settings, temperature is 1, recorded 0" in error.why


@pytest.mark.parametrize("variable", ["CI", "PYTEST_CURRENT_TEST"])
async def test_a_service_is_never_called_where_nobody_looks(
    env: pytest.MonkeyPatch, variable: str
):
    env.setenv(variable, "1")
    env.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    for name in ("openai:gpt-5", "local:nosuchmodel", "nosuchprovider:x"):
        error = await refused(bread_of(name))
        assert error.code == "REPLAY_MISS"
        assert f"replay is on because {variable} is set" in error.why


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, "BREAD_MODE=record BREAD_CASSETTE=tale, and run it again, look at the"),
        ({"BREAD_CASSETTE": "tale"}, "BREAD_MODE=record, and run it again, look at"),
        ({"CI": "1"}, "on your own machine BREAD_MODE=record BREAD_CASSETTE=tale, and"),
    ],
)
async def test_what_a_miss_says_to_do_loses_no_recording(
    env: pytest.MonkeyPatch, environ: dict[str, str], told: str
):
    providers = {"test": lambda _: Baker(says("Rye."), says("Wheat."))}
    env.setenv("BREAD_MODE", "record")
    env.setenv("BREAD_CASSETTE", "tale")
    await said(bread_of("test:baker", providers=providers))
    env.delenv("BREAD_CASSETTE")
    env.setenv("BREAD_MODE", "replay")
    for name, value in environ.items():
        env.setenv(name, value)
    error = await refused(bread_of("test:other", providers=providers))
    assert error.do.startswith(told)
    env.delenv("CI", raising=False)
    env.setenv("BREAD_MODE", "record")
    env.setenv("BREAD_CASSETTE", "tale")
    await said(bread_of("test:other", providers=providers))
    assert len(lines(Path("tale.cassette.jsonl"))) == 2


async def test_a_miss_beside_a_notebook_names_it(env: pytest.MonkeyPatch):
    made = Cassette(Baker(says("Rye.")), "tale.cassette.jsonl", mode="record")
    await said(bread_of(made))
    env.setenv("BREAD_MODE", "replay")
    append(Path("tale.ipynb"), "{}")
    error = await refused(bread_of("test:other"))
    assert error.do.startswith("bread refresh --record tale.ipynb, look at the diff")


async def test_a_miss_of_a_mode_said_in_code_is_mended_in_code():
    model = Cassette("test:baker", "own.cassette.jsonl", mode="replay")
    error = await refused(bread_of(model))
    assert error.do.startswith('Cassette(mode="record"), and run it again')
    assert error.do.endswith('or Cassette(mode="live")')


async def test_recording_without_a_name_says_so_and_asks_no_model(
    env: pytest.MonkeyPatch,
):
    env.setenv("BREAD_MODE", "record")
    baker = Baker(says("x"))
    error = await refused(bread_of("test:baker", providers={"test": lambda _: baker}))
    assert error.code == "CASSETTE_UNNAMED"
    assert baker.asked == 0
    assert "%bread mode record NAME" in error.do


async def test_a_script_needs_no_recording_in_any_mode(env: pytest.MonkeyPatch):
    providers = {"mine": lambda _: Scripted(["Scripted."])}
    env.setenv("BREAD_CASSETTE", "mine")
    for mode in ("live", "record", "replay", "auto"):
        env.setenv("BREAD_MODE", mode)
        assert await said(bread_of(Scripted(["Hello."]))) == "Hello."
        assert await said(bread_of("mine:x", providers=providers)) == "Scripted."
    assert files() == []


async def test_a_double_in_code_answers_where_nothing_was_recorded(
    env: pytest.MonkeyPatch,
):
    env.setenv("PYTEST_CURRENT_TEST", "x")
    assert await said(bread_of(Baker(says("Double.")))) == "Double."
    env.setenv("BREAD_MODE", "replay")
    error = await refused(bread_of(Baker(says("Double."))))
    assert error.code == "REPLAY_MISS"
    assert f"there is no recording in {Path.cwd().name}/*.cassette.jsonl" in error.why


async def test_a_cassette_of_its_own_follows_the_mode(env: pytest.MonkeyPatch):
    model = Cassette(Scripted(["Once."]), "own.cassette.jsonl")
    env.setenv("BREAD_MODE", "record")
    assert await said(bread_of(model)) == "Once."
    env.setenv("BREAD_MODE", "replay")
    assert await said(bread_of(model)) == "Once."
    assert files() == ["own.cassette.jsonl"]


def test_the_mode_is_looked_at_again_at_each_call(env: pytest.MonkeyPatch):
    catalog = Catalog()
    env.setenv("BREAD_MODE", "live")
    live = catalog.resolve("openai:gpt-5")
    env.setenv("BREAD_MODE", "replay")
    assert catalog.resolve("openai:gpt-5") is not live
