"""The one decision path: every call is decided here and nowhere else.

The agent's permissions come first, then the rules in their order. The strictest answer
wins: a halt over a denial, a denial over a question, a question over a yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from bread_nb.errors import Halt, named
from bread_nb.governance.permissions import Permissions
from bread_nb.governance.verdict import (
    Action,
    Allow,
    Ask,
    Deny,
    HaltRun,
    Rule,
    Verdict,
)

__all__ = ["Gate"]

_STRICTNESS = {Allow: 0, Ask: 1, Deny: 2, HaltRun: 3}


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides calls by permissions and rules.

    A rule is `fn(action)` and answers with a verdict, None (no opinion), True (allow),
    False (deny) or a text, which denies with this reason. A rule that raises denies,
    and so does one that answers anything else. A `Halt` it raises ends the run.
    """

    rules: Sequence[Rule] = ()

    def decide(self, action: Action, permissions: Permissions) -> Verdict:
        """The verdict for one call; what a person approved is not asked again."""
        try:
            verdict: Verdict = permissions.judge(action)
        except Halt as halt:
            return HaltRun(halt.rule, halt.why)
        for rule in self.rules:
            verdict = _stricter(verdict, _answer(rule, action))
        if isinstance(verdict, Ask) and action.approved:
            return Allow(f"approved ({verdict.rule})")
        return verdict


def _stricter(first: Verdict, second: Verdict | None) -> Verdict:
    if second is None or _STRICTNESS[type(second)] <= _STRICTNESS[type(first)]:
        return first
    return second


def _answer(rule: Rule, action: Action) -> Verdict | None:
    name = getattr(rule, "__name__", type(rule).__name__)
    try:
        answer = cast("Any", rule(action))
    except Halt as halt:
        return HaltRun(halt.rule, halt.why)
    except Exception as error:  # noqa: BLE001
        return Deny(name, f"The rule {name} failed: {named(error)}")
    if answer is None or isinstance(answer, Allow | Ask | Deny | HaltRun):
        return answer
    if answer is True:
        return Allow(name)
    if isinstance(answer, str):
        return Deny(name, answer)
    return Deny(name, f"{action.tool} is denied by the rule {name}.")
