"""The options of a command-line program that is used as a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from bread_nb.errors import BreadError
from bread_nb.providers.command import environment, secrets_of
from bread_nb.providers.envelope import claude_json
from bread_nb.providers.one_shot import OneShot, Parse

__all__ = ["CliOptions", "Limits", "ToolProtocol", "missing_flags"]

ToolProtocol: TypeAlias = Literal["claude", "claude-mcp"]

_SYSTEM = "--system-prompt"
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a session; infinity is none.

    Args:
        turns: Messages of the model.
        seconds: The whole session.
        call_seconds: One call, from the program's question to its answer.
    """

    turns: float
    seconds: float
    call_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CliOptions:
    """What a `CliPipe` was told, checked.

    Raises:
        BreadError: `INVALID_SETTING` for an option that makes no sense.
    """

    system_prompt_flag: str | None = None
    timeout: float = 30.0
    parse: str | Parse | None = None
    tool_protocol: str | None = None
    max_turns: int | None = None
    session_timeout: float = 600.0
    bridge_timeout: float = 120.0
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    pass_env: Sequence[str] = ()
    cwd: str | Path | None = None

    def __post_init__(self) -> None:
        for name in ("timeout", "session_timeout", "bridge_timeout"):
            _check_seconds(name, getattr(self, name))
        if not callable(self.parse):
            _check_choice("parse", self.parse, ("claude-json",))
        _check_choice("tool_protocol", self.tool_protocol, get_args(ToolProtocol))
        _check_turns(self.max_turns)

    @property
    def one_shot(self) -> OneShot:
        """How the program is started for one answer."""
        parse = self.parse if callable(self.parse) else None
        if parse is None and (self.parse or self.tool_protocol == "claude"):
            parse = claude_json
        return OneShot(
            timeout=self.timeout or math.inf, parse=parse, secrets=self.secrets
        )

    def limits(self, turns_left: int | None) -> Limits:
        """The bounds of a session of a run that has so many turns left."""
        given = (self.max_turns, turns_left)
        return Limits(
            turns=min((n for n in given if n is not None), default=math.inf),
            seconds=self.session_timeout or math.inf,
            call_seconds=self.bridge_timeout or math.inf,
        )

    @property
    def flag(self) -> str | None:
        """The option that takes the system prompt."""
        return self.system_prompt_flag or (_SYSTEM if self.tool_protocol else None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that were given to the program here."""
        return secrets_of(self.env)

    def environment(self) -> dict[str, str]:
        """The environment of the program."""
        waits: dict[str, str] = {}
        if self.tool_protocol == "claude-mcp":
            seconds = min(self.session_timeout or _DAY, _DAY)
            waits["MCP_TOOL_TIMEOUT"] = str(int(seconds * 1000))
        return environment(self.pass_env, {**waits, **self.env})


def missing_flags(flags: Sequence[str], given: Sequence[str]) -> list[str]:
    """The flags that are not given already, with their values."""
    out: list[str] = []
    missing = True
    for word in flags:
        if word.startswith("--"):
            missing = word not in given
        if missing:
            out.append(word)
    return out


def _check_choice(name: str, value: object, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise _invalid(name, value, f"it is one of {', '.join(known)}, or left out.")


def _check_turns(value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _invalid("max_turns", value, "it is a whole number of messages.")


def _check_seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise _invalid(name, value, "it is a number of seconds; 0 is off.")


def _invalid(name: str, value: object, why: str) -> BreadError:
    return BreadError(
        f"{name} cannot be {value!r}.",
        code="INVALID_SETTING",
        why=why,
        do="CliPipe(...) says what its options are: help(CliPipe)",
    )
