"""The mean of one column of the table in the cell."""

from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict, Field

from bread_nb import ToolContext, tool
from bread_nb.base.effects import Pure

# A small model copies what it is shown, so it is shown the names of columns.
SHOWN = [{"column": name} for name in ("flour", "water", "salt", "yeast", "price")]


class Column(BaseModel):
    """Which column."""

    model_config = ConfigDict(json_schema_extra={"examples": SHOWN})

    column: str = Field(description="The name of a column of the table.")


@tool(args=Column, effect=Pure(), idempotent=True)
def column_mean(column: str, context: ToolContext) -> str:
    """Compute the mean of one column of the table."""
    tables = dict(context.ctx or {})
    if not tables:
        raise ValueError("there is no table here; run the cell with --with NAME")
    table = next(iter(tables.values()))
    if column not in table.columns:
        near = get_close_matches(column, list(table.columns), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"no column {column!r}.{hint}")
    return f"mean of {column} = {table[column].mean():.1f}"
