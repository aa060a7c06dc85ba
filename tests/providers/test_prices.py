"""What a call costs, and who says so."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace

import genai_prices
import pytest
from pydantic import JsonValue

from bread_nb.errors import BreadError
from bread_nb.messages import Price, Usage
from bread_nb.providers.anthropic import Anthropic
from bread_nb.providers.catalog import Catalog, Named
from bread_nb.providers.model import (
    ChatModel,
    Delta,
    Finish,
    Model,
    ModelRequest,
    Restart,
    TextChunk,
    UsageReport,
)
from bread_nb.providers.openai import OpenAI
from bread_nb.providers.prices import Called, price, price_now, stamped
from bread_nb.providers.rates import Rates
from bread_nb.providers.resilience import CircuitBreaker, Fallback, Retrying
from bread_nb.providers.scripted import Scripted

CACHED = Usage(input=120, cache_write=4_000, cache_read=9_000, output=300)
RATES = Rates(input=2, cache_write=2.5, cache_read=0.2, output=10)
TABLE = f"genai-prices {genai_prices.__version__}"


@pytest.fixture(autouse=True)
def plain_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)


def cost(
    model: str | Model | ChatModel,
    usage: Usage | None = CACHED,
    *,
    answered: str | None = None,
    name: str | None = None,
    told: Price | None = None,
    terms: Mapping[str, JsonValue] | None = None,
    rates: Mapping[str, Rates] | None = None,
) -> Price | None:
    """The price of a call to a model that has not been called yet."""
    found = Catalog().resolve(model)
    report = None if usage is None else UsageReport(usage, told, terms or {})
    call = Called(
        model=found, name=name or found.name, answered=answered, report=report
    )
    return price_now(call, rates)


def by_table(
    reference: str, service: str | None = None, *, url: str | None = None
) -> float:
    """The same by the package itself."""
    usage = genai_prices.Usage(
        input_tokens=13_120,
        cache_read_tokens=9_000,
        cache_write_tokens=4_000,
        output_tokens=300,
    )
    if url is not None:
        found = genai_prices.calc_price(usage, reference, provider_api_url=url)
    else:
        found = genai_prices.calc_price(usage, reference, provider_id=service)
    return float(found.total_price)


def amount(model: str, usage: Usage = CACHED, **more: JsonValue) -> float:
    """The money alone, on these terms."""
    found = cost(model, usage, terms=more)
    assert found is not None
    return found.amount


# -- the order -------------------------------------------------------------------------


def test_tokens_of_a_cache_are_charged_once():
    # Case 132: the double-counting answer is 0.04104.
    assert RATES.cost(CACHED) == 0.01504
    assert cost(Model("openai:bun", rates=RATES)) == Price(0.01504, "rates")


def test_the_services_own_figure_comes_first():
    own = Price(0.5, "provider")
    assert cost(Model("openai:gpt-5", rates=RATES), told=own) == own
    assert cost("ollama:qwen3", told=own) == own


def test_rates_come_before_the_table_and_before_free():
    projects = {"openai:gpt-5": RATES, "ollama:qwen3": RATES}
    assert cost("openai:gpt-5", rates=projects) == Price(0.01504, "rates")
    assert cost("ollama:qwen3", rates=projects) == Price(0.01504, "rates")
    own = Model("openai:gpt-5", rates=Rates(input=0, output=0))
    assert cost(own, rates=projects) == Price(0.0, "rates")


def test_the_table_comes_last_and_says_its_version():
    expected = by_table("claude-opus-4-8", "anthropic")
    assert cost("anthropic:claude-opus-4-8") == Price(expected, TABLE)


@pytest.mark.parametrize("name", ["local:smollm2-135m", "ollama:qwen3:8b"])
def test_a_model_that_runs_here_is_free(name: str):
    assert cost(name) == Price(0.0, "free")
    assert cost(Scripted(["Hi."])) == Price(0.0, "free")


# -- what is unknown -------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        "openai:nobody-knows-this",
        Model("openai:gpt-5", base_url="http://localhost:8000/v1"),
        Model("openai:gpt-5", base_url="http://10.0.0.7/v1"),
        Model("anthropic:claude-opus-4-8", base_url="https://proxy.example.com"),
    ],
)
def test_what_nobody_knows_is_unknown_and_never_nothing(model: str | Model):
    assert cost(model) is None


def test_a_call_without_a_count_is_unknown():
    assert cost("openai:gpt-5", None) is None
    assert cost("openai:gpt-5", Usage()) is None
    assert cost(Model("openai:bun", rates=RATES), None) is None


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), -1.0])
def test_a_figure_that_is_no_amount_is_unknown(amount: float):
    assert cost("openai:gpt-5", told=Price(amount, "provider")) is None


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("anthropic:claude-opus-4-8", {"inference_geo": "us"}),
        ("openai:gpt-5", {"service_tier": "scale"}),
        ("gemini:gemini-2.5-flash", {"grounding": "search"}),
    ],
)
def test_terms_that_have_no_price_are_unknown(name: str, terms: dict[str, JsonValue]):
    assert cost(name) is not None
    assert cost(name, terms=terms) is None


def test_a_class_of_service_has_its_own_price():
    usual = amount("openai:gpt-5")
    assert amount("openai:gpt-5", service_tier="flex") < usual
    assert amount("openai:gpt-5", service_tier="priority") > usual


def test_searches_of_the_service_are_charged():
    searched = amount("anthropic:claude-opus-4-8", web_searches=3)
    assert searched == pytest.approx(amount("anthropic:claude-opus-4-8") + 0.03)


# -- what is found in the table --------------------------------------------------------


def test_a_cache_kept_for_an_hour_costs_more():
    short, long = (
        Usage(cache_write=10**6),
        Usage(cache_write=10**6, cache_write_1h=10**6),
    )
    model = "anthropic:claude-opus-4-8"
    assert (amount(model, short), amount(model, long)) == (6.25, 10.0)


def test_reasoning_is_a_part_of_the_output():
    spoken = cost("openai:gpt-5", Usage(input=10, output=900))
    thought = cost("openai:gpt-5", Usage(input=10, output=900, reasoning=800))
    assert spoken == thought


def test_sounds_have_their_own_price():
    model, heard = "gemini:gemini-2.5-flash", Usage(input=1_000_000)
    assert amount(model, heard) == 0.3
    assert amount(model, heard, input_audio_tokens=1_000_000) == 1.0
    spoken = Usage(output=1_000_000)
    assert amount("openai:gpt-5", spoken) == amount(
        "openai:gpt-5", spoken, output_audio_tokens=1_000_000
    )


def test_a_long_prompt_has_its_own_rates():
    model = "anthropic:claude-sonnet-4-5"
    assert round(amount(model, Usage(input=200_000)), 4) == 0.6
    assert round(amount(model, Usage(input=200_001)), 4) == 1.2


def test_a_dated_name_is_known():
    dated = cost("anthropic:claude-sonnet-4-5-20250929")
    assert dated == cost("anthropic:claude-sonnet-4-5")


def test_the_name_that_the_service_gives_back_comes_before_the_one_asked_for():
    expected = by_table("gpt-5-mini", "openai")
    found = cost("openai:gpt-5", answered="gpt-5-mini-2025-08-07")
    assert found == Price(expected, TABLE)
    assert cost("openai:gpt-5", answered="bun-7") == cost("openai:gpt-5")


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("https://openrouter.ai/api/v1", "openai/gpt-4.1-mini"),
        ("https://api.groq.com/openai/v1", "llama-3.3-70b-versatile"),
        ("https://api.deepseek.com/v1", "deepseek-chat"),
        ("https://buns.openai.azure.com/openai/v1", "gpt-4o"),
    ],
)
def test_a_host_that_speaks_like_openai_is_known_by_its_address(url: str, model: str):
    expected = Price(by_table(model, url=url), TABLE)
    assert cost(Model(f"openai:{model}", base_url=url)) == expected
    assert cost(OpenAI(Model(f"host:{model}", base_url=url))) == expected


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1234/v1")
    assert cost("openai:gpt-5") is None
    assert cost("responses:gpt-5") is None


def test_a_client_of_a_package_knows_where_it_asks():
    class Client:
        base_url = "https://bedrock-runtime.us-east-1.amazonaws.com"
        messages = SimpleNamespace()

        async def post(self) -> None: ...

    name = "anthropic.claude-opus-4-8"
    expected = by_table(name, url=Client.base_url)
    found = cost(Anthropic(Model(f"anthropic:{name}", client=Client())))
    assert found == Price(expected, TABLE)


async def test_what_a_factory_makes_is_priced_as_what_it_is():
    named = Catalog({"mine": OpenAI}).resolve("mine:gpt-5")
    assert isinstance(named, Named)
    call = Called(model=named, name="mine:gpt-5", report=UsageReport(CACHED))
    assert price_now(call) is None
    await named.make()
    assert price_now(call) == cost("openai:gpt-5")
    assert price_now(call, {"mine:gpt-5": RATES}) == Price(0.01504, "rates")


@pytest.mark.parametrize("wrap", [Retrying, CircuitBreaker])
def test_a_wrapper_changes_no_price(wrap: type[Retrying]):
    assert cost(wrap("openai:gpt-5")) == cost("openai:gpt-5")


def test_of_several_models_the_one_that_answered_is_priced():
    several = Fallback(["anthropic:claude-opus-4-8", "openai:gpt-5", "ollama:qwen3"])
    assert cost(several) == cost("anthropic:claude-opus-4-8")
    assert cost(several, name="openai:gpt-5") == cost("openai:gpt-5")
    assert cost(Retrying(several), name="ollama:qwen3") == Price(0.0, "free")


async def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch):
    def forbidden(*args: object, **options: object) -> socket.socket:
        raise AssertionError("a socket was opened")

    model = Catalog().resolve("openai:gpt-5")
    call = Called(model=model, name=model.name, report=UsageReport(CACHED))
    monkeypatch.setattr(socket, "socket", forbidden)
    assert await price(call) == cost("openai:gpt-5")


# -- recordings ------------------------------------------------------------------------


async def test_a_recording_keeps_the_price_of_its_day():
    model = Catalog().resolve("openai:gpt-5")
    said: list[Delta] = [
        TextChunk("Hi."),
        UsageReport(Usage(1, 1)),
        UsageReport(CACHED),
        Finish("end_turn", "gpt-5-2025-08-07"),
    ]
    kept = await stamped(model, said)
    assert kept[2] == UsageReport(CACHED, cost("openai:gpt-5"))
    assert [kept[0], kept[1], kept[3]] == [said[0], said[1], said[3]]


async def test_what_nobody_knew_then_stays_unknown():
    model = Catalog().resolve("openai:nobody-knows-this")
    report, _ = await stamped(model, [UsageReport(CACHED), Finish("end_turn")])
    assert isinstance(report, UsageReport)
    call = Called(model=model, name=model.name, report=report)
    assert price_now(call, {model.name: RATES}) is None


async def test_a_recording_is_priced_as_the_model_that_answered():
    several = Fallback(["openai:nobody-knows-this", "openai:gpt-5"])
    lost = BreadError("lost")
    said: list[Delta] = [
        UsageReport(Usage(1, 1)),
        Restart(lost, 1, 2, model="openai:gpt-5"),
        UsageReport(CACHED),
        Finish("end_turn", name="openai:gpt-5"),
    ]
    kept = await stamped(several, said)
    assert kept[2] == UsageReport(CACHED, cost("openai:gpt-5"))
    assert kept[0] == said[0]


class Odd:
    """A model of somebody's own."""

    name, free = "odd:bun", False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        yield Finish("end_turn")

    async def aclose(self) -> None: ...


def test_a_model_of_ones_own_is_unknown_without_rates():
    assert cost(Odd()) is None
    assert cost(Odd(), rates={"odd:bun": RATES}) == Price(0.01504, "rates")


def test_a_run_that_nothing_is_paid_for_loads_no_table():
    code = (
        "import asyncio, sys\n"
        "from bread_nb import Agent, Bread, Scripted\n"
        "async def go():\n"
        "    agent = Agent(model=Scripted(['Hi.']))\n"
        "    async with Bread({'a': agent}, store='memory:') as bread:\n"
        "        await bread.run('a', 'Hi.')\n"
        "asyncio.run(go())\n"
        "print('genai_prices' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "False\n"
