"""Allow, ask and deny lists of an agent, as one rule.

Resolution is (allow + ask) - deny: deny beats everything, ask beats allow, and an
empty allow list means all tools. Human tools are exempt. Source: the Agents document,
"Permissions".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from bread_nb.base.names import Origin, Selector, called
from bread_nb.errors import BreadError, Halt, named
from bread_nb.governance.verdict import Action, Allow, Ask, Deny

__all__ = ["AskWhen", "Permissions"]

AskWhen = Callable[[str, Mapping[str, JsonValue]], bool]


@dataclass(frozen=True)
class Permissions:
    """Which tools an agent may call, and which only after a person's consent.

    Args:
        allow: Selectors such as `tool:read_*`; empty means all tools.
        ask: Selectors, or functions `(tool, args) -> bool` asked at each call. One that
            raises denies the call, and so does one that gives None or another nothing.
        deny: Selectors; they win over both.

    Raises:
        BreadError: `INVALID_PERMISSION` for a selector that cannot be read.
    """

    allow: Sequence[str] = ()
    ask: Sequence[str | AskWhen] = ()
    deny: Sequence[str] = ()
    _allow: tuple[Selector, ...] = field(init=False, repr=False, compare=False)
    _ask: tuple[Selector, ...] = field(init=False, repr=False, compare=False)
    _ask_when: tuple[AskWhen, ...] = field(init=False, repr=False, compare=False)
    _deny: tuple[Selector, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("allow", "ask", "deny"):
            _check_list(name, getattr(self, name))
        named = [entry for entry in self.ask if isinstance(entry, str)]
        asked = tuple(entry for entry in self.ask if not isinstance(entry, str))
        object.__setattr__(self, "_allow", tuple(map(Selector.parse, self.allow)))
        object.__setattr__(self, "_ask", tuple(map(Selector.parse, named)))
        object.__setattr__(self, "_ask_when", asked)
        object.__setattr__(self, "_deny", tuple(map(Selector.parse, self.deny)))

    def __repr__(self) -> str:
        """The lists that are not empty; functions by their names."""
        told: list[str] = []
        for name in ("allow", "ask", "deny"):
            each: Sequence[object] = getattr(self, name)
            shown = [repr(e) if isinstance(e, str) else called(e) for e in each]
            if shown:
                told.append(f"{name}=[{', '.join(shown)}]")
        return f"Permissions({', '.join(told)})"

    def offers(self, origin: Origin) -> bool:
        """Whether the model is told of this tool at all."""
        if origin.scope == "human":
            return True
        if _first(self._deny, origin):
            return False
        if not self._allow:
            return True
        listed = _first(self._allow, origin) or _first(self._ask, origin)
        return bool(listed or self._ask_when)

    def judge(self, action: Action) -> Allow | Ask | Deny:
        """What the lists say of one call.

        Raises:
            Halt: When a function that asks ends the run.
        """
        if action.origin.scope == "human":
            return Allow("human tool")
        if denied := _first(self._deny, action.origin):
            return _denied(action, denied)
        if asked := _first(self._ask, action.origin):
            return Ask(f"ask {asked.text}")
        if asked := self._asked_by_function(action):
            return asked
        if not self._allow:
            return Allow()
        if allowed := _first(self._allow, action.origin):
            return Allow(f"allow {allowed.text}")
        reason = f"{action.tool} is not among the tools this agent may use."
        return Deny("allow list", reason)

    def _asked_by_function(self, action: Action) -> Ask | Deny | None:
        """What the functions say; one that raises, or that says nothing, denies."""
        rule = f"ask {action.tool} (by a function)"
        for ask in self._ask_when:
            try:
                said: object = ask(action.tool, action.args)
                if said:
                    return Ask(rule)
                if not _is_false(said):
                    return Deny(rule, f"The function that decides gave {_told(said)}.")
            except Halt:
                raise
            except Exception as error:  # noqa: BLE001
                return Deny(rule, f"The function that decides failed: {named(error)}")
        return None


def _check_list(name: str, given: object) -> None:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BreadError(
            f"Permissions({name}=...) is a list of selectors.",
            code="INVALID_PERMISSION",
            why=f"{given!r} is no list.",
            do=f"Permissions({name}=[{given!r}])",
        )
    for entry in cast("Iterable[object]", given):
        if inspect.iscoroutinefunction(entry):
            raise BreadError(
                "A function under ask cannot be async.",
                code="INVALID_PERMISSION",
                why=f"{entry.__name__} would have to be awaited.",
                do="decide from (tool, args) at once: def asks(tool, args): ...",
            )
        if not isinstance(entry, str) and not (name == "ask" and callable(entry)):
            raise BreadError(
                f"Permissions({name}=...) cannot hold {entry!r}.",
                code="INVALID_PERMISSION",
                why="it is no selector.",
                do=f'Permissions({name}=["tool:web_search"])',
            )


def _is_false(said: object) -> bool:
    """Whether it is False, of Python or of numpy; None is no answer."""
    return said is False or getattr(said, "shape", None) == ()


def _told(said: object) -> str:
    """What a function gave in place of an answer; of a value the type alone."""
    kind = "None" if said is None else f"a value of type {type(said).__name__}"
    return f"{kind}, where True asks and False does not"


def _first(selectors: Sequence[Selector], origin: Origin) -> Selector | None:
    return next((s for s in selectors if s.matches(origin)), None)


def _denied(action: Action, selector: Selector) -> Deny:
    return Deny(
        f"deny {selector.text}",
        f"{action.tool} is denied by the rule deny {selector.text}.",
    )
