"""Slots: at most twenty messages a second, text waiting for more of it."""

import asyncio
from collections.abc import Iterator

import pytest

from bread_nb.notebook.bridge import Engine
from bread_nb.notebook.pump import SLOT_SECONDS, Pump


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes at once: it jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def jump(self, until: float) -> None:
        """Let everything happen that is due by then."""
        while self._scheduled and self._scheduled[0].when() <= until:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0].when())  # type: ignore[attr-defined]
            self.call_soon(self.stop)
            self.run_forever()
        self.now = until


class Fixed(Engine):
    """An engine on a loop of the test."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop


class Card:
    """A card that notes when its news were sent."""

    def __init__(self, loop: Clock, messages: int = 1) -> None:
        self.sent: list[float] = []
        self._loop, self._messages = loop, messages

    def send_news(self) -> int:
        self.sent.append(round(self._loop.now, 3))
        return self._messages


@pytest.fixture
def loop() -> Iterator[Clock]:
    loop = Clock()
    yield loop
    loop.close()


def test_news_go_out_in_the_next_free_slot(loop: Clock):
    pump, card = Pump(Fixed(loop)), Card(loop)
    pump.touch(card)
    loop.jump(0.01)
    pump.touch(card)
    pump.touch(card)
    loop.jump(1)
    assert card.sent == [0.0, SLOT_SECONDS]


def test_text_waits_for_more_of_it(loop: Clock):
    pump, card = Pump(Fixed(loop)), Card(loop)
    for step in range(100):
        pump.touch(card, text=True)
        loop.jump(step / 100)
    assert card.sent[0] == SLOT_SECONDS
    assert len(card.sent) <= 20


def test_other_news_overtake_text_that_waits(loop: Clock):
    pump, card = Pump(Fixed(loop)), Card(loop)
    pump.touch(card, text=True)
    loop.jump(0.01)
    pump.touch(card)
    loop.jump(0.02)
    assert card.sent == [0.01]


def test_many_cards_share_twenty_slots_a_second_and_none_starves(loop: Clock):
    pump = Pump(Fixed(loop))
    cards = [Card(loop) for _ in range(10)]
    for step in range(200):
        for card in cards:
            pump.touch(card, text=True)
        loop.jump(step / 100)
    counts = [len(card.sent) for card in cards]
    assert sum(counts) <= 2 * 20 + 1
    assert max(counts) - min(counts) <= 1


def test_a_card_in_two_cells_takes_two_slots(loop: Clock):
    pump = Pump(Fixed(loop))
    card, other = Card(loop, messages=2), Card(loop)
    pump.touch(card)
    pump.touch(other)
    loop.jump(1)
    assert other.sent == [2 * SLOT_SECONDS]


def test_answers_past_the_pump_take_slots_too(loop: Clock):
    pump, card = Pump(Fixed(loop)), Card(loop)
    pump.spend(3)
    pump.touch(card)
    loop.jump(1)
    assert card.sent == [pytest.approx(3 * SLOT_SECONDS)]


def test_a_forgotten_card_is_not_asked(loop: Clock):
    pump, card = Pump(Fixed(loop)), Card(loop)
    faults: list[object] = []
    loop.set_exception_handler(lambda _, told: faults.append(told))
    pump.touch(card)
    pump.forget(card)
    loop.jump(1)
    assert (card.sent, faults) == ([], [])
    pump.touch(card)
    loop.jump(2)
    assert len(card.sent) == 1
