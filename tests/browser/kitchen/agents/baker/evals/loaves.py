"""Six loaves; each waits at a gate of its own."""

from bread_nb import Case, Suite
from bread_nb.evals import contains

suite = Suite(
    "baker",
    [Case(name=f"loaf {n}", input=f"loaf-{n}") for n in range(1, 7)],
    name="loaves",
    scorers=[contains("bread")],
)
