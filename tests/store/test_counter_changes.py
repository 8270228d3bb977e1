"""Changes of exact counters: at the first point after them, by the sets of values, however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.store.batches import Contents
from ncuview.store.counter_changes import MOST_VALUES, CounterChange, CounterHistory, histories_of
from ncuview.store.opened import Store
from ncuview.store.place import place_of

Values = Sequence[float | None]
"""Of the launches of a point."""
MANY = [float(value) for value in range(3 * MOST_VALUES)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(place_of(str(tmp_path_factory.mktemp("store"))), Contents(())) as opened:
        yield opened


def kept(store: Store, rows: Sequence[tuple[int, int, int, int | None, *tuple[float | None, ...]]]) -> str:
    """The table of these series, numbers, launches, codes and counters."""
    columns = ["series", "number", "launches", "codes", *"abc"[: len(rows[0]) - 4]]
    types = ["INTEGER"] * 4 + ["DOUBLE"] * (len(columns) - 4)
    listed = ", ".join(f"unnest(${name}::{of}[]) AS {name}" for name, of in zip(columns, types, strict=True))
    return store.kept(
        "seeded", f"SELECT {listed}", **dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    )


def history(store: Store, points: Sequence[Values], codes: Sequence[int | None] | None = None) -> CounterHistory:
    codes = codes or [None] * len(points)
    rows = [(0, at, 1, codes[at], value) for at, values in enumerate(points) for value in values]
    return histories_of(store, kept(store, rows), ["a"])[0, "a"]


def expected(points: Sequence[Values]) -> list[CounterChange]:
    """The changes, by sets in Python."""
    found, before = [], list[float]()
    for at, values in enumerate(points):
        now = [value for value in values if value is not None]
        if not now:
            continue
        one, other = set(before), set(now)
        same = one == other if len(before) == len(now) else one <= other or other <= one
        if before and not same:
            found.append(CounterChange(at, *(tuple(sorted(each)[:MOST_VALUES]) for each in (one, other))))
        before = now
    return found


@pytest.mark.parametrize(
    ("points", "changes"),
    [
        ([[5], [5], [6]], [(2, (5,), (6,))]),
        ([[5], [6], [5]], [(1, (5,), (6,)), (2, (6,), (5,))]),
        ([[2.0**53 - 1], [2.0**53]], [(1, (2.0**53 - 1,), (2.0**53,))]),
        ([[None], [5], [None], [5]], []),
        ([[5], [None], [6]], [(2, (5,), (6,))]),
        ([[5, 7], [7, 5]], []),
        ([[5, 7], [5, 8]], [(1, (5, 7), (5, 8))]),
        ([[5, 7], [5], [5, 7, 9]], []),
        ([[5, 7], [5, 5]], [(1, (5, 7), (5,))]),
        ([MANY, MANY[::-1]], []),
        ([MANY, MANY[::2]], []),
        ([MANY, [*MANY, 500]], []),
        ([MANY, [*MANY[:-1], 500]], [(1, (0, 1, 2, 3), (0, 1, 2, 3))]),
        ([MANY, [*MANY[:-1], 500, 501]], [(1, (0, 1, 2, 3), (0, 1, 2, 3))]),
        ([MANY, [500]], [(1, (0, 1, 2, 3), (500,))]),
    ],
    ids=[
        *("another value", "back again", "the largest counter", "unknown", "across an unknown point"),
        *("another order", "other arguments", "fewer or more launches", "as many, and one value less"),
        *("many in another order", "many, and every second", "many, and one more", "many, and the last is another"),
        *("many and more, and one is another", "many, and a single other"),
    ],
)
def test_a_counter_changes_where_its_values_are_others(
    points: Sequence[Values], changes: list[tuple[int, Any, Any]], store: Store
) -> None:
    found = history(store, points)
    assert [*found.changes] == changes == expected(points)
    assert found.known == sum(any(value is not None for value in values) for values in points)
    assert not found.varies


value = st.one_of(st.none(), st.integers(0, 4).map(float))
points_of = st.lists(st.lists(value, min_size=1, max_size=7), min_size=1, max_size=8)


@given(points=points_of.filter(lambda points: any(value is not None for values in points for value in values)))
def test_changes_are_those_of_the_sets_of_values(points: list[list[float | None]], store: Store) -> None:
    rows = [(0, at, 1, at, value) for at, values in enumerate(points) for value in values]
    found = histories_of(store, kept(store, rows), ["a"])[0, "a"]
    assert [*found.changes] == expected(points)


def test_as_many_launches_are_counted_by_their_number(store: Store) -> None:
    rows = [
        (0, 0, 2, None, 5.0),
        (0, 0, 1, None, 7.0),
        (0, 1, 3, None, 5.0),
        (1, 0, 1, None, 5.0),
        (1, 1, 2, None, 7.0),
    ]
    found = histories_of(store, kept(store, rows), ["a"])
    assert found[0, "a"].changes == ((1, (5.0, 7.0), (5.0,)),)
    assert found[1, "a"].changes == ((1, (5.0,), (7.0,)),)


@pytest.mark.parametrize(
    ("values", "codes", "varies"),
    [
        ([1, 2, 3, 4], [7, 7, 7, 7], True),
        ([1, 2, 1, 2], [None, 7, 7, None], True),
        ([1, 2, 3], [7, 7, 7], False),
        ([1, 2, 3, 4, 4], [7] * 5, False),
        ([1, 2, 3, 4], [7, 7, 8, 8], False),
    ],
    ids=["each time", "code unknown", "too few points", "it stays once", "the code changes"],
)
def test_a_counter_varies_that_changes_at_each_point_with_the_same_code(
    values: list[float], codes: list[int | None], *, varies: bool, store: Store
) -> None:
    found = history(store, [[value] for value in values], codes)
    assert found.varies is varies
    assert len(found.changes) == (0 if varies else sum(map(float.__ne__, map(float, values), map(float, values[1:]))))


def test_each_series_and_counter_is_apart_also_in_many_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(at % 2, at // 2, 1, None, float(at // 4), None if at < 4 else 5.0, float(at)) for at in range(8)]
    seen = []
    for together in (1, 1 << 30):
        monkeypatch.setattr("ncuview.store.counter_changes._TOGETHER", together)
        seen.append(histories_of(store, kept(store, rows), ["a", "b", "c"]))
    assert seen[0] == seen[1]
    assert seen[0][1, "a"] == CounterHistory((CounterChange(2, (0.0,), (1.0,)),), varies=False, known=4)
    assert seen[0][0, "b"] == CounterHistory((), varies=False, known=2)
    assert seen[0][0, "c"] == CounterHistory((), varies=True, known=4)
