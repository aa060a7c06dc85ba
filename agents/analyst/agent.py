"""Answers questions about a table that the cell hands over with `--with`."""

import os

from bread_nb import Agent

agent = Agent(model=os.environ.get("BREAD_MODEL", "local:smollm2-135m"))
