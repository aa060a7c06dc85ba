"""What real services say they charge, as it was recorded, and what the table says."""

from typing import Any

import pytest
from fixtures.model_play import play
from fixtures.recorded import ABSENT, Recording, events, recordings
from providers.test_recorded import FAULTS, model_of

from bread_nb.messages import Price
from bread_nb.providers.model import Delta, Finish, UsageReport
from bread_nb.providers.prices import Called, price_now

ANSWERS = [each for each in recordings() if each.name not in FAULTS]

pytestmark = pytest.mark.skipif(not ANSWERS, reason=ABSENT)


def charged(recording: Recording) -> float | None:
    """What the answer itself says it cost, read off its body."""
    figures: list[dict[str, Any]] = [e.get("usage") or {} for e in events(recording)]
    told = [usage for usage in figures if "cost" in usage]
    if recording.api != "openai-chat" or not told:
        return None
    details = told[-1].get("cost_details") or {}
    behind = details["upstream_inference_cost"] if told[-1]["is_byok"] else 0
    return told[-1]["cost"] + behind


def last_report(deltas: list[Delta]) -> UsageReport:
    return [delta for delta in deltas if isinstance(delta, UsageReport)][-1]


def ids(recording: Recording) -> str:
    return recording.name


CHARGED = [each for each in ANSWERS if charged(each) is not None]


@pytest.mark.parametrize("recording", CHARGED, ids=ids)
async def test_what_a_service_charged_is_the_cost(recording: Recording):
    model = model_of(recording, "whole")
    report = last_report(await play(model))
    amount = charged(recording)
    assert amount is not None
    assert report.price == Price(amount, "provider")


@pytest.mark.parametrize(
    "recording", [each for each in ANSWERS if each.api != "openai-chat"], ids=ids
)
async def test_what_the_services_answered_has_a_price(recording: Recording):
    model = model_of(recording, "whole")
    deltas = await play(model)
    report = last_report(deltas)
    finish = [delta for delta in deltas if isinstance(delta, Finish)][-1]
    call = Called(model=model, name=model.name, answered=finish.model, report=report)
    found = price_now(call)
    if "advisor" in recording.name:
        # Another model was asked as well; its tokens are in no total.
        assert found is None
        return
    assert found is not None
    assert found.source.startswith("genai-prices")
    assert found.amount > 0
