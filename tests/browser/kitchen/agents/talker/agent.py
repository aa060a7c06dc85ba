"""Says one half of its answer, then the other when the gate `more` is open."""

from gates import Gate, Gated, Thought

from bread_nb import Agent

FIRST = "# Rye\n\nRye flour drinks more water"
SECOND = " than **wheat**, so the dough is soft.\n\n- knead less\n- wait longer\n"

agent = Agent(
    model=Gated(
        Thought("Rye binds water. "), Thought("Say so."), FIRST, Gate("more"), SECOND
    )
)
