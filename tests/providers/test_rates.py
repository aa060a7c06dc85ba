"""The caller's own rates, and the figure of the service itself."""

from typing import Any

import pytest

from bread_nb import BreadConfig
from bread_nb.errors import BreadError
from bread_nb.messages import Price, Usage
from bread_nb.providers.model import Model
from bread_nb.providers.rates import Rates, reported


@pytest.mark.parametrize(
    ("usage", "amount"),
    [
        ({"cost": 0.0133176, "is_byok": False}, 0.0133176),
        ({"cost": 0, "is_byok": False}, 0.0),
        ({"cost": {"total_cost": 0.006}}, 0.006),
        ({"estimated_cost": 1.2e-05}, 1.2e-05),
        ({"cost_in_usd_ticks": 37_756_000}, 0.0037756),
        (
            {
                "cost": 0,
                "is_byok": True,
                "cost_details": {"upstream_inference_cost": 0.0002265},
            },
            0.0002265,
        ),
        ({"cost": 0, "is_byok": True, "cost_details": None}, None),
        ({"cost": "0.1"}, None),
        ({"cost": float("nan")}, None),
        ({"cost": True}, None),
        ({"prompt_tokens": 4}, None),
    ],
)
def test_the_figure_of_a_service_is_read(usage: dict[str, Any], amount: float | None):
    assert reported(usage) == (None if amount is None else Price(amount, "provider"))


def test_a_tier_without_a_rate_is_charged_like_the_input():
    plain = Rates(input=1, output=2)
    assert plain.cost(Usage(1, 1, 1, 1, 1)) == 5e-06
    written = Rates(input=1, output=1, cache_write=2, cache_write_1h=3)
    assert written.cost(Usage(cache_write=2, cache_write_1h=1)) == 5e-06


@pytest.mark.parametrize("rate", [-1, float("nan"), float("inf"), True])
def test_a_rate_that_is_no_money_is_refused(rate: float):
    with pytest.raises(BreadError) as caught:
        Rates(input=1, output=rate)
    assert caught.value.code == "INVALID_RATES"
    assert "output" in caught.value.what


@pytest.mark.parametrize("rates", [{"input": 1}, 2.0])
def test_rates_that_are_none_are_refused_where_they_are_given(rates: Any):  # noqa: ANN401
    with pytest.raises(BreadError) as caught:
        Model("openai:bun", rates=rates)
    assert caught.value.code == "INVALID_RATES"
    with pytest.raises(BreadError) as caught:
        BreadConfig(rates={"openai:bun": rates})
    assert "Rates(input=2, output=10)" in caught.value.do
