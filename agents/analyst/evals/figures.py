"""Figures of a table: they must come from the tool, and be right."""

import pandas as pd

from bread_nb import Case, Suite
from bread_nb.evals import contains, crumbs

SALES = pd.DataFrame(
    {
        "flour": [410, 395, 431, 412],
        "water": [287, 276, 301, 288],
        "salt": [8, 8, 9, 8],
        "price": [3.2, 3.4, 3.4, 3.6],
    }
)


def mean_of(column: str) -> Case:
    """The question for a mean; the tool must be asked, and its figure be told."""
    return Case(
        name=f"mean of {column}",
        input=f"What is the mean of {column}?",
        expected=f"{SALES[column].mean():.1f}",
        scorers=[crumbs(called=[{"column_mean": {"column": column}}], only=True)],
    )


suite = Suite(
    "analyst",
    [mean_of(column) for column in ("flour", "water", "price")],
    scorers=[contains()],
    ctx={"sales": SALES},
)
