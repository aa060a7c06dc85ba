"""Writes two sentences about anything."""

import os

from bread_nb import Agent, Model

name = os.environ.get("BREAD_MODEL", "local:smollm2-135m")
# A tiny model wanders; a grammar holds it to two sentences.
settings = {"grammar": "two_sentences"} if name.startswith("local:") else {}

agent = Agent(model=Model(name, settings=settings))
