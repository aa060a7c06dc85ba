"""Examples that show a small model what to write: a few turns before the real one.

They come from the tool's own schema: its `examples` where it has some, else the names
of its enum or a few plain values. Names are listed once forwards and once backwards,
since a small model copies what it saw last.
"""

from __future__ import annotations

import re
from typing import cast

from pydantic import JsonValue

from bread_nb.base.wire import dumps
from bread_nb.messages import ToolResult, ToolSpec
from bread_nb.providers.grammar import fields_of, long_text

__all__ = ["Shot", "argument_shots", "closing", "words_of"]

Shot = tuple[str, str]

_MOST = 10
_LONGEST_RESULT = 300
_SCOPE = re.compile(r"^(?:tool|human|task|core|plugin|skill)_")
_TOPICS = (
    ("Rye bread", "Rye bread is dark and dense. It stays fresh for many days."),
    ("Morning walks", "A walk in the morning wakes the body. It costs only time."),
    ("Clean tools", "Clean tools last for years. They are also safer to use."),
)
_TEXTS = ("The oven is warm.", "We bake two loaves every day.", "Salt")
_WHOLE = (3, 12, 7)
_PARTS = (2.5, 12, 0.75)
_ASKED = (
    "What is the {what} of {value}?",
    "Give me the {what} for {value}.",
    "{what}: {value}",
    "I need the {what} of {value}.",
)
# Each set of closing examples is of one outcome: mixed sets are mixed up.
_NUMBER: tuple[Shot, ...] = (
    (
        "What is the average price?\nTool result: average = 31.5",
        "The average price is 31.5.",
    ),
    (
        'How many letters are in "bread"?\nTool result: letter count = 5',
        'There are 5 letters in "bread".',
    ),
    ("Total weight, please.\nTool result: sum = 1240", "The total weight is 1240."),
)
_FACTS: tuple[Shot, ...] = (
    (
        "What is the weather in Oslo?\nTool result: sky = cloudy, celsius = 4",
        "The weather in Oslo is cloudy, with 4 celsius.",
    ),
    (
        "Tell me about the rye loaf.\nTool result: grams = 900, price = 5.5",
        "The rye loaf has 900 grams and a price of 5.5.",
    ),
    (
        "Who is on duty?\nTool result: name = Ada, until = noon",
        "Ada is on duty until noon.",
    ),
)
_STATUS: tuple[Shot, ...] = (
    (
        "Save the note about rye.\nTool result: save = saved",
        "The note about rye is saved.",
    ),
    ("Send the letter to Ada.\nTool result: send = sent", "The letter to Ada is sent."),
    (
        "Delete the old file.\nTool result: delete = deleted",
        "The old file is deleted.",
    ),
)
_WORDS: tuple[Shot, ...] = (
    ("Save the note about rye.\nTool result: saved", "The result is: saved."),
    (
        "Find the recipe for rye.\nTool result: page 3 of rye.md",
        "The result is: page 3 of rye.md.",
    ),
    ("What color is the door?\nTool result: blue", "The result is: blue."),
)
_FAILED: tuple[Shot, ...] = (
    (
        "Save the note about rye.\nTool failed: denied: too long",
        "It was not done: denied: too long.",
    ),
    (
        "Find the recipe for rye.\nTool failed: no such recipe",
        "It was not done: no such recipe.",
    ),
    (
        "Send the letter.\nTool failed: denied by you",
        "It was not done: denied by you.",
    ),
)


def words_of(tool: str) -> str:
    """A tool's name as words, without its scope."""
    return _SCOPE.sub("", tool).replace("_", " ").strip() or tool


def argument_shots(tool: ToolSpec) -> list[Shot]:
    """Questions, and the arguments that answer them, as JSON text."""
    values = _given(tool) or _made(fields_of(tool.parameters))
    what = words_of(tool.name)
    order = values if len(values) > _MOST // 2 else [*values, *reversed(values)]
    return [
        (_question(what, args, tool, number), dumps(args))
        for number, args in enumerate(order[:_MOST])
    ]


