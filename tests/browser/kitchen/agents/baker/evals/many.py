"""A thousand rolls that need no gate, one of them held to what it is not."""

from bread_nb import Case, Suite
from bread_nb.evals import contains

WRONG = [contains("cake")]
suite = Suite(
    "baker",
    [
        Case(name=f"roll {n}", input=f"roll {n}", scorers=WRONG if n == 500 else [])
        for n in range(1, 1001)
    ],
    name="rolls",
    scorers=[contains("bread")],
)
