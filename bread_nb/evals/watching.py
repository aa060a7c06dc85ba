"""Where a notebook puts what shows an evaluation while it works.

In a script or on the command line nothing is there, and nothing is shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from bread_nb.evals.evaluate import Progress
    from bread_nb.evals.report import Report

__all__ = ["Baking", "Tell", "Watching"]

Tell: TypeAlias = "Callable[[Progress], None]"
Baking: TypeAlias = "Callable[[Tell], Coroutine[Any, Any, Report]]"


class Watching:
    """Who shows an evaluation that nobody else watches.

    `show` gets the work, which takes who is told of its progress, and its budget.
    """

    show: ClassVar[Callable[[Baking, float | None], Awaitable[Report]] | None] = None
