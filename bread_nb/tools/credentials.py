"""Scoped secrets: a tool sees only the names it declared."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from bread_nb.errors import BreadError

__all__ = ["CredentialSource", "Credentials", "gather_credentials"]

CredentialSource = Callable[[str], "str | Awaitable[str | None] | None"]


class Credentials(Mapping[str, str]):
    """The secrets of one call, by name.

    Raises (on access):
        BreadError: `CREDENTIAL_NOT_DECLARED` for a name the tool did not declare,
            `CREDENTIAL_MISSING` for a declared one that nobody has.
    """

    def __init__(self, values: Mapping[str, str | None]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            raise BreadError(
                f"The tool did not declare the credential {name!r}.",
                code="CREDENTIAL_NOT_DECLARED",
                why=f"it declared {', '.join(self._values) or 'none'}.",
                do=f"tool(..., credentials=[{name!r}])",
                context={"name": name, "allowed": list(self._values)},
            )
        value = self._values[name]
        if value is None:
            raise BreadError(
                f"There is no credential {name!r}.",
                code="CREDENTIAL_MISSING",
                why="neither the credential source nor the environment has it.",
                do=f"export {name}=... and restart",
                context={"name": name},
            )
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def known(self) -> list[str]:
        """The values there are, for masking."""
        return [value for value in self._values.values() if value]

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self._values)})"


async def gather_credentials(
    names: Sequence[str], sources: Sequence[CredentialSource]
) -> Credentials:
    """Ask each source in turn, then the environment, for each declared name."""
    values: dict[str, str | None] = {}
    for name in names:
        values[name] = await _first(name, sources)
    return Credentials(values)


async def _first(name: str, sources: Sequence[CredentialSource]) -> str | None:
    for source in sources:
        value = source(name)
        if inspect.isawaitable(value):
            value = await value
        if value is not None:
            return value
    return os.environ.get(name)
