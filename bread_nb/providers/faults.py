"""What a service's answer means when it is no answer: one table for all dialects.

The service's own short message is kept, with every secret masked; the body is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from pydantic import JsonValue

from bread_nb.base.ids import now_ms
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.base.retry import LONGEST_ASKED, TRANSIENT_STATUS
from bread_nb.errors import ProviderError
from bread_nb.providers.transport import is_loopback

__all__ = [
    "body_fault",
    "broken_stream",
    "incomplete_stream",
    "moved",
    "retry_after",
    "service_message",
    "status_fault",
    "unreachable",
    "unsendable",
    "web_page",
]

_ANY = ("0.0.0.0", "::")  # what a server is told to listen at, used as its address
_LONGEST_MESSAGE = 200
_LONGEST_READ = 10_000
_REFUSED = (
    *("unsupported", "not supported", "not support", "deprecated", "no longer"),
    *("only the default", "only be set to", "only default", "default value"),
)
_OUT_OF_RANGE = (
    *("range", "between", "maximum", "minimum", "at most", "at least"),
    *("less than", "greater than", "<=", ">="),
)

_CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size_error|model_context_window_exceeded"
    r"|maximum context length|context window|prompt is too long|input is too long"
    r"|exceeds? the available context size|exceeds the context"
    r"|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_NO_QUOTA = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit"})
_RETRY_ANYWAY = frozenset({"tool_use_failed"})

_TYPES: dict[str, int] = {
    "invalid_request_error": 400,
    "invalid_request": 400,
    "exceed_context_size_error": 400,
    "tool_use_failed": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "insufficient_quota": 429,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_error": 500,
    "unavailable_error": 503,
    "timeout_error": 504,
    "overloaded_error": 529,
    # Bedrock's, in mid-stream
    "validationexception": 400,
    "accessdeniedexception": 403,
    "resourcenotfoundexception": 404,
    "throttlingexception": 429,
    "servicequotaexceededexception": 429,
    "internalserverexception": 500,
    "modelstreamerrorexception": 500,
    "serviceunavailableexception": 503,
    "modeltimeoutexception": 504,
}


def status_fault(
    service: str,
    status: int,
    message: str = "",
    *,
    kind: str = "",
    wait: float | None = None,
) -> ProviderError:
    """The error for an HTTP status.

    Args:
        service: Who answered, such as `anthropic`.
        status: The HTTP status, or the one that the error's type stands for.
        message: The service's own short message, secrets masked.
        kind: The type or code the service gave the error.
        wait: Seconds the service asked to wait.
    """
    code, what, do = _meaning(service, status, f"{kind} {message}")
    retryable = status in TRANSIENT_STATUS or status >= 500
    if kind in _NO_QUOTA:
        retryable, do = False, f"look at the plan and the bill at {service}"
    elif kind in _RETRY_ANYWAY:
        retryable, do = (
            True,
            "run again: the model wrote a call that its service refused",
        )
    if wait is not None and wait > LONGEST_ASKED:
        do = f"it asks for {wait / 60:,.0f} minutes: run again then, or another --model"
    why = f"HTTP {status}: {message}" if message else f"HTTP {status}."
    return ProviderError(
        what,
        status=status,
        retry_after=wait,
        code=code,
        why=why,
        do=do,
        retryable=retryable,
        context={"type": kind} if kind else None,
    )


def _meaning(service: str, status: int, evidence: str) -> tuple[str, str, str]:
    """Code, first sentence and next step for a status."""
    if status == 413 or (status in (400, 422, 500) and _CONTEXT.search(evidence)):
        return (
            "CONTEXT_EXCEEDED",
            f"The conversation is too long for {service}.",
            "start a new session, or give the agent less to read",
        )
    match status:
        case 401 | 403:
            return (
                "MODEL_AUTH",
                f"{service} refused the key.",
                f"check {variable(service, 'API_KEY')}, then run again",
            )
        case 404:
            return (
                "MODEL_NOT_FOUND",
                f"{service} does not know this model.",
                "check the model's name and the base_url",
            )
        case 429:
            return (
                "MODEL_RATE_LIMIT",
                f"{service} asks to slow down.",
                "wait a little and run again; the text so far is kept",
            )
        case 503 | 529:
            return (
                "MODEL_OVERLOADED",
                f"{service} is overloaded.",
                "run again later, or with another --model",
            )
        case 400 | 422:
            return (
                "BAD_REQUEST",
                f"{service} does not accept the request.",
                "change the settings or the model; the same request fails again",
            )
        case _:
            return (
                "MODEL_ERROR",
                f"{service} failed to answer.",
                "run again, or with another --model",
            )


def variable(service: str, name: str) -> str:
    """The environment variable of a provider, such as `OPENAI_API_KEY`."""
    return f"{re.sub(r'[^A-Z0-9]', '_', service.upper())}_{name}"


def body_fault(
    service: str,
    body: JsonValue,
    secrets: Iterable[str] = (),
    *,
    status: int | None = None,
    wait: float | None = None,
    expose: bool = False,
) -> ProviderError:
    """The error that a body stands for, or an event in mid-stream.

    Args:
        service: Who answered.
        body: The parsed body, None when it was not JSON.
        secrets: Values to mask beside those of the environment.
        status: The HTTP status; in mid-stream it is read off the error's type.
        wait: Seconds the service asked to wait.
        expose: Whether the body goes into the error's context, secrets masked.
    """
    if isinstance(body, list) and body:
        body = body[0]
    top = body if isinstance(body, dict) else {}
    inner = top.get("error")
    fields = inner if isinstance(inner, dict) else top
    kinds = [str(fields[k]) for k in ("code", "type", "status") if fields.get(k)]
    told = next(filter(None, map(_status, (fields.get("status_code"), *kinds))), 500)
    kind = next((k for k in kinds if not k.isdigit()), "")
    reason, delay = _details(fields.get("details"))
    if reason == "API_KEY_INVALID":
        status = 401
    message = _message(body, secrets)
    fault = status_fault(
        service,
        status or told,
        _short(message),
        kind=kind,
        wait=delay if wait is None else wait,
    )
    fault.context.update(
        {k: v for k, v in fields.items() if k in ("n_ctx", "n_prompt_tokens")}
    )
    if _refuses_temperature(message):
        fault.context["refused"] = "temperature"
    if expose:
        redactor = Redactor([*secrets, *environment_secrets()])
        fault.context["body"] = redactor.value(body)
    return fault


def _refuses_temperature(message: str) -> bool:
    """Whether a service says that it takes no temperature, or none but its own."""
    words = message[:_LONGEST_READ].lower()
    refused = "temperature" in words and any(map(words.__contains__, _REFUSED))
    return refused and not any(map(words.__contains__, _OUT_OF_RANGE))


def _details(details: JsonValue) -> tuple[JsonValue, float | None]:
    """What Google's services tell beside an error: a reason, and seconds to wait."""
    reason: JsonValue = None
    delay: float | None = None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict):
            reason = detail.get("reason") or reason
            if isinstance(wait := detail.get("retryDelay"), str):
                delay = _seconds(wait.removesuffix("s"))
    return reason, delay


