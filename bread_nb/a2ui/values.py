"""Values as a person must be able to judge them: nothing in them is invisible.

Control, invisible and direction-changing characters become named escapes, long runs of
blanks become a count, secrets are masked. A `Value` is JSON for the card; `visible` is
the same as text, for pictures and previews.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from json import dumps

from pydantic import JsonValue

from bread_nb.a2ui.words import say
from bread_nb.base.redact import MASK, secret_name

__all__ = [
    "arg_of",
    "args_of",
    "changes",
    "fits",
    "flat",
    "masked",
    "named",
    "one_line",
    "preview",
    "sound",
    "text_diff",
    "text_of",
    "titled",
    "type_words",
    "unturned",
    "value_of",
    "visible",
]

Json = dict[str, JsonValue]

WHOLE = 256_000
_HEAD = 192_000
_TAIL = 63_000
_PREVIEW = 80
_LINE = 60
_LEFT_OUT = ", …"
_LEAST = 16
_LONGEST_NAME = 120
_ENDS = re.compile("\r\n|[\r\n]")
_QUOTED = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^="]*)="')
_PLAIN_NAME = re.compile(r"[^\W\d][\w.:/-]*")
_COMMANDS = frozenset({"argv", "args", "cmd", "command"})
_NESTED_MASK = 100
_MOST_COMPARED = 2000

# Emoji are made with a joiner and a selector; after a picture they hide nothing.
_PICTURE = "\u203c-\u3299\U0001f000-\U0001faff"
_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0"
    r"\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_SPACES = r" \t\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
_UNSEEN = re.compile(
    rf"(?P<esc>[{_HIDDEN}]|(?<![{_PICTURE}\d#*])\ufe0f"
    rf"|(?<![{_PICTURE}\ufe0f])\u200d|\u200d(?![{_PICTURE}]))"
    rf"|(?P<blanks>[{_SPACES}]{{21,}})"
)
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def text_of(value: JsonValue) -> str:
    """A value as text: text stays as it is, anything else is JSON."""
    if isinstance(value, str):
        return value
    short = dumps(value, ensure_ascii=False)
    if len(short) <= _PREVIEW:
        return short
    return dumps(value, ensure_ascii=False, indent=2)


def sound(text: str) -> str:
    """`text` without half characters, which no encoding can carry."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def value_of(value: JsonValue) -> Json:
    """A value for the card, in segments; over 256 kB only its head and its tail."""
    text = text_of(value).replace("\r\n", "\n")
    cut = len(text) > WHOLE
    if cut:
        left_out = say("left_out", {"n": len(text) - _HEAD - _TAIL})
        head, escapes = _segments(text[:_HEAD])
        tail, more = _segments(text[-_TAIL:])
        segments = [*head, f"\n{left_out}\n", *tail]
        escapes += more
    else:
        segments, escapes = _segments(text)
    return {
        "lines": _lines(text),
        "chars": len(text),
        "segments": segments,
        "cut": cut,
        "escapes": escapes,
    }


def _segments(text: str) -> tuple[list[JsonValue], int]:
    segments: list[JsonValue] = []
    escapes = at = 0
    for found in _UNSEEN.finditer(text):
        if found.start() > at:
            segments.append(text[at : found.start()])
        at = found.end()
        if found["esc"]:
            escapes += 1
            segments.append({"esc": f"U+{ord(found[0]):04X}"})
        else:
            segments.append({"blanks": len(found[0])})
    if at < len(text):
        segments.append(text[at:])
    return segments, escapes


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def visible(text: str) -> str:
    """`text` with what cannot be seen written as `⟦U+202E⟧` and `⟦400 spaces⟧`."""
    return _UNSEEN.sub(_escape, text.replace("\r\n", "\n"))


def flat(text: str) -> str:
    """`text` on one line: line ends written as ⏎, what cannot be seen written out."""
    return visible(_ENDS.sub("⏎", text))


