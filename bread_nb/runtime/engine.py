"""What works on runs, as one module to load when the first run is asked for.

Loading it takes longer than all else that it takes to describe an agent.
"""

from bread_nb.runtime.desk import Desk, Names
from bread_nb.runtime.inbox import find_run
from bread_nb.runtime.recovery import at_work, session_busy
from bread_nb.runtime.starting import Start, refuse_later, start_run

__all__ = [
    "Desk",
    "Names",
    "Start",
    "at_work",
    "find_run",
    "refuse_later",
    "session_busy",
    "start_run",
]
