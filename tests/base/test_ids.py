"""Ids are unique and grow; a test can pin them and the clock."""

import re
import threading

from bread_nb.base.ids import frozen, new_id, now_ms, pinned, short

UUID7 = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)


def test_ids_grow_within_a_millisecond_too():
    ids = [new_id() for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert all(map(UUID7.fullmatch, ids))


def test_ids_of_many_threads_are_unique():
    made: list[str] = []

    def make() -> None:
        made.extend(new_id() for _ in range(500))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert len(set(made)) == len(made) == 4000


def test_an_id_holds_the_time_it_was_made():
    before = now_ms()
    made = int(new_id().replace("-", "")[:12], 16)
    assert before <= made <= now_ms()


def test_ids_and_the_clock_can_be_pinned():
    with pinned(start_ms=1000, step_ms=5):
        assert [now_ms(), now_ms()] == [1000, 1005]
        assert [new_id(), short(new_id())] == [
            "00000000-0000-7000-8000-000000000001",
            "00000002",
        ]
    assert now_ms() > 10**12


def test_frozen_stands_still_and_counts_each_thread_by_itself():
    def two_ids() -> list[str]:
        made: list[str] = []
        worker = threading.Thread(
            target=lambda: made.extend([new_id(), new_id()]), name="worker"
        )
        mine = [new_id()]
        worker.start()
        worker.join(10)
        return [*mine, *made, new_id()]

    with frozen():
        first, at = two_ids(), {now_ms(), now_ms()}
    with frozen():
        second = two_ids()
    assert first == second
    assert len(set(first)) == 4
    assert first[1] < first[2]
    assert len(at) == 1
    assert now_ms() > at.pop()
