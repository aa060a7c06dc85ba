"""Writes told.json: runs as the kernel tells them, frame by frame and whole.

Run it from the repository's root when the story or the card changes what it says:

    .venv/bin/python widgets/test/told.py
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from a2ui.told import Told, every_type  # noqa: E402

from bread_nb import crumbs as c  # noqa: E402
from bread_nb.a2ui.card import Card  # noqa: E402
from bread_nb.a2ui.questions import Extras, remember_choices  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "path": {"type": "string"},
        "mood": {"enum": ["plain", "solemn"], "default": "plain"},
        "copies": {"type": "integer", "minimum": 1, "maximum": 5},
        "token": {"type": "string"},
        "to": {"type": "array", "items": {"type": "string"}},
        "who": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    },
    "required": ["title", "path"],
}
ASKED = {
    "title": "Rye",
    "path": "posts/rye\u202edm.exe",
    "copies": 2,
    "token": "secret-secret",
    "to": ["a", "b"],
    "who": "Ada",
    "extra": 1,
}


def played(crumbs: list[c.Crumb], checkpoint: str = "", extras: Extras | None = None):
    """The frames of a run from an empty card on, and the snapshot at their end."""
    card = Card("run_1", clock=lambda: 60_000)
    frames = [card.snapshot()]
    for crumb in crumbs:
        card.accept(crumb)
        frames.append(card.frame())
    if extras is not None:
        card.add_extras(checkpoint, extras)
        frames.append(card.frame())
    return {"frames": [f for f in frames if f], "snapshot": card.snapshot()}


def asked(told: Told, name: str, call_id: str, kind: str, **fields: object) -> Told:
    """A run that waits for a person."""
    checkpoint = f"check-{call_id}"
    ids = {"checkpoint_id": checkpoint, "tool_call_id": call_id, "tool_name": name}
    return told.say(c.HumanRequired, kind=kind, **ids, **fields)


def runs():
    """Every run of the file, by name."""
    publisher = Told("publisher", model="local:smollm2-135m").start(steps=20)
    publisher.text("The post is ready.").call("a", "publish", **ASKED)
    rule = {"rule": "ask tool:publish", "effect": "Sends text to the network."}
    asked(publisher, "tool_publish", "a", "approval", schema=SCHEMA, args=ASKED, **rule)
    offers = remember_choices("tool:publish", "publisher", "blog")
    asker = Told("asker").start()
    number = {"n": {"type": "integer", "minimum": 0}, "ok": {"type": "boolean"}}
    schema = {"type": "object", "properties": number, "required": ["n", "ok"]}
    question = {"question": "How many?"}
    asked(asker, "human_ask", "q", "input", schema=schema, args=question)
    baker = Told("baker").start().call("o", "order", kg=40)
    asked(baker, "tool_order", "o", "outcome", schema=None, args={"kg": 40})
    failed = Told("writer").start().fail("MODEL_UNREACHABLE", "No answer.", "wait")
    return {
        "every type": played(every_type()),
        "an approval": played(
            publisher.crumbs, "check-a", Extras(nonce="n1", remember=offers)
        ),
        "a question": played(asker.crumbs, "check-q", Extras(nonce="n2")),
        "an outcome": played(
            baker.crumbs, "check-o", Extras(nonce="n3", started="14:02")
        ),
        "a failure": played(failed.crumbs),
    }


if __name__ == "__main__":
    text = json.dumps(runs(), ensure_ascii=False, indent=1)
    (HERE / "told.json").write_text(text + "\n", encoding="utf-8")
