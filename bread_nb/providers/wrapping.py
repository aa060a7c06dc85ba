"""What the wrappers round a model share: whom they ask, and what they leave alone."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TypeAlias

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.errors import BreadError, Halt, words_of
from bread_nb.providers.model import ChatModel, Delta, Model, ModelRequest, closing

__all__ = ["Source", "refused", "streamed", "tell_fault", "untouched"]

Source: TypeAlias = str | Model | ChatModel

_LOG = logging.getLogger("bread_nb")
_WRONG = frozenset(
    {
        "CASSETTE_BROKEN",
        "CASSETTE_UNNAMED",
        "CASSETTE_UNWRITABLE",
        "INVALID_AGENT",
        "INVALID_INPUT",
        "INVALID_MODEL",
        "INVALID_SCHEMA",
        "INVALID_SETTING",
        "REPLAY_MISS",
        "UNKNOWN_PROVIDER",
    }
)


async def streamed(
    model: ChatModel, request: ModelRequest
) -> AsyncGenerator[Delta, None]:
    """What a model streams; whatever it raises is a `BreadError`."""
    model_id = model.name.partition(":")[2] or model.name
    try:
        async with closing(model.stream(replace(request, model=model_id))) as deltas:
            async for delta in deltas:
                yield delta
    except BreadError:
        raise
    except Exception as error:
        secrets = Redactor(environment_secrets())
        raise BreadError(
            f"{model.name} raised {type(error).__name__}.",
            why=secrets.text(words_of(error)),
            do="look at the code of this model",
        ) from error


def untouched(error: BreadError) -> bool:
    """Whether asking again, or asking another model, is out of the question."""
    return isinstance(error, Halt) or error.acted or error.code in _WRONG


def tell_fault(request: ModelRequest, error: Exception, source: str) -> None:
    """Tell whoever asks of what a callback raised; without anybody it is logged."""
    if request.fault is not None:
        request.fault(error, source)
    else:
        _LOG.warning("%s failed: %s", source, type(error).__name__)


def refused(what: str, why: str, do: str) -> BreadError:
    """The error for a wrapper that cannot be made."""
    return BreadError(f"{what} is no model.", code="INVALID_MODEL", why=why, do=do)
