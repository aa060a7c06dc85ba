"""Drafts a post and publishes it, when a person says so."""

import os

from bread_nb import Agent, Permissions

agent = Agent(
    model=os.environ.get("BREAD_MODEL", "local:smollm2-135m"),
    permissions=Permissions(ask=["tool:publish"]),
)