def named(name: str) -> str:
    """A name that a model may have made up, so that it passes for nothing else.

    What is no plain word stands in quotes; of a long one the beginning is shown.
    """
    plain = not name or _PLAIN_NAME.fullmatch(name)
    return titled(name) if plain else dumps(titled(name), ensure_ascii=False)


def titled(name: str) -> str:
    """A name of several words on one line; of a long one the beginning is shown."""
    shown = flat(name)
    if len(shown) <= _LONGEST_NAME:
        return shown
    return f"{shown[:_LONGEST_NAME].rstrip()}…"


def unturned(text: str) -> str:
    """`text` with what turns the direction of the rest written as `⟦U+202E⟧`."""
    return _TURNS.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", text)


def _escape(found: re.Match[str]) -> str:
    if found["esc"]:
        return f"⟦U+{ord(found[0]):04X}⟧"
    return say("blanks", {"n": len(found[0])})


def one_line(value: JsonValue) -> str:
    """A value on one line: long text as its beginning and how much there is."""
    if not isinstance(value, str):
        return visible(_shortened(dumps(value, ensure_ascii=False)))
    first, _, _ = value.partition("\n")
    if _lines(value) > 1:
        return _opening(first[:_PREVIEW], "lines_in_all", _lines(value))
    if len(first) > _PREVIEW:
        return _opening(first[:_LINE], "chars_in_all", len(value))
    return visible(dumps(value, ensure_ascii=False))


def _opening(text: str, key: str, number: int) -> str:
    quoted = dumps(text.rstrip(), ensure_ascii=False)[:-1]
    return f'{visible(quoted)} …" {say(key, {"n": number})}'


def _shortened(text: str) -> str:
    return text if len(text) <= _PREVIEW else f"{text[: _LINE - 1]} …"


def preview(args: JsonValue) -> str:
    """A call's arguments as `key="value"`, at most 80 characters.

    Line ends are written as ⏎. What does not fit whole is cut and ends in an ellipsis;
    arguments that have no room at all leave one behind.
    """
    parts = _pieces(args)
    if not isinstance(args, dict):
        return "".join(map(_clipped, parts))
    room, whole = _PREVIEW - len(_LEFT_OUT), set[int]()
    for n, part in enumerate(parts):
        to_spare = len(_LEFT_OUT) if len(whole) + 1 == len(parts) else 0
        if len(part) <= room + to_spare:
            whole.add(n)
            room -= len(part) + 2
    shown: list[str] = []
    for n, part in enumerate(parts):
        if n in whole:
            shown.append(part)
        elif room >= _LEAST:
            shown.append(_cut_to(part, room))
            room -= len(shown[-1]) + 2
    return ", ".join(shown) + (_LEFT_OUT if len(shown) < len(parts) else "")


def fits(args: JsonValue) -> bool:
    """Whether `preview` shows the arguments whole."""
    return len(", ".join(_pieces(args))) <= _PREVIEW


def _pieces(args: JsonValue) -> list[str]:
    """Arguments one by one, as a line shows them; what is no mapping is one piece."""
    if isinstance(args, dict):
        return [_named_short(key, value) for key, value in args.items()]
    return [] if args is None else [_seen(_ENDS.sub("⏎", text_of(args)))]


def _cut_to(part: str, room: int) -> str:
    """The beginning of an argument, its quote closed where that is text."""
    end = '…"' if _QUOTED.match(part) else "…"
    kept = part[: max(room - len(end), 1)]
    if kept.rfind("⟦") > kept.rfind("⟧"):
        kept = kept[: kept.rfind("⟦")]
    return f"{kept.rstrip()}{end}"


def _named_short(key: str, value: JsonValue) -> str:
    """`key="value"`, cut only where it is too long for a preview by far.

    The cut comes last: blanks that become a count must not hide what follows them.
    """
    shown = masked(key, value)
    if isinstance(shown, str):
        shown = _ENDS.sub("⏎", shown)
    compact = dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return f"{named(key)}={_seen(compact)}"


