"""Grammars that keep a small model to the point.

They are written in llama.cpp's own notation. A grammar for sentences lets a text end
where a sentence ends; a limit in characters would cut it in the middle of a word.
"""

from __future__ import annotations

import re

from pydantic import JsonValue

from bread_nb.base.wire import dumps

__all__ = ["arguments_grammar", "fields_of", "long_text", "resolved", "sentences"]

_SENTENCE = 's ::= [A-Z] [A-Za-z0-9 \',-]{20,200} "."'
_CHARACTERS = (
    r'c ::= [^"\\\x7F\x00-\x1F] | "\\" ["\\nt]',
    "e ::= [A-Za-z0-9?!]",
)
_NUMBERS = (
    'i ::= "-"? [0-9]{1,12}',
    'n ::= i ("." [0-9]{1,6})?',
    'b ::= "true" | "false"',
)
_COUNTS = {"one_sentence": 1, "two_sentences": 2, "three_sentences": 3}
_SHORT = 80
_TITLE = 60
_MOST_WORDS = 80
_QUOTED = re.compile(
    r"""\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|(?<!\w)'([^']+)'(?!\w)"""
)
_LONG = 200
_LONG_NAMES = ("body", "content", "draft", "message", "paragraph", "summary")


def sentences(name: str) -> str | None:
    """The grammar of `one_sentence`, `two_sentences` or `three_sentences`."""
    if name not in _COUNTS:
        return None
    root = ' " " '.join(["s"] * _COUNTS[name])
    return f"root ::= {root}\n{_SENTENCE}"


def resolved(schema: JsonValue, top: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A property's schema with its reference followed and its null left out."""
    found = schema if isinstance(schema, dict) else {}
    reference = found.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        defined = top.get("$defs")
        if isinstance(defined, dict):
            other = defined.get(reference.removeprefix("#/$defs/"))
            found = {**(other if isinstance(other, dict) else {}), **found}
            del found["$ref"]
    options = found.get("anyOf")
    if isinstance(options, list):
        for option in options:
            if option != {"type": "null"}:
                return {**found, **resolved(option, top)}
    return found


def fields_of(schema: dict[str, JsonValue]) -> dict[str, dict[str, JsonValue]]:
    """The properties a small model is asked for: the required ones, or else all."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    required = schema.get("required")
    names = list(map(str, required)) if isinstance(required, list) else []
    return {
        name: resolved(value, schema)
        for name, value in properties.items()
        if name in names or not names
    }


def long_text(name: str, field: dict[str, JsonValue]) -> bool:
    """Whether a field holds a text of sentences and not a word or a title."""
    if field.get("type") != "string" or "enum" in field:
        return False
    limit = field.get("maxLength")
    return name in _LONG_NAMES or (isinstance(limit, int) and limit >= _LONG)


def arguments_grammar(schema: dict[str, JsonValue], question: str) -> str | None:
    """The grammar of a flat object, None when the schema is not flat.

    Numbers and free texts are taken out of the question where it has them; a title
    beside a long text is the model's own.
    """
    fields = fields_of(schema)
    own = any(long_text(name, field) for name, field in fields.items())
    taken = Taken(question)
    pairs: list[str] = []
    for number, (name, field) in enumerate(fields.items()):
        rule = _value(name, field, taken, own=own)
        if rule is None:
            return None
        taken.rules.append(f"v{number} ::= {rule}")
        pairs.append(f"{_literal(dumps(name) + ':')} v{number}")
    inner = ' "," '.join(pairs)
    root = f'root ::= "{{" {inner} "}}"'
    return "\n".join([root, *taken.rules, _SENTENCE, *_CHARACTERS, *_NUMBERS])


def _value(
    name: str, field: dict[str, JsonValue], taken: Taken, *, own: bool
) -> str | None:
    """The rule for one value."""
    options = [field["const"]] if "const" in field else field.get("enum")
    if isinstance(options, list):
        return " | ".join(_literal(dumps(option)) for option in options)
    match field.get("type"):
        case "string" if long_text(name, field):
            return r'"\"" s " " s "\""'
        case "string" if own:
            return rf'"\"" c{{1,{_TITLE}}} e "\""'
        case "string":
            return taken.text() or rf'"\"" c{{1,{_SHORT}}} "\""'
        case "integer":
            return taken.number(r"-?\d+") or "i"
        case "number":
            return taken.number(r"-?\d+(?:\.\d+)?") or "n"
        case "boolean":
            return "b"
        case _:
            return None


class Taken:
    """Values that a question holds, as rules of a grammar.

    Args:
        question: What the user asked.
    """

    def __init__(self, question: str) -> None:
        self.rules: list[str] = []
        self._question = question
        self._words = question.split()[:_MOST_WORDS]
        self._chained = False

    def number(self, pattern: str) -> str | None:
        """The numbers of the question as a choice."""
        found = dict.fromkeys(
            re.findall(rf"(?<![\w.]){pattern}(?![\w.]\d)", self._question)
        )
        return " | ".join(map(_literal, found)) or None

    def text(self) -> str | None:
        """What the question quotes, or else any stretch of its words."""
        quoted = [q for pair in _QUOTED.findall(self._question) for q in pair if q]
        if quoted:
            return " | ".join(_literal(dumps(text)) for text in quoted)
        if not self._words:
            return None
        if not self._chained:
            self._chained = True
            self._chain()
        starts = " | ".join(f"w{n}" for n in range(len(self._words)))
        return rf'"\"" ({starts}) "\""'

    def _chain(self) -> None:
        """A rule for each word: it alone, or with the words that follow it."""
        last = len(self._words) - 1
        for number, word in enumerate(self._words):
            bare = word.rstrip(".,;:!?)") or word
            ends = dict.fromkeys((bare, word))
            parts = [_literal(_inside(end)) for end in ends]
            if number < last:
                parts.append(f"{_literal(_inside(word) + ' ')} w{number + 1}")
            self.rules.append(f"w{number} ::= {' | '.join(parts)}")


def _inside(text: str) -> str:
    """A text as it stands between the quotes of a JSON string."""
    return dumps(text)[1:-1]


def _literal(text: str) -> str:
    """A text as the grammar writes it."""
    return dumps(text)
