"""Edited arguments with the secrets put back that the page saw only masked.

A mask that came back stands for what it covered, at every depth and inside texts.
Where that cannot be known for sure the answer has a problem there: a mask never
reaches a tool, and no secret a place that it was not in.
"""

from __future__ import annotations

import re
from collections import Counter
from json import dumps

from pydantic import JsonValue

from bread_nb.a2ui.replies import Problem
from bread_nb.a2ui.words import say
from bread_nb.base.redact import MASK

__all__ = ["unmasked"]

_MASKS = re.compile(f"(?:{MASK})+")


def unmasked(
    given: JsonValue, seen: JsonValue, kept: JsonValue
) -> tuple[JsonValue, list[Problem]]:
    """What a person meant by an edited value, and the masks that stay unclear.

    Args:
        given: What the page sent.
        seen: What the page was shown.
        kept: What that is without its masks.
    """
    if _same(seen, kept):
        return given, []
    found = _Unmasking()
    return found.value(given, seen, kept, ""), found.problems


class _Unmasking:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def value(
        self, given: JsonValue, seen: JsonValue, kept: JsonValue, path: str
    ) -> JsonValue:
        if _same(given, seen):
            return kept
        if _same(seen, kept):
            return given if _holds(kept) else self._new(given, path)
        match given, seen, kept:
            case dict() as new, dict() as shown, dict() as old:
                return self._fields(new, shown, old, path)
            case list() as new, list() as shown, list() as old:
                return self._items(new, shown, old, path)
            case str() as new, str() as shown, str() as old:
                text = _text(new, shown, old)
                return self._new(new, path) if text is None else text
            case _:
                return self._new(given, path)

    def _new(self, given: JsonValue, path: str) -> JsonValue:
        """What the person wrote anew; a mask in it stands for nothing."""
        if _holds(given):
            self.problems.append(Problem(path, say("problem_masked")))
        return given

    def _fields(
        self,
        given: dict[str, JsonValue],
        seen: dict[str, JsonValue],
        kept: dict[str, JsonValue],
        path: str,
    ) -> JsonValue:
        names = _names(list(seen), list(kept))
        value: dict[str, JsonValue] = {}
        for key, item in given.items():
            token = key.replace("~", "~0").replace("/", "~1")
            place, name = f"{path}/{token}", names.get(key)
            if name is not None:
                value[name] = self.value(item, seen[key], kept[name], place)
            else:
                self._new(key, place)
                value[key] = self._new(item, place)
        return value

    def _items(
        self,
        given: list[JsonValue],
        seen: list[JsonValue],
        kept: list[JsonValue],
        path: str,
    ) -> JsonValue:
        """Items that were left alone wherever they stand now, and one edited one."""
        hidden: dict[str, list[JsonValue]] = {}
        for item, secret in zip(seen, kept, strict=False):
            hidden.setdefault(_written(item), []).append(secret)
        sent = Counter(map(_written, given))
        clear = {name: _clear(them, sent[name]) for name, them in hidden.items()}
        gone = [at for at, item in enumerate(seen) if not sent[_written(item)]]
        come = sum(name not in hidden for name in map(_written, given))
        value: list[JsonValue] = []
        for at, item in enumerate(given):
            name, place = _written(item), f"{path}/{at}"
            if clear.get(name):
                value.append(hidden[name].pop(0))
            elif name not in hidden and len(gone) == come == 1:
                value.append(self.value(item, seen[gone[0]], kept[gone[0]], place))
            else:
                value.append(self._new(item, place))
        return value


def _names(seen: list[str], kept: list[str]) -> dict[str, str]:
    """The name of each field by the one that was shown; some may be masked."""
    names = {name: name for name in seen if name in kept}
    shown = [name for name in seen if name not in names]
    masked = [name for name in kept if name not in names]
    if len(shown) == len(masked) == 1:
        names[shown[0]] = masked[0]
    return names


def _clear(secrets: list[JsonValue], times: int) -> bool:
    """Whether it is known which of them stands where; they are as many then."""
    if len(set(map(_written, secrets))) == 1:
        secrets += secrets[:1] * max(times - len(secrets), 0)
        return True
    return len(secrets) == times


def _text(given: str, seen: str, kept: str) -> str | None:
    """A text with its secrets in it again; None where a mask could be any of them."""
    masks = len(_MASKS.findall(given))
    if not masks:
        return given
    secrets = _covered(_MASKS.split(seen), kept)
    if secrets is None:
        return None
    known = masks == len(secrets) and _left_alone(given, seen)
    if len(set(secrets)) > 1 and not known:
        return None
    parts = _MASKS.split(given)
    told = secrets if len(secrets) == masks else secrets[:1] * masks
    return "".join(map("".join, zip(parts, [*told, ""], strict=True)))


def _covered(parts: list[str], kept: str) -> list[str] | None:
    """What stands between these parts in a text, if it can be one thing only."""
    found = _between(parts, kept)
    turned = _between([part[::-1] for part in reversed(parts)], kept[::-1])
    if found is None or turned is None:
        return None
    return found if found == [one[::-1] for one in reversed(turned)] else None


def _between(parts: list[str], text: str) -> list[str] | None:
    first, *inner, last = parts
    if not (text.startswith(first) and text.endswith(last)):
        return None
    at, found = len(first), list[str]()
    for part in inner:
        start = text.find(part, at + 1)
        if start == -1:
            return None
        found.append(text[at:start])
        at = start + len(part)
    found.append(text[at : len(text) - len(last)])
    return found if at < len(text) - len(last) else None


def _left_alone(given: str, seen: str) -> bool:
    """Whether no mask is in the stretch in which two texts differ."""
    short = min(len(given), len(seen))
    head = next((n for n in range(short) if given[n] != seen[n]), short)
    most = short - head
    tail = next((n for n in range(most) if given[-1 - n] != seen[-1 - n]), most)
    return all(MASK[0] not in text[head : len(text) - tail] for text in (given, seen))


def _holds(value: JsonValue) -> bool:
    return MASK in dumps(value, ensure_ascii=False)


def _written(value: JsonValue) -> str:
    return dumps(value, sort_keys=True)


def _same(one: JsonValue, other: JsonValue) -> bool:
    return _written(one) == _written(other)
