"""What a press on a card does: each action is acknowledged, carried out and answered.

Messages come on a thread that all widgets share. Nothing happens there but looking at
the message; whatever takes time goes to the engine thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol, cast

from pydantic import JsonValue

from bread_nb.a2ui.card import Card
from bread_nb.a2ui.replies import Problem
from bread_nb.base.redact import Redactor, environment_secrets
from bread_nb.crumbs import HumanResumed
from bread_nb.errors import BreadError
from bread_nb.notebook.bridge import Engine
from bread_nb.notebook.filled import Filled, filled_in
from bread_nb.notebook.handing import HAND_OUTS
from bread_nb.notebook.letters import Action, Bye, Hello, Stay, read_letter
from bread_nb.notebook.nonces import Armed
from bread_nb.notebook.recovering import take_up
from bread_nb.notebook.show import Screen
from bread_nb.notebook.shown import Shown
from bread_nb.runtime.run import Run

__all__ = ["Deeds", "Following"]

Client = Callable[[], str | None]

# A name, such as a handle, keeps its letters where a sentence begins with it.
_NAME = re.compile(r"\S*[-_.\d]\S")


class Following(Protocol):
    """Who keeps an eye on a run that goes on."""

    def follow(self, shown: Shown, run: Run) -> None: ...
    async def renew(self, shown: Shown) -> None: ...


class Deeds:
    """Carries out what the views of one run's cards ask for.

    Args:
        shown: The run.
        engine: Where what takes time is done.
        following: Told of each run that goes on.
        client: Which page the message at hand came from.
    """

    def __init__(
        self, shown: Shown, engine: Engine, following: Following, client: Client
    ) -> None:
        self._shown = shown
        self._engine = engine
        self._following = following
        self._client = client
        self._asked: dict[str, Callable[[BreadError | None], None]] = {}
        self._taking_up = False

    # -- messages ----------------------------------------------------------------------

    def hear(self, screen: Screen, content: object) -> None:
        """Take a message of a view; nothing is ever raised here, for nobody would see.

        A fault becomes the answer to the action.
        """
        letter = read_letter(cast("JsonValue", content))
        match letter:
            case Hello():
                self._shown.greet(screen, letter, self._client())
            case Bye(view=view):
                screen.leave(view)
            case Stay(view=view, here=here):
                screen.hold(view, here)
            case Action():
                self.act(screen, letter)
            case None:
                return

    def act(self, screen: Screen, action: Action) -> None:
        """Carry out an action; its acknowledgement and its result go to the screen."""
        screen.acknowledge(action.id)
        try:
            self._act(screen, action)
        except Exception as error:  # noqa: BLE001
            self._refuse(screen, action, error)

    def _act(self, screen: Screen, action: Action) -> None:
        if action.surface != self._shown.card.surface:
            raise BreadError(
                "This card shows something else by now.",
                code="FORM_CHANGED",
                why="it was drawn anew meanwhile.",
                do="press again",
            )
        match action.name:
            case "stop":
                self._stop(screen, action)
            case "end":
                self._end(screen, action)
            case "answer":
                self._answer(screen, action)
            case "recover":
                self._recover(screen, action)
            case "discard":
                self._discard(screen, action)
            case "asof":
                self._as_of(screen, action)
            case name if name in HAND_OUTS:
                self._hand_out(screen, action)
            case _:
                raise BreadError(
                    f"The card asked for {action.name[:40]!r}, which is unknown here.",
                    code="UNKNOWN_ACTION",
                    why="the page may have another version of bread_nb.",
                    do="reload the page",
                )

    def _tell(self, screen: Screen, action: Action, *, data: JsonValue = None) -> None:
        screen.result(action.id, ok=True, data=data)

    def _hand_out(self, screen: Screen, action: Action) -> None:
        """Give the page what it may show or save."""

        async def hand_out() -> None:
            try:
                data = await HAND_OUTS[action.name](self._shown, action)
            except BreadError as error:
                self._refuse(screen, action, error)
            else:
                self._tell(screen, action, data=data)

        self._engine.submit(hand_out)

    def _refuse(
        self,
        screen: Screen,
        action: Action,
        error: BaseException,
        problems: list[Problem] | None = None,
    ) -> None:
        wrong = [p.to_wire() for p in problems or []]
        screen.result(action.id, ok=False, say=words_of(error), problems=wrong)

    # -- stop, end, go on, discard -----------------------------------------------------

    def _stop(self, screen: Screen, action: Action) -> None:
        shown = self._shown
        at_work = shown.at_work()
        if not at_work:
            raise BreadError(
                "It does not work here, or not any more.",
                code="RUN_ENDED",
                why="there is nothing to stop.",
            )
        for live in at_work:
            live.cancel()
        shown.stopping()
        self._tell(screen, action)

    def _end(self, screen: Screen, action: Action) -> None:
        shown = self._shown

        async def end() -> None:
            try:
                await shown.bread.cancel(shown.run_id)
            except BreadError as error:
                self._refuse(screen, action, error)
            else:
                self._tell(screen, action)
                shown.rest()

        self._engine.submit(end, screen.cell.context)

    def _recover(self, screen: Screen, action: Action) -> None:
        """Go on with a run whose process ended; of several presses one counts."""
        if self._taking_up:
            raise BreadError(
                "It goes on already.",
                code="NOT_INTERRUPTED",
                why="the first press counts; nothing was done twice.",
            )
        self._taking_up = True

        async def go_on() -> None:
            shown = self._shown
            try:
                await take_up(
                    shown.bread,
                    shown.run_id,
                    lambda run: self._following.follow(shown, run),
                )
            except BreadError as error:
                self._refuse(screen, action, error)
                await self._following.renew(shown)
            else:
                self._tell(screen, action)
            finally:
                self._taking_up = False

        self._engine.submit(go_on, screen.cell.context)

    def _discard(self, screen: Screen, action: Action) -> None:
        again = self._shown.again
        if again is None:
            raise BreadError(
                "There is nothing to run again from here.",
                code="USAGE",
                why="the cell was not run again while this waited.",
                do="run the cell with --discard",
            )
        self._shown.again = None
        self._tell(screen, action)
        again()

    # -- an earlier moment -------------------------------------------------------------

    def _as_of(self, screen: Screen, action: Action) -> None:
        number = action.context.get("n")
        shown = self._shown
        with shown.lock:
            if number is None:
                told = {**shown.card.snapshot(), "asof": None}
            elif isinstance(number, int) and not isinstance(number, bool):
                told = {**self._earlier(number).snapshot(), "asof": number}
                told["seq"] = shown.card.seq
            else:
                raise BreadError(
                    "This is no crumb of the run.",
                    code="USAGE",
                    why="crumbs are numbered.",
                )
            if action.view is not None:
                told["view"] = action.view
            screen.answer(told)
        self._tell(screen, action)

    def _earlier(self, number: int) -> Card:
        """The card as it was after a crumb."""
        shown = self._shown
        card = Card(shown.card.surface, live=False)
        for crumb in shown.crumbs:
            if crumb.seq is not None and crumb.seq > number:
                break
            card.accept(crumb)
        return card

    # -- answers -----------------------------------------------------------------------

    def _answer(self, screen: Screen, action: Action) -> None:
        checkpoint_id = action.text("checkpoint")
        form = self._shown.form(checkpoint_id)
        if form is not None and form.ended is not None:
            raise BreadError(
                f"{form.ended} already.",
                code="CHECKPOINT_NOT_FOUND",
                why="the first answer counts; nothing was done twice.",
            )
        if form is None or form.id != action.source:
            raise BreadError(
                "This answer does not come from the form it is for.",
                code="FORM_CHANGED",
                why="nothing was done.",
            )
        answer, seen = action.answer(), form.crumb.args
        armed = self._shown.forms.take(
            checkpoint_id, action.text("nonce"), action.text("shown")
        )

        async def carry_out() -> None:
            filled = filled_in(armed, answer, seen, exact=action.exact)
            await self._carry_out(screen, action, armed, filled)

        self._engine.submit(carry_out, screen.cell.context)

    async def _carry_out(
        self, screen: Screen, action: Action, armed: Armed, filled: Filled
    ) -> None:
        checkpoint = armed.checkpoint
        given, problems = filled
        if problems:
            what = BreadError("The answer does not fit yet.", code="INVALID_ANSWER")
            self._refuse(screen, action, what, problems)
            await self.arm(checkpoint.id)
            return

        def settled(error: BreadError | None) -> None:
            if error is None:
                self._tell(screen, action)
            else:
                self._refuse(screen, action, error)

        self._asked[checkpoint.id] = settled
        try:
            run = self._shown.bread.resume(checkpoint.id, given)
        except BreadError as error:
            await self.refused(checkpoint.id, error)
            return
        self._following.follow(self._shown, run)
        run.live.ended.add_done_callback(lambda _: self._over(checkpoint.id, run))

    def _over(self, checkpoint_id: str, run: Run) -> None:
        """A segment has ended; if its answer was never taken, say why."""
        error = run.error
        if checkpoint_id not in self._asked or error is None:
            return

        async def say_so() -> None:
            await self.refused(checkpoint_id, error)

        self._engine.submit(say_so)

    async def refused(self, checkpoint_id: str, error: BaseException) -> None:
        """An answer was not taken; the form can be answered again if it still waits."""
        told = self._asked.pop(checkpoint_id, None)
        if told is not None:
            known = error if isinstance(error, BreadError) else BreadError(str(error))
            told(known)
        await self.arm(checkpoint_id)

    def resumed(self, crumb: HumanResumed) -> None:
        """A question is settled: by an answer from here, or by somebody else."""
        self._shown.forms.disarm(crumb.checkpoint_id)
        told = self._asked.pop(crumb.checkpoint_id, None)
        if told is None:
            return
        if isinstance(crumb.response, dict) and "withdrawn" in crumb.response:
            told(
                BreadError(
                    "It asks anew.",
                    code="FORM_CHANGED",
                    why=f"{crumb.response['withdrawn']}.",
                )
            )
        else:
            told(None)

    async def arm(self, checkpoint_id: str) -> None:
        """Make a form of the card answerable, if its question is still open."""
        shown = self._shown
        extras = await shown.forms.arm(checkpoint_id, shown.session)
        if extras is not None:
            shown.add_extras(checkpoint_id, extras)
        else:
            await self.look(checkpoint_id)

    async def look(self, checkpoint_id: str) -> None:
        """Say how a question ended that was answered where no crumb comes from."""
        shown = self._shown
        ended = await shown.forms.ended(checkpoint_id)
        if ended is not None and not shown.at_work():
            shown.settled(checkpoint_id, *ended)


def words_of(error: BaseException) -> str:
    """What happened and why, for somebody at the card; secrets are masked."""
    if isinstance(error, BreadError):
        why = error.why if _NAME.match(error.why) else _sentence(error.why)
        text = f"{error.what} {why}".strip()
    else:
        text = f"{type(error).__name__}: {error}"
    return Redactor(environment_secrets()).text(text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
