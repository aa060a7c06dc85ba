"""A page in miniature: what the other side of a card makes of its frames."""

from __future__ import annotations

import json
from typing import Any


class Page:
    """Components by id and one data model, kept as the protocol says."""

    def __init__(self) -> None:
        self.components: dict[str, Any] = {}
        self.data: Any = {}
        self.seq = -1
        self.sent = 0

    def take(self, message: dict[str, Any] | None) -> None:
        if message is None:
            return
        self.sent += len(json.dumps(message, ensure_ascii=False).encode())
        message = json.loads(json.dumps(message))
        if message["t"] == "snapshot":
            self.components, self.data = {}, {}
        else:
            assert message["seq"] == self.seq + 1
        self.seq = message["seq"]
        for one in message["messages"]:
            self._apply(one)
        for path, text in message.get("append", []):
            parent, last = self._reach(path)
            parent[last] += text

    def _apply(self, message: dict[str, Any]) -> None:
        if update := message.get("updateComponents"):
            self.components |= {c["id"]: c for c in update["components"]}
        if update := message.get("updateDataModel"):
            if "path" not in update:
                self.data = update["value"]
                return
            parent, last = self._reach(update["path"])
            if "value" not in update:
                parent.pop(last, None)
            elif isinstance(parent, list) and int(last) == len(parent):
                parent.append(update["value"])
            else:
                parent[int(last) if isinstance(parent, list) else last] = update[
                    "value"
                ]

    def _reach(self, path: str) -> tuple[Any, str]:
        *way, last = path.split("/")[1:]
        here = self.data
        for name in way:
            here = here[int(name)] if isinstance(here, list) else here[name]
        return here, last

    def shown(self) -> dict[str, Any]:
        """What a person sees: the tree from the root, each value in its place."""
        data = json.loads(json.dumps(self.data))
        for figure in ("elapsed_ms", "since_ms"):
            data["head"].pop(figure)
        for value in data["b"].values():
            if value.get("state") == "running":
                value.pop("ms")
        return {"tree": self._tree("root"), "data": data}

    def _tree(self, name: str) -> dict[str, Any]:
        component = dict(self.components[name])
        component["children"] = [self._tree(n) for n in component.get("children", [])]
        return component

    def text(self) -> str:
        """All text of the model that stands in the card."""
        blocks = self.data["b"].values()
        return "".join(b["text"] for b in blocks if "withdrawn" in b and "text" in b)
