"""Run, watch, approve and test LLM agents in a Jupyter notebook.

The names below are all there is to import from the top; each is loaded when it is first
used, so that `import bread_nb` is quick. The package is also an IPython extension:
`%load_ext bread_nb`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bread_nb.base.later import names_of

if TYPE_CHECKING:
    from bread_nb.base.names import leaf_name, perm_id
    from bread_nb.base.retry import RetryPolicy
    from bread_nb.bread import Bread
    from bread_nb.errors import BreadError
    from bread_nb.evals.case import Case, Suite
    from bread_nb.governance.permissions import Permissions
    from bread_nb.notebook.extension import (
        load_ipython_extension,
        unload_ipython_extension,
    )
    from bread_nb.project.config import BreadConfig
    from bread_nb.providers.cassette import Cassette
    from bread_nb.providers.clipipe import CliPipe
    from bread_nb.providers.model import Model
    from bread_nb.providers.rates import Rates
    from bread_nb.providers.resilience import CircuitBreaker, Fallback, Retrying
    from bread_nb.providers.scripted import Scripted
    from bread_nb.runtime.agent import Agent, CustomFormat, Guards
    from bread_nb.runtime.outcome import Finished, Stopped, Suspended
    from bread_nb.runtime.run import Run
    from bread_nb.tools.lifecycle import (
        Continue,
        ErrorHandling,
        Fail,
        Hooks,
        Recover,
        Replace,
        Retry,
        ShortCircuit,
    )
    from bread_nb.tools.tool import ToolContext, human_tool, tool

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Bread",
    "BreadConfig",
    "BreadError",
    "Case",
    "Cassette",
    "CircuitBreaker",
    "CliPipe",
    "Continue",
    "CustomFormat",
    "ErrorHandling",
    "Fail",
    "Fallback",
    "Finished",
    "Guards",
    "Hooks",
    "Model",
    "Permissions",
    "Rates",
    "Recover",
    "Replace",
    "Retry",
    "RetryPolicy",
    "Retrying",
    "Run",
    "Scripted",
    "ShortCircuit",
    "Stopped",
    "Suite",
    "Suspended",
    "ToolContext",
    "human_tool",
    "leaf_name",
    "load_ipython_extension",
    "perm_id",
    "tool",
    "unload_ipython_extension",
]

_HOMES = {
    "base.names": ("leaf_name", "perm_id"),
    "base.retry": ("RetryPolicy",),
    "bread": ("Bread",),
    "errors": ("BreadError",),
    "evals.case": ("Case", "Suite"),
    "governance.permissions": ("Permissions",),
    "notebook.extension": ("load_ipython_extension", "unload_ipython_extension"),
    "project.config": ("BreadConfig",),
    "providers.cassette": ("Cassette",),
    "providers.clipipe": ("CliPipe",),
    "providers.model": ("Model",),
    "providers.rates": ("Rates",),
    "providers.resilience": ("CircuitBreaker", "Fallback", "Retrying"),
    "providers.scripted": ("Scripted",),
    "runtime.agent": ("Agent", "CustomFormat", "Guards"),
    "runtime.outcome": ("Finished", "Stopped", "Suspended"),
    "runtime.run": ("Run",),
    "tools.lifecycle": (
        "Continue",
        "ErrorHandling",
        "Fail",
        "Hooks",
        "Recover",
        "Replace",
        "Retry",
        "ShortCircuit",
    ),
    "tools.tool": ("ToolContext", "human_tool", "tool"),
}
__getattr__ = names_of(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