def _seen(text: str, enough: int = _PREVIEW * 2) -> str:
    """The beginning of a text as it is shown; a count of blanks in it is the whole."""
    size = enough * 8
    while size < len(text):
        shown = visible(text[:size])
        if len(shown) > enough * 2:
            return shown[:enough]
        size *= 8
    return visible(text)[:enough]


def _clipped(text: str) -> str:
    return text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1].rstrip()}…"


def masked(key: str, value: JsonValue, depth: int = 0) -> JsonValue:
    """`value` as the argument `key` may be shown: secrets masked at every depth."""
    if secret_name(key) and value not in (None, "", True, False):
        return MASK
    if depth > _NESTED_MASK:
        return MASK
    if isinstance(value, dict):
        return {k: masked(k, v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [masked("", item, depth + 1) for item in value]
    return value


def type_words(value: JsonValue) -> str:
    """What kind of value it is, in a word or two."""
    match value:
        case None:
            return say("type_null")
        case bool():
            return say("type_boolean")
        case int():
            return say("type_integer")
        case float():
            return say("type_number")
        case str():
            return say("type_text")
        case list():
            return say("type_list", {"n": len(value)})
        case dict():
            return say("type_object")


def args_of(args: JsonValue, schema: JsonValue = None) -> list[JsonValue]:
    """Arguments for the card: in schema order, defaults and strangers marked."""
    if not isinstance(args, dict):
        return [] if args is None else [arg_of("", args)]
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return [arg_of(key, value) for key, value in args.items()]
    known: list[JsonValue] = []
    for key, kind in properties.items():
        default = kind.get("default") if isinstance(kind, dict) else None
        if key in args:
            known.append(arg_of(key, args[key]))
        elif default is not None:
            known.append(arg_of(key, default, flag="default"))
    strange = [k for k in args if k not in properties]
    return known + [arg_of(key, args[key], flag="unknown") for key in strange]


def arg_of(key: str, value: JsonValue, *, flag: str | None = None) -> Json:
    """One argument for the card; a secret is never in it, a command is an argv."""
    items: list[JsonValue] | None = None
    if secret_name(key) and value not in (None, "", True, False):
        flag, value = "secret", say("secret_set")
    elif key in _COMMANDS and isinstance(value, list):
        flag = flag or "argv"
        value = masked("", value)
        items = [value_of(item) for item in value] if isinstance(value, list) else None
    else:
        value = masked(key, value)
    return {
        "key": named(key),
        "type": type_words(value),
        "value": value_of(value),
        "flag": flag,
        "items": items,
    }


def changes(before: JsonValue, after: JsonValue) -> list[JsonValue]:
    """What differs between two sets of arguments, line by line."""
    old = before if isinstance(before, dict) else {"": before}
    new = after if isinstance(after, dict) else {"": after}
    lines: list[JsonValue] = []
    for key in [*old, *(k for k in new if k not in old)]:
        if key in old and key in new and old[key] == new[key]:
            continue
        was = _named(key, old[key]) if key in old else ""
        now = _named(key, new[key]) if key in new else ""
        lines += text_diff(was, now)
    return lines


def _named(key: str, value: JsonValue) -> str:
    return f"{named(key)}: {text_of(masked(key, value))}" if key else text_of(value)


def text_diff(before: str, after: str) -> list[JsonValue]:
    """Two texts as lines that stayed, went and came, two of context round each."""
    old, new = visible(before).splitlines(), visible(after).splitlines()
    if len(old) + len(new) > _MOST_COMPARED:
        old, new = old[:_MOST_COMPARED], new[:_MOST_COMPARED]
        return [*_marked("-", old), *_marked("+", new)]
    lines: list[JsonValue] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(2):
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += _marked(" ", old[i:j])
            else:
                lines += [*_marked("-", old[i:j]), *_marked("+", new[k:m])]
    return lines


def _marked(op: str, lines: Sequence[str]) -> list[JsonValue]:
    return [{"op": op, "text": line} for line in lines]
