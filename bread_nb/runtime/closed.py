"""What is said of a question that is not open any more."""

from __future__ import annotations

from bread_nb.errors import BreadError
from bread_nb.stores.records import Checkpoint

__all__ = ["ended_words", "not_open"]


def ended_words(checkpoint: Checkpoint) -> str:
    """What became of a question that is not open any more."""
    ended = checkpoint.ended or checkpoint.status
    return f"{checkpoint.handle} is not open any more: {ended}"


def not_open(checkpoint_id: str, checkpoint: Checkpoint | None) -> BreadError:
    """The error for an answer that comes too late, naming what happened."""
    name = checkpoint_id
    if checkpoint is None:
        why = "no question of this store has this id."
    else:
        name = checkpoint.handle or name
        why = f"{ended_words(checkpoint)}."
    return BreadError(
        f"There is no open question {name!r}.",
        code="CHECKPOINT_NOT_FOUND",
        why=why,
        do="%bread pending lists the open ones",
        context={"checkpoint_id": checkpoint_id},
    )