def _given(tool: ToolSpec) -> list[dict[str, JsonValue]]:
    """The examples of the schema itself, which are whole arguments."""
    examples = tool.parameters.get("examples")
    listed = examples if isinstance(examples, list) else []
    names = fields_of(tool.parameters)
    return [
        {name: example[name] for name in names if name in example}
        for example in listed
        if isinstance(example, dict)
    ]


def _made(fields: dict[str, dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    """Arguments made of each field's own values, side by side.

    A title stays beside its text; other fields differ from each other.
    """
    columns = {name: _values(name, field, fields) for name, field in fields.items()}
    if not all(columns.values()):
        return []
    longest = max(map(len, columns.values()), default=0)
    titled = any(long_text(name, field) for name, field in fields.items())
    return [
        {
            name: column[(row + (0 if titled else shift)) % len(column)]
            for shift, (name, column) in enumerate(columns.items())
        }
        for row in range(min(longest, _MOST // 2))
    ]


def _values(
    name: str, field: dict[str, JsonValue], fields: dict[str, dict[str, JsonValue]]
) -> list[JsonValue]:
    for key in ("examples", "enum"):
        listed = field.get(key)
        if isinstance(listed, list) and listed:
            return listed
    if "const" in field:
        return [field["const"]]
    match field.get("type"):
        case "string" if long_text(name, field):
            return [text for _, text in _TOPICS]
        case "string" if any(long_text(n, f) for n, f in fields.items()):
            return [title for title, _ in _TOPICS]
        case "string":
            return list(_TEXTS)
        case "integer":
            return list(_WHOLE)
        case "number":
            return list(_PARTS)
        case "boolean":
            return [True, False]
        case _:
            return []


def _question(
    what: str, args: dict[str, JsonValue], tool: ToolSpec, number: int
) -> str:
    """Words that ask for these arguments, another wording each time."""
    fields = fields_of(tool.parameters)
    titles = [
        str(value) for name, value in args.items() if not long_text(name, fields[name])
    ]
    if len(titles) < len(args):
        topic = (titles or ["something"])[0]
        return f"{what.capitalize()} something about {topic.lower()}."
    shown = {name: _shown(name, value, fields) for name, value in args.items()}
    if len(shown) == 1:
        value = "".join(shown.values())
    else:
        value = " and ".join(f"{name} {text}" for name, text in shown.items())
    text = _ASKED[number % len(_ASKED)].format(what=what, value=value)
    return text[:1].upper() + text[1:]


def _shown(name: str, value: JsonValue, fields: dict[str, dict[str, JsonValue]]) -> str:
    """A value as a person would write it: free text in quotes."""
    free = isinstance(value, str) and "enum" not in fields.get(name, {})
    return f'"{value}"' if free else str(value)


def closing(question: str, results: list[ToolResult]) -> list[Shot]:
    """A question with its results, after examples of the outcome that happened.

    The last pair is the real one, its sentence still to be written.
    """
    told = "; ".join(map(_told, results))
    values = "; ".join(" ".join(result.text.split()) for result in results)
    contents = [result.content for result in results]
    if any(result.failed for result in results):
        shots, line = _FAILED, f"Tool failed: {values}"
    elif all(re.fullmatch(r"-?\d[\d.,]*", result.text) for result in results):
        shots, line = _NUMBER, f"Tool result: {told}"
    elif any(isinstance(content, dict) for content in contents):
        shots, line = _FACTS, f"Tool result: {told}"
    elif re.fullmatch(r"[a-z]+", values):
        shots, line = _STATUS, f"Tool result: {told}"
    else:
        shots, line = _WORDS, f"Tool result: {values}"
    if len(line) > _LONGEST_RESULT:
        line = f"{line[:_LONGEST_RESULT]}…"
    return [*shots, (f"{question}\n{line}", "")]


def _told(result: ToolResult) -> str:
    """A result as `name = value`, or its own names and values."""
    if isinstance(result.content, dict):
        pairs = cast("dict[str, JsonValue]", result.content).items()
        return ", ".join(f"{name} = {value}" for name, value in pairs)
    return f"{words_of(result.name)} = {' '.join(result.text.split())}"
