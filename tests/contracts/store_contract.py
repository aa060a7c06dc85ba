"""What every store must do; a new store joins with one line in `STORES`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field, JsonValue

from bread_nb.errors import BreadError
from bread_nb.stores.in_memory import InMemoryStore
from bread_nb.stores.sqlite import SqliteStore
from bread_nb.stores.store import (
    Add,
    Append,
    Claim,
    Drop,
    DropLog,
    Entry,
    Put,
    Record,
    Step,
    Store,
)

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: InMemoryStore(),
    "sqlite": lambda folder: SqliteStore(folder / ".bread/bread.db", root=folder),
}


class Loaf(Record):
    """A record with a field of every sort."""

    kind: ClassVar[str] = "loaf"

    created_at: int = 0
    run_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    status: str = "rising"
    grams: int = 0
    ready: bool = False
    warmth: float | None = None
    note: str | None = None
    flours: list[str] = Field(default_factory=list[str])
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    extra: JsonValue = None


class Bun(Record):
    """A record of another kind, with nothing that is indexed."""

    kind: ClassVar[str] = "bun"

    count: int = 0
    seeds: str | None = None


class Crust(Loaf):
    """A record that is seldom looked for by its status or its run."""

    kind: ClassVar[str] = "crust"
    seldom: ClassVar[frozenset[str]] = frozenset({"run_id", "status"})


def loaf(id: str, **fields: object) -> Loaf:
    return Loaf.model_validate({"id": id, **fields})


def entries(*numbers: int) -> list[Entry]:
    return [Entry(number, {"number": number}) for number in numbers]


async def ids(found: Coroutine[object, object, list[Loaf]]) -> list[str]:
    return [record.id for record in await found]


HARD_VALUES: list[JsonValue] = [
    None,
    True,
    0,
    -1,
    2**53 + 1,
    2**70,
    1.5,
    1e300,
    "",
    "pain 🍞 été 発酵",
    "quotes \" ' and \\ and </script> {} $5 %s ?",
    "nul \0, newline \n, bell \a, U+2028 \u2028",
    "half a character: \ud83c",
    "x" * 1_000_000,
    [],
    {},
    [[[{"a": [None, {"b": 1}]}]]],
    {"": 1, "a.b": 2, 'a"b': 3, "$": 4, "🍞": 5, "\ud800": 6},
    {"__type__": "os.system", "args": ["touch pwned"]},
    {"py/object": "builtins.eval"},
]


class StoreContract:
    """The tests; `store` is a fixture that gives an empty store."""

    # records

    async def test_what_was_never_put_is_none(self, store: Store):
        assert await store.get(Loaf, "rye") is None
        assert await store.query(Loaf) == []
        assert await store.read("crumbs/none") == []

    async def test_a_record_comes_back_as_it_was_put(self, store: Store):
        rye = loaf(
            "rye",
            created_at=1,
            run_id="r",
            session_id="s",
            agent_id="a",
            status="baked",
            grams=900,
            ready=True,
            warmth=31.5,
            note="dark",
            flours=["rye", "wheat"],
            tags={"kind": "sour"},
            extra={"deep": [1, None]},
        )
        await store.put(rye)
        assert await store.get(Loaf, "rye") == rye

    async def test_a_record_of_another_kind_with_the_same_id_is_another_record(
        self, store: Store
    ):
        await store.put(loaf("one", grams=5))
        await store.put(Bun(id="one", count=7))
        assert await store.get(Loaf, "one") == loaf("one", grams=5)
        assert await store.get(Bun, "one") == Bun(id="one", count=7)

    async def test_a_second_put_replaces_the_first_in_every_column(self, store: Store):
        await store.put(loaf("rye", status="rising", session_id="s", created_at=1))
        await store.put(loaf("rye", status="rising", session_id="s", created_at=1))
        changed = loaf("rye", status="baked", session_id="t", created_at=2)
        await store.put(changed)
        assert await store.get(Loaf, "rye") == changed
        assert await store.query(Loaf, {"session_id": "s"}) == []
        assert await store.query(Loaf, {"session_id": "t"}) == [changed]
        assert await store.query(Loaf, {"created_at": 2}) == [changed]

    @pytest.mark.parametrize("value", HARD_VALUES, ids=lambda v: ascii(v)[:20])
    async def test_every_json_value_comes_back_unchanged(
        self, store: Store, value: JsonValue
    ):
        await store.put(loaf("hard", extra=value))
        await store.append("log", [Entry(1, value)])
        await store.put(loaf("easy"))
        claimed = await store.claim(Loaf, "easy", {"extra": None}, {"extra": value})
        assert claimed is not None
        assert claimed.extra == value
        for id in ("hard", "easy"):
            found = await store.get(Loaf, id)
            assert found is not None
            assert found.extra == value
            assert type(found.extra) is type(value)
        assert await store.read("log") == [Entry(1, value)]
        again = await store.claim(Loaf, "easy", {"extra": value}, {"grams": 2})
        assert again is not None

    async def test_values_that_are_no_json_are_refused_and_change_nothing(
        self, store: Store
    ):
        await store.put(loaf("rye"))
        for number in (float("nan"), float("inf")):
            with pytest.raises(ValueError, match="JSON"):
                await store.put(loaf("rye", extra=number, grams=1))
            with pytest.raises(ValueError, match="JSON"):
                await store.append("log", [Entry(1, {"deep": [number]})])
            with pytest.raises(ValueError, match="JSON"):
                await store.claim(Loaf, "rye", {}, {"extra": number})
        assert await store.get(Loaf, "rye") == loaf("rye")
        assert await store.read("log") == []

    async def test_a_value_too_deep_to_be_read_again_is_refused(self, store: Store):
        deep: JsonValue = "bottom"
        for _ in range(900):
            deep = [deep]
        await store.put(loaf("rye"))
        with pytest.raises(ValueError, match=r"valid|deep|recursion"):
            await store.claim(Loaf, "rye", {}, {"extra": deep})
        assert await store.get(Loaf, "rye") == loaf("rye")

    async def test_nobody_can_change_what_is_kept_from_outside(self, store: Store):
        inside: dict[str, JsonValue] = {"list": [1]}
        listed = inside["list"]
        assert isinstance(listed, list)
        await store.put(loaf("rye", extra=inside))
        await store.append("log", [Entry(1, inside)])
        await store.put(loaf("spelt"))
        await store.claim(Loaf, "spelt", {}, {"extra": inside})
        listed.append(2)
        for _ in range(2):
            for id in ("rye", "spelt"):
                found = await store.get(Loaf, id)
                assert found is not None
                assert found.extra == {"list": [1]}
                assert isinstance(found.extra, dict)
                found.extra["more"] = 3
            (entry,) = await store.read("log")
            assert entry.value == {"list": [1]}
            assert isinstance(entry.value, dict)
            entry.value["more"] = 3

    async def test_an_id_that_is_half_a_character_is_refused(self, store: Store):
        for attempt in (
            store.put(loaf("a\ud800")),
            store.put(loaf("a", session_id="a\ud800")),
            store.get(Loaf, "a\ud800"),
            store.append("a\ud800", entries(1)),
            store.read("a\ud800"),
        ):
            with pytest.raises(BreadError) as caught:
                await attempt
            assert caught.value.code == "INVALID_NAME"

    async def test_ids_may_be_any_whole_characters(self, store: Store):
        for id in ("発酵/1", "a'b\"c", "🍞", "nul\0", "%_?", ""):
            await store.put(loaf(id, session_id=id))
            await store.append(id, entries(1))
            assert await store.get(Loaf, id) == loaf(id, session_id=id)
            assert await ids(store.query(Loaf, {"session_id": id})) == [id]
            assert await store.read(id) == entries(1)

    # claims

    async def test_a_claim_changes_a_record_that_is_as_expected(self, store: Store):
        await store.put(loaf("rye", status="rising", grams=5, note="dark"))
        changed = loaf("rye", status="baked", grams=5, note=None)
        expect: dict[str, JsonValue] = {"status": "rising", "grams": 5}
        change: dict[str, JsonValue] = {"status": "baked", "note": None}
        assert await store.claim(Loaf, "rye", expect, change) == changed
        assert await store.get(Loaf, "rye") == changed
        assert await store.query(Loaf, {"status": "rising"}) == []
        assert await store.query(Loaf, {"status": "baked"}) == [changed]

    @pytest.mark.parametrize(
        "expect",
        [
            {"status": "baked"},
            {"grams": 6},
            {"grams": "5"},
            {"note": None},
            {"tags": {}},
            {"tags": {"a": "1"}},
            {"flours": []},
            {"ready": 0},
            {"session_id": "s"},
        ],
        ids=str,
    )
    async def test_a_claim_on_a_record_that_is_otherwise_changes_nothing(
        self, store: Store, expect: dict[str, JsonValue]
    ):
        before = loaf("rye", grams=5, note="dark", tags={"a": "1", "b": "2"})
        before = before.model_copy(update={"flours": ["rye"]})
        await store.put(before)
        assert await store.claim(Loaf, "rye", expect, {"grams": 7}) is None
        assert await store.get(Loaf, "rye") == before

    async def test_a_claim_may_expect_fields_that_have_their_default(
        self, store: Store
    ):
        await store.put(loaf("rye"))
        expect: dict[str, JsonValue] = {
            "status": "rising",
            "grams": 0,
            "ready": False,
            "note": None,
            "flours": [],
            "tags": {},
        }
        claimed = await store.claim(Loaf, "rye", expect, {"grams": 1})
        assert claimed == loaf("rye", grams=1)

    async def test_a_claim_on_nothing_is_none(self, store: Store):
        assert await store.claim(Loaf, "rye", {}, {"grams": 7}) is None

    async def test_a_claim_without_a_change_only_looks(self, store: Store):
        await store.put(loaf("rye", grams=5))
        looked = await store.claim(Loaf, "rye", {"grams": 5}, {})
        assert looked == await store.get(Loaf, "rye")

    async def test_a_field_that_the_kind_has_not_is_refused_by_name(self, store: Store):
        await store.put(loaf("rye"))
        for attempt in (
            store.claim(Loaf, "rye", {"statsu": "rising"}, {}),
            store.claim(Loaf, "rye", {}, {"statsu": "baked"}),
            store.query(Loaf, {"statsu": "rising"}),
            store.atomic(Add(Loaf, "rye", "statsu", 1)),
        ):
            with pytest.raises(ValueError, match="loaf has no field statsu"):
                await attempt
        with pytest.raises(ValueError, match="never changes"):
            await store.claim(Loaf, "rye", {}, {"id": "spelt"})

    async def test_of_many_claims_at_once_one_wins(self, store: Store):
        await store.put(loaf("rye"))
        won = await asyncio.gather(
            *(
                store.claim(Loaf, "rye", {"note": None}, {"note": str(number)})
                for number in range(50)
            )
        )
        winners = [record for record in won if record is not None]
        assert len(winners) == 1
        assert await store.get(Loaf, "rye") == winners[0]

    async def test_of_claims_from_two_threads_one_wins(self, store: Store):
        await store.put(loaf("rye"))
        together = threading.Barrier(2)

        def claim(name: str) -> Loaf | None:
            together.wait(timeout=10)
            return asyncio.run(store.claim(Loaf, "rye", {"note": None}, {"note": name}))

        with ThreadPoolExecutor(2) as pool:
            tasks = [
                asyncio.get_running_loop().run_in_executor(pool, claim, name)
                for name in ("one", "two")
            ]
            won = [record for record in await asyncio.gather(*tasks) if record]
        assert won == [await store.get(Loaf, "rye")]

    # numbers

    async def test_add_returns_the_new_number(self, store: Store):
        await store.put(Bun(id="b"))
        assert await store.atomic(Add(Bun, "b", "count", 2)) == [2]
        assert await store.atomic(
            Add(Bun, "b", "count", -3), Add(Bun, "b", "count", 1)
        ) == [-1, 0]
        assert await store.get(Bun, "b") == Bun(id="b", count=0)

    async def test_add_to_a_missing_record_is_refused(self, store: Store):
        assert await store.atomic(Add(Bun, "b", "count", 2)) is None
        assert await store.get(Bun, "b") is None

    async def test_add_to_what_is_no_whole_number_is_an_error(self, store: Store):
        await store.put(loaf("rye", ready=True))
        for name in ("note", "ready", "flours"):
            with pytest.raises(ValueError, match="no whole number"):
                await store.atomic(Add(Loaf, "rye", name, 1))
        assert await store.get(Loaf, "rye") == loaf("rye", ready=True)

    async def test_a_hundred_additions_at_once_all_count(self, store: Store):
        await store.put(Bun(id="b"))
        results = await asyncio.gather(
            *(store.atomic(Add(Bun, "b", "count", 1)) for _ in range(100))
        )
        numbers = [result[0] for result in results if result]
        assert sorted(map(str, numbers)) == sorted(map(str, range(1, 101)))

    # logs

    async def test_a_log_is_read_in_the_order_of_its_numbers(self, store: Store):
        await store.append("log", entries(2, 3))
        await store.append("log", entries(5))
        await store.append("log", entries(1, 4))
        assert await store.read("log") == entries(1, 2, 3, 4, 5)

    async def test_part_of_a_log_can_be_read(self, store: Store):
        await store.append("log", entries(*range(1, 8)))
        await store.append("log2", entries(9))
        assert await store.read("log", after=5) == entries(6, 7)
        assert await store.read("log", after=7) == []
        assert await store.read("log", limit=2) == entries(1, 2)
        assert await store.read("log", after=2, limit=2) == entries(3, 4)
        assert await store.read("log", newest=2) == entries(6, 7)
        assert await store.read("log", newest=99) == entries(*range(1, 8))
        assert await store.read("log", after=5, newest=4) == entries(6, 7)
        assert await store.read("log", newest=3, limit=2) == entries(5, 6)
        assert await store.read("log", limit=0) == []
        assert await store.read("log", newest=0) == []

    async def test_a_number_that_is_taken_fails_the_whole_append(self, store: Store):
        await store.append("log", entries(1, 2))
        with pytest.raises(BreadError) as caught:
            await store.append("log", entries(3, 2))
        assert caught.value.code == "STORE_CONFLICT"
        with pytest.raises(BreadError):
            await store.append("log", entries(4, 4))
        assert await store.read("log") == entries(1, 2)

    async def test_an_append_of_nothing_is_no_fault(self, store: Store):
        await store.append("log", [])
        assert await store.read("log") == []

    async def test_of_two_appends_of_one_number_at_once_one_wins(self, store: Store):
        results = await asyncio.gather(
            store.atomic(Append("log", [Entry(1, "a")])),
            store.atomic(Append("log", [Entry(1, "b")])),
        )
        assert sorted(results, key=str) == [None, [None]]
        assert len(await store.read("log")) == 1

    # atomic

    async def test_no_steps_have_no_values(self, store: Store):
        assert await store.atomic() == []

    async def test_steps_happen_together_and_see_those_before_them(self, store: Store):
        values = await store.atomic(
            Put(loaf("rye", grams=1), new=True),
            Claim(Loaf, "rye", {"grams": 1}, {"status": "baked"}),
            Add(Loaf, "rye", "grams", 5),
            Claim(Loaf, "rye", {"grams": 6, "status": "baked"}, {"note": "good"}),
            Append("log", entries(1)),
            Append("log", entries(2, 3)),
        )
        assert values == [None, None, 6, None, None, None]
        baked = loaf("rye", grams=6, status="baked", note="good")
        assert await store.get(Loaf, "rye") == baked
        assert await store.query(Loaf, {"status": "baked"}) == [baked]
        assert await store.read("log") == entries(1, 2, 3)

    @pytest.mark.parametrize(
        "failing",
        [
            Claim(Loaf, "rye", {"grams": 99}, {}),
            Claim(Loaf, "none", {}, {}),
            Put(loaf("rye"), new=True),
            Put(loaf("fresh"), new=True),
            Add(Bun, "none", "count", 1),
            Append("log", entries(4, 1)),
            Append("log", entries(2)),
        ],
        ids=lambda step: type(step).__name__,
    )
    async def test_one_step_that_fails_undoes_all(self, store: Store, failing: Step):
        rye = loaf("rye", grams=1, status="baked")
        gone = loaf("gone")
        await store.put(rye)
        await store.put(gone)
        await store.append("log", entries(1))
        await store.append("old", entries(1))
        steps: list[Step] = [
            Put(loaf("fresh")),
            Claim(Loaf, "rye", {}, {"status": "sold"}),
            Add(Loaf, "rye", "grams", 1),
            Append("log", entries(2, 3)),
            Drop(Loaf, "gone"),
            DropLog("old"),
        ]
        if failing == Put(loaf("fresh"), new=True):
            assert await store.atomic(*steps, failing) is None
        else:
            for place in (0, 3, len(steps)):
                tried = [*steps[:place], failing, *steps[place:]]
                assert await store.atomic(*tried) is None
        assert await store.query(Loaf) == [gone, rye]
        assert await store.query(Loaf, {"status": "baked"}) == [rye]
        assert await store.read("log") == entries(1)
        assert await store.read("old") == entries(1)

    async def test_a_failing_group_leaves_others_of_the_same_moment_alone(
        self, store: Store
    ):
        await store.append("log", entries(1))
        results = await asyncio.gather(
            *(
                store.atomic(
                    Put(loaf(f"{number:03}", grams=number)),
                    Append(f"log{number}", entries(1, 2)),
                    *([Append("log", entries(1))] if number % 3 == 0 else []),
                )
                for number in range(60)
            )
        )
        kept = [number for number, result in enumerate(results) if result is not None]
        assert kept == [number for number in range(60) if number % 3]
        assert [found.grams for found in await store.query(Loaf)] == kept
        for number in range(60):
            expected = entries(1, 2) if number % 3 else []
            assert await store.read(f"log{number}") == expected

    async def test_an_error_in_one_group_leaves_others_of_the_same_moment_alone(
        self, store: Store
    ):
        await store.put(loaf("rye"))
        results = await asyncio.gather(
            store.atomic(Put(Bun(id="a")), Append("a", entries(1))),
            store.atomic(Put(Bun(id="b")), Add(Loaf, "rye", "note", 1)),
            store.atomic(Put(Bun(id="c")), Append("c", entries(1))),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [list, ValueError, list]
        assert [bun.id for bun in await store.query(Bun)] == ["a", "c"]

    async def test_what_is_dropped_can_be_put_again_in_one_group(self, store: Store):
        await store.put(loaf("rye", grams=1))
        await store.append("log", entries(1, 2))
        assert await store.atomic(
            Drop(Loaf, "rye"),
            Put(loaf("rye", grams=2), new=True),
            DropLog("log"),
            Append("log", entries(1)),
        )
        assert await store.get(Loaf, "rye") == loaf("rye", grams=2)
        assert await store.read("log") == entries(1)
        assert await store.atomic(
            Put(loaf("spelt")),
            Drop(Loaf, "spelt"),
            Append("new", entries(1)),
            DropLog("new"),
        )
        assert await store.get(Loaf, "spelt") is None
        assert await store.read("new") == []
        assert await store.atomic(Drop(Loaf, "rye"), Claim(Loaf, "rye", {}, {})) is None

    async def test_dropping_what_is_not_there_is_no_fault(self, store: Store):
        assert await store.atomic(Drop(Loaf, "rye"), DropLog("log")) == [None, None]

    async def test_a_dropped_record_and_log_are_gone(self, store: Store):
        await store.put(loaf("rye"))
        await store.put(loaf("spelt"))
        await store.append("log", entries(1))
        await store.append("log2", entries(1))
        await store.atomic(Drop(Loaf, "rye"), DropLog("log"))
        assert await store.query(Loaf) == [loaf("spelt")]
        assert await store.read("log") == []
        assert await store.read("log2") == entries(1)

    # queries

    async def test_a_query_is_in_the_order_of_creation_then_of_id(self, store: Store):
        for id, time in (("c", 2), ("b", 1), ("a", 2), ("d", 1), ("e", 3)):
            await store.put(loaf(id, created_at=time))
        assert await ids(store.query(Loaf)) == ["b", "d", "a", "c", "e"]
        newest = store.query(Loaf, newest_first=True)
        assert await ids(newest) == ["e", "c", "a", "d", "b"]
        assert await ids(store.query(Loaf, limit=2)) == ["b", "d"]
        assert await ids(store.query(Loaf, limit=2, newest_first=True)) == ["e", "c"]
        assert await ids(store.query(Loaf, limit=0)) == []
        assert len(await store.query(Loaf, limit=99)) == 5
        for number in range(3):
            await store.put(Bun(id=str(number)))
        assert [bun.id for bun in await store.query(Bun)] == ["0", "1", "2"]

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            ({}, "abcd"),
            ({"id": "a"}, "a"),
            ({"run_id": "r"}, "ab"),
            ({"session_id": "s"}, "ac"),
            ({"agent_id": "x"}, "a"),
            ({"agent_id": None}, "bcd"),
            ({"status": "rising"}, "bcd"),
            ({"status": "baked"}, "a"),
            ({"status": None}, ""),
            ({"created_at": 2}, "b"),
            ({"created_at": True}, ""),
            ({"run_id": "r", "session_id": None}, "b"),
            ({"grams": 0}, "bc"),
            ({"grams": 1}, "a"),
            ({"grams": 1.0}, "a"),
            ({"grams": True}, ""),
            ({"grams": "1"}, ""),
            ({"grams": 2**60}, "d"),
            ({"grams": 2**80}, ""),
            ({"ready": True}, "a"),
            ({"ready": False}, "bcd"),
            ({"ready": 1}, ""),
            ({"warmth": 0.1}, "a"),
            ({"warmth": 30}, "b"),
            ({"note": None}, "cd"),
            ({"note": "dark"}, "a"),
            ({"note": "été 🍞"}, "b"),
            ({"note": "\ud800"}, ""),
            ({"flours": ["rye", "wheat"]}, "a"),
            ({"flours": ["rye"]}, ""),
            ({"flours": []}, "bcd"),
            ({"tags": {}}, "abcd"),
            ({"tags": {"a": "1"}}, "ab"),
            ({"tags": {"a": "1", "b": "2"}}, "a"),
            ({"tags": {"a": "2"}}, ""),
            ({"tags": {"a": None}}, ""),
            ({"tags": {'q"o': "x"}}, "c"),
            ({"tags": None}, ""),
            ({"extra": None}, "d"),
            ({"extra": "[1]"}, "a"),
            ({"extra": [1]}, "b"),
            ({"extra": {}}, "c"),
            ({"extra": {"deep": {"x": 1}}}, "c"),
            ({"extra": {"deep": {}}}, ""),
            ({"extra": {"flag": True}}, "c"),
            ({"extra": {"flag": 1}}, ""),
            ({"tags": {"a": "1"}, "run_id": "r", "grams": 0}, "b"),
        ],
        ids=lambda value: ascii(value)[:40],
    )
    async def test_a_query_finds_the_records_whose_fields_are_equal(
        self, store: Store, where: dict[str, JsonValue], found: str
    ):
        await store.put(
            loaf(
                "a",
                created_at=1,
                run_id="r",
                session_id="s",
                agent_id="x",
                status="baked",
                grams=1,
                ready=True,
                warmth=0.1,
                note="dark",
                flours=["rye", "wheat"],
                tags={"a": "1", "b": "2"},
                extra="[1]",
            )
        )
        note = "été 🍞"
        await store.put(
            loaf("b", created_at=2, run_id="r", warmth=30, note=note, extra=[1])
        )
        await store.claim(Loaf, "b", {}, {"tags": {"a": "1"}})
        extra = {"deep": {"x": 1}, "flag": True}
        tags = {'q"o': "x"}
        await store.put(loaf("c", created_at=3, session_id="s", extra=extra, tags=tags))
        await store.put(loaf("d", created_at=4, grams=2**60))
        await store.put(Bun(id="a"))
        assert "".join(await ids(store.query(Loaf, where))) == found
        assert "".join(await ids(store.query(Loaf, where, limit=1))) == found[:1]
        backwards = store.query(Loaf, where, newest_first=True, limit=3)
        assert "".join(await ids(backwards)) == found[::-1][:3]

    async def test_fields_seldom_looked_for_are_found_all_the_same(self, store: Store):
        await store.put(Crust(id="a", created_at=1, run_id="r", session_id="s"))
        await store.put(Crust(id="b", created_at=2, run_id="r", status="baked"))
        await store.put(loaf("c", run_id="r", status="baked"))
        assert await store.claim(Crust, "a", {"status": "rising"}, {"status": "baked"})
        assert await store.claim(Crust, "b", {"run_id": "r"}, {"run_id": None})
        assert await ids(store.query(Crust, {"status": "baked"})) == ["a", "b"]
        assert await ids(store.query(Crust, {"status": "rising"})) == []
        assert await ids(store.query(Crust, {"run_id": "r", "session_id": "s"})) == [
            "a"
        ]
        assert await ids(store.query(Crust, {"run_id": None})) == ["b"]

    # lives

    async def test_a_closed_store_can_be_used_again(self, store: Store):
        await store.put(loaf("rye"))
        await store.append("log", entries(1))
        await store.close()
        await store.close()
        assert await store.get(Loaf, "rye") == loaf("rye")
        await store.append("log", entries(2))
        await store.close()
        assert await store.read("log") == entries(1, 2)

    async def test_twenty_clicks_on_another_thread_all_succeed(self, store: Store):
        await store.put(Bun(id="clicks"))

        def click() -> None:
            for _ in range(20):
                asyncio.run(store.atomic(Add(Bun, "clicks", "count", 1)))

        await asyncio.to_thread(click)
        assert await store.get(Bun, "clicks") == Bun(id="clicks", count=20)

    async def test_a_verb_that_nobody_waits_for_any_more_harms_nobody(
        self, store: Store
    ):
        tasks = [
            asyncio.create_task(store.put(Bun(id=str(number)))) for number in range(20)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await store.put(Bun(id="last"))
        found = {bun.id for bun in await store.query(Bun)}
        assert {*map(str, range(1, 20, 2)), "last"} <= found
