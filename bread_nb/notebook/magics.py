"""`%%bread` and `%bread`: a command, or an agent to run.

The magics hold no state and decide nothing.
"""

from __future__ import annotations

from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.bread import Bread
from bread_nb.errors import BreadError, BreadStopped
from bread_nb.notebook.cellruns import run_agent_line
from bread_nb.notebook.parsing import COMMANDS, LATER, first_word, read_run, usage
from bread_nb.notebook.stage import Stage
from bread_nb.notebook.subcommands import run_command

__all__ = ["bread_magic"]


def bread_magic(stage: Stage, line: str, body: str | None) -> object:
    """Carry out a `%bread` line or a `%%bread` cell.

    Raises:
        BreadError: `USAGE`, and whatever the run or the command ended with.
    """
    try:
        return _carry_out(stage, line, body)
    except BreadError as error:
        stage.last_error = error
        raise _without_secrets(error) from None


def _carry_out(stage: Stage, line: str, body: str | None) -> object:
    word, rest = first_word(line)
    if word in LATER:
        raise not_yet(word)
    if body is not None and not word:
        raise _nameless(stage.bread())
    if word in COMMANDS or not word:
        if body is not None:
            raise usage(
                f"%%bread {word} takes no cell body.",
                "it is a command, not an agent.",
                f"%bread {word}",
            )
        return run_command(stage, word or "help", rest)
    return run_agent_line(stage, read_run(word, rest, body=body is not None), body)


def _nameless(bread: Bread) -> BreadError:
    """The error for a cell that says to nobody what is in it."""
    ids = bread.agent_ids()
    working = [name for name in ids if name not in bread.broken()]
    there = f"agents/ has {', '.join(ids)}" if ids else "there are no agents here"
    return usage(
        "%%bread needs the name of an agent.",
        f"the cell is the input, and {there}.",
        f"%%bread {working[0]}" if working else "bread new agent writer",
    )


def not_yet(word: str) -> BreadError:
    """The error for a command of a later version."""
    return BreadError(
        f"%bread {word} is not available yet.",
        code="NOT_AVAILABLE",
        why="this version has no such command.",
        do="%bread help",
    )


def _without_secrets(error: BreadError) -> BreadError:
    """The error, with secrets masked in what it says."""
    redact = Redactor(environment_secrets()).text
    said = (redact(error.what), redact(error.why), redact(error.do))
    if said == (error.what, error.why, error.do):
        return error
    plain = BreadStopped if isinstance(error, BreadStopped) else BreadError
    return plain(
        said[0], code=error.code, why=said[1], do=said[2], retryable=error.retryable
    )
