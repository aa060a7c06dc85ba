"""Messages as bytes, each encoded once and joined for every request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from bread_nb.base.media import held_in
from bread_nb.base.wire import dumps
from bread_nb.errors import BreadError
from bread_nb.messages import File, Message, Part, Text, ToolResult
from bread_nb.providers.lines import whole

__all__ = [
    "IMAGES",
    "PDF",
    "beside",
    "body",
    "empty_request",
    "encode",
    "file_words",
    "held",
    "keep_encoded",
    "kind_of",
    "offered",
    "pictures_again",
    "readable",
    "result_words",
    "turns",
]

_NO_OUTPUT = "(no output)"
_AGAIN = "The picture you made:"
_TEXTS = frozenset(
    {
        *("application/json", "application/xml", "application/yaml"),
        *("application/toml", "application/sql", "application/javascript"),
    }
)

# What all services that see images take.
IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
PDF = "application/pdf"


def encode(value: JsonValue) -> bytes:
    """Compact JSON in UTF-8; a lone half of a character becomes U+FFFD."""
    text = dumps(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole(text).encode()


def body(
    fields: Mapping[str, JsonValue],
    messages: Iterable[bytes],
    *,
    name: str = "messages",
) -> bytes:
    """A request body: its fields, then `messages`, which are encoded already.

    A field that is None is left out. `name` is what the service calls the messages.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    head = encode(cast("JsonValue", given))[:-1]
    return b'%s,"%s":[%s]}' % (head, name.encode(), b",".join(messages))


def keep_encoded(
    message: Message,
    key: str,
    blobs: Mapping[str, bytes],
    make: Callable[[Message, Mapping[str, bytes]], Iterable[JsonValue]],
) -> bytes:
    """A message as JSON values joined by commas, made once under `key`.

    A message with files is made anew each time: a session's messages stay in memory,
    the bytes of their files do not.
    """
    kept = message.encoded.get(key)
    if kept is None:
        kept = b",".join(map(encode, make(message, blobs)))
        if not message.files:
            message.encoded[key] = kept
    return kept


def held(file: File, blobs: Mapping[str, bytes]) -> bytes | None:
    """The bytes of a file: those at hand, or those its address holds."""
    data = blobs.get(file.uri)
    if data is None and (found := held_in(file.uri)):
        data = found[0]
    return data


def kind_of(file: File) -> str:
    """The mime type of a file, without parameters and as services spell it."""
    kind = file.mime_type.partition(";")[0].strip().lower()
    return "image/jpeg" if kind == "image/jpg" else kind


def offered(settings: Mapping[str, JsonValue]) -> list[JsonValue]:
    """The tools of the service itself that settings ask for."""
    tools = settings.get("tools")
    return tools if isinstance(tools, list) else []


def pictures_again(
    messages: Sequence[Message],
    blobs: Mapping[str, bytes],
    own: Callable[[Message], bool] = lambda _: False,
) -> Sequence[Message]:
    """A conversation with the pictures of answers shown by whoever comes after them.

    In an answer most services take no picture, so that it stands there by its name.

    Args:
        messages: The conversation.
        blobs: The bytes at hand; without any nothing changes.
        own: Whether the pictures of an answer go back in it as they came.
    """
    if not blobs:
        return messages
    out: list[Message] = []
    made: list[Part] = []
    for message in messages:
        if message.role == "assistant":
            seen = [f for f in message.files if _is_picture(f, blobs)]
            made += [] if own(message) else seen
        if message.role == "assistant" or not made:
            out.append(message)
            continue
        again = (Text(_AGAIN), *made)
        late = message.role == "tool"
        parts = (*message.parts, *again) if late else (*again, *message.parts)
        out.append(Message(message.role, parts))
        made = []
    return out


def _is_picture(file: File, blobs: Mapping[str, bytes]) -> bool:
    return kind_of(file) in IMAGES and held(file, blobs) is not None


def beside(message: Message) -> tuple[Part, ...]:
    """What is shown beside the results of a message: their files, and pictures."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    shown = [file for result in results for file in result.files]
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    return (*shown, *rest)


def turns(
    messages: Iterable[Message], encoded: Callable[[Message], bytes], opening: bytes
) -> Iterator[tuple[str, bytes]]:
    """Messages as turns of `user` and `assistant` that alternate, the user's first.

    Args:
        messages: The conversation.
        encoded: A message's parts joined by commas; empty when it says nothing.
        opening: The user's first turn where the conversation begins with an answer.
    """
    role, said = "user", list[bytes]()
    for message in messages:
        speaker = "assistant" if message.role == "assistant" else "user"
        parts = encoded(message)
        if not parts:
            continue
        if speaker != role:
            yield role, b",".join(said or [opening])
            role, said = speaker, []
        said.append(parts)
    if said:
        yield role, b",".join(said)


def result_words(result: ToolResult, *, marked: bool = False) -> str:
    """What the model reads of a result; never blank.

    With `marked` a failure says that it is one, for a service that has no field for it.
    """
    text = result.text
    if not text.strip():
        text = _NO_OUTPUT
    if marked and result.failed and not text.lower().startswith("error"):
        text = f"Error: {text}"
    return text


def file_words(file: File) -> str:
    """A file as words, for a dialect that does not send the file itself."""
    named = file.name or ("" if file.uri.startswith("data:") else file.uri)
    return f"[file {named} ({file.mime_type})]".replace("  ", " ")


def readable(file: File, data: bytes | None) -> str:
    """A file as words: its text under its name, or the name alone."""
    if data is None or not _is_text(kind_of(file)):
        return file_words(file)
    try:
        return f"{file_words(file)}\n{data.decode()}"
    except UnicodeDecodeError:
        return file_words(file)


def _is_text(kind: str) -> bool:
    textual = kind.startswith("text/") or kind.endswith(("+json", "+xml"))
    return textual or kind in _TEXTS


def empty_request(service: str) -> BreadError:
    """The error for a conversation without a single word in it."""
    return BreadError(
        f"There is nothing to send to {service}.",
        code="INVALID_INPUT",
        why="no message of the request has any text.",
        do="write something, then run again",
    )
