"""A temperature that a model refuses is left out, and the answer says so.

Newer models take none but their own. What the service says decides, never a list of
models; a temperature out of range is the caller's mistake and stays an error.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from pydantic import JsonValue

from bread_nb.errors import ProviderError
from bread_nb.providers.model import Delta, Finish, closing

__all__ = ["Temperature"]

_LOG = logging.getLogger("bread_nb")
_BAD_REQUEST = 400

Settings: TypeAlias = Mapping[str, JsonValue]
Ask: TypeAlias = Callable[[Settings], AsyncIterator[Delta]]


class Temperature:
    """Whether one model takes a temperature, as far as its service has said.

    Args:
        name: The model as a person writes it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._refused = False

    def stream(self, settings: Settings, ask: Ask) -> AsyncIterator[Delta]:
        """What `ask` streams, asked once more without a temperature if that is refused.

        Args:
            settings: The settings of the call.
            ask: Asks the service with settings.
        """
        if settings.get("temperature") is None:
            return ask(settings)
        return self._watched(settings, ask)

    async def _watched(self, settings: Settings, ask: Ask) -> AsyncIterator[Delta]:
        if not self._refused:
            try:
                async with closing(ask(settings)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except ProviderError as error:
                if error.status != _BAD_REQUEST or not _refuses_it(error):
                    raise
            self._refused = True
            _LOG.warning(
                "%s takes no temperature: it is left out from now on.", self._name
            )
        less = {k: v for k, v in settings.items() if k != "temperature"}
        async with closing(ask(less)) as deltas:
            async for delta in deltas:
                ends = isinstance(delta, Finish)
                yield replace(delta, temperature_dropped=True) if ends else delta


def _refuses_it(error: ProviderError) -> bool:
    return error.context.get("refused") == "temperature"