def _status(value: JsonValue) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 400 <= value < 600 else None
    text = str(value)
    if text.isdigit():
        return _status(int(text))
    return _TYPES.get(text.lower())


def service_message(body: JsonValue, secrets: Iterable[str] = ()) -> str:
    """The service's own short message in an error body, secrets masked.

    Args:
        body: The parsed body; its `error`, `message` or `detail`, one in the other.
        secrets: Values to mask beside those of the environment.
    """
    return _short(_message(body, secrets))


def _message(body: JsonValue, secrets: Iterable[str]) -> str:
    found: JsonValue = body
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    if not isinstance(found, str):
        return ""
    line = " ".join(found.split())
    return Redactor([*secrets, *environment_secrets()]).text(line)


def _short(message: str) -> str:
    longer = len(message) > _LONGEST_MESSAGE
    return f"{message[: _LONGEST_MESSAGE - 1]}…" if longer else message


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the service asks to wait, from `retry-after-ms` or `retry-after`."""
    if (milliseconds := _seconds(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    if (seconds := _seconds(value)) is not None:
        return seconds
    try:
        when = parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError):
        return None
    return max(0.0, when - now_ms() / 1000)


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


def unreachable(
    service: str, host: str, why: str, *, url: str = "", streams: bool = True
) -> ProviderError:
    """The error for a service that gave no answer at all.

    Args:
        service: Who was asked, such as `ollama`.
        host: Where, for a person to read.
        why: What is known of it.
        url: The address that was asked.
        streams: Whether it was asked for an answer, of which there may be some.
    """
    do = "check the network, then run again"
    if is_loopback(host) or host in _ANY:
        do = _start(service, host, url)
    return ProviderError(
        f"{host} did not answer.",
        code="MODEL_UNREACHABLE",
        why=why,
        do=f"{do}. The text so far is kept" if streams else do,
        retryable=True,
    )


def _start(service: str, host: str, url: str) -> str:
    """What to do where a server of this machine does not answer."""
    place = variable(service, "BASE_URL")
    if service == "ollama":
        return f"start Ollama: ollama serve; or set {place} to where it runs"
    at = urlsplit(url).netloc.rpartition("@")[2] or host
    return f"is it running? Start the server at {at}, or set base_url or {place}"


def unsendable(service: str, why: str = "", do: str = "") -> ProviderError:
    """The error for a request that HTTP has no way to send."""
    return ProviderError(
        f"The request to {service} cannot be sent.",
        code="BAD_REQUEST",
        why=why or "its base_url or its key holds something that HTTP does not allow.",
        do=do or "check base_url and the key for blanks and line ends",
    )


def moved(service: str, status: int, location: str) -> ProviderError:
    """The error for a redirect: it is not followed, since the key would go along."""
    try:
        parts = urlsplit(location)
        there = f"{parts.scheme}://{parts.hostname}" if parts.hostname else ""
    except ValueError:
        there = ""
    return ProviderError(
        f"{service} is at another address.",
        status=status,
        code="MODEL_ERROR",
        why=f"HTTP {status}{f': it points to {there}' if there else ''}.",
        do="check base_url: its scheme, its host and its path",
    )


def web_page(host: str) -> ProviderError:
    """The error for a page where a model's answer belongs."""
    return ProviderError(
        f"{host} answered with a web page.",
        code="MODEL_ERROR",
        why="it is no service of models at this address, or the network wants a login.",
        do="check base_url: its path is often /v1. Then the network's own login page",
    )


def incomplete_stream(host: str, why: str) -> ProviderError:
    """The error for a stream that ended before its final event."""
    return ProviderError(
        f"The answer of {host} stopped in the middle.",
        code="STREAM_INCOMPLETE",
        why=why,
        do="run again; the text so far is kept",
        retryable=True,
    )


def broken_stream(host: str, why: str) -> ProviderError:
    """The error for a line of the stream that cannot be read."""
    return ProviderError(
        f"The answer of {host} cannot be read.",
        code="STREAM_BROKEN",
        why=why,
        do="run again; the text so far is kept",
        retryable=True,
    )
