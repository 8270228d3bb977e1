"""The history of a kernel: changes of exact counters at the first run, steps of times, and what changed with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ncuview import store
from ncuview.base.errors import UnknownKernel
from ncuview.store.answer import Answer
from ncuview.store.counter_changes import MOST_VALUES
from ncuview.store.kernel_history import history
from ncuview.store.work import CYCLES
from tests.store.small_store import SmallStore, of_day

EXACT = "smsp__inst_executed.sum"
NOISY = "lts__t_sector_hit_rate.pct"
FEW = [1_000.0, 1_010.0, 990.0, 1_005.0, 995.0, 1_002.0, 998.0, 1_009.0, 991.0, 1_001.0]


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path / "store")


def ask(small: SmallStore, kernel: str = "k", limit: int = 0) -> Answer:
    with store.open(small.name) as opened:
        return history(opened, kernel, limit)


def rows(answer: Answer, title: str) -> list[dict[str, Any]]:
    tables = [table for table in answer.tables if table.title == title]
    return [dict(zip(table.columns, row, strict=True)) for table in tables for row in table.rows]


def changes(answer: Answer) -> list[tuple[Any, ...]]:
    return [(row["what"], row["since"], row["point"], row["before"], row["after"]) for row in rows(answer, "changes")]


def test_one_changed_value_of_an_exact_counter_is_a_change(small: SmallStore) -> None:
    for day, value in enumerate([100.0, 100.0, 101.0]):
        small.add({}, metrics=[{EXACT: value}], **of_day(day))
    assert changes(ask(small)) == [(EXACT, "c1", "c2", 100.0, 101.0)]


def test_points_are_in_the_order_of_their_reports(small: SmallStore) -> None:
    for day, value in [(2, 101.0), (0, 100.0), (1, 100.0)]:
        small.add({}, metrics=[{EXACT: value}], **of_day(day))
    answer = ask(small)
    assert changes(answer) == [(EXACT, "c1", "c2", 100.0, 101.0)]
    assert [row["point"] for row in rows(answer, "times")] == ["c0", "c1", "c2"]


def test_noisy_metrics_and_unknown_values_are_no_change(small: SmallStore) -> None:
    for day, value in enumerate([100.0, None, 100.0]):
        small.add({}, metrics=[{EXACT: value, NOISY: 10.0 + day}], **of_day(day))
    assert changes(ask(small)) == []


def test_a_change_across_a_report_without_the_counter_is_found(small: SmallStore) -> None:
    for day, value in enumerate([100.0, None, 101.0]):
        small.add({}, metrics=[{EXACT: value}], **of_day(day))
    assert [change[2] for change in changes(ask(small))] == ["c2"]


def test_launches_of_a_point_are_compared_as_a_set(small: SmallStore) -> None:
    for day, values in enumerate([(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (1.0, 2.0), (1.0, 5.0)]):
        small.add(*[{}] * len(values), metrics=[{EXACT: value} for value in values], **of_day(day))
    assert changes(ask(small)) == [(EXACT, "c2", "c3", "1, 2", "1, 5")]


def test_a_change_between_the_smallest_and_largest_value_is_found(small: SmallStore) -> None:
    for day, middle in enumerate([2.0, 2.5]):
        small.add({}, {}, {}, metrics=[{EXACT: value} for value in (1.0, middle, 3.0)], **of_day(day))
    assert changes(ask(small)) == [(EXACT, "c0", "c1", "1, 2, 3", "1, 2.5, 3")]


MANY = [float(value) for value in range(3 * MOST_VALUES)]


@pytest.mark.parametrize(
    ("later", "change"),
    [
        (MANY[::-1], None),
        (MANY[::2], None),
        ([*MANY, 500.0], None),
        ([*MANY[:-1], 500.0], (EXACT, "c1", "c2", "0, 1, 2, ...", "0, 1, 2, ...")),
        ([7.0], None),
        ([500.0], (EXACT, "c1", "c2", "0, 1, 2, ...", 500.0)),
    ],
    ids=["another order", "every second", "one more", "the largest is another", "one that was there", "a single other"],
)
def test_of_many_values_each_is_compared(later: list[float], change: tuple[Any, ...] | None, small: SmallStore) -> None:
    for day, values in enumerate([MANY, MANY, later, later]):
        small.add(*[{}] * len(values), metrics=[{EXACT: value} for value in values], **of_day(day))
    assert changes(ask(small)) == ([change] if change else [])


def test_of_many_values_those_of_the_last_point_with_the_counter_are_compared(small: SmallStore) -> None:
    for day in (0, 2):
        small.add(*[{}] * len(MANY), metrics=[{EXACT: value + day} for value in MANY], **of_day(day))
    small.add({}, metrics=[{EXACT: None, CYCLES: 5.0}], **of_day(1))
    small.add({"grid_x": 2}, metrics=[{EXACT: 1_000.0}], **of_day(1))
    assert [change[:3] for change in changes(ask(small))] == [(EXACT, "c1", "c2")]


def test_a_counter_of_many_values_varies_from_run_to_run(small: SmallStore) -> None:
    for day in range(4):
        small.add(*[{"code": 7}] * len(MANY), metrics=[{EXACT: value + day} for value in MANY], **of_day(day))
    answer = ask(small)
    assert changes(answer) == []
    (row,) = rows(answer, "work varies")
    assert (row["least"], row["most"], row["points"]) == (MANY[0], MANY[-1] + 3, 4)


def test_the_answer_says_what_else_changed(small: SmallStore) -> None:
    small.add({"code": 1}, metrics=[{EXACT: 1.0}], **of_day(0))
    small.add({"code": 1}, metrics=[{EXACT: 2.0}], **of_day(1), ncu_version="2026.1.0")
    small.add({"code": 2}, metrics=[{EXACT: 3.0}], **of_day(2), ncu_version="2026.1.0", cuda_version="13.1")
    assert [row["with"] for row in rows(ask(small), "changes")] == [
        "ncu 2025.3.1 -> 2026.1.0",
        "CUDA 13.0 -> 13.1, machine code",
    ]


def test_a_new_driver_at_the_same_commit_is_a_point_of_its_own(small: SmallStore) -> None:
    small.add({}, metrics=[{EXACT: 1.0}], **of_day(0))
    small.add({}, metrics=[{EXACT: 2.0}], **{**of_day(1), "point": "c0"}, cuda_version="13.1")
    assert [(row["since"], row["point"], row["with"]) for row in rows(ask(small), "changes")] == [
        ("c0", "c0", "CUDA 13.0 -> 13.1")
    ]


@pytest.mark.parametrize(
    "different",
    [{"clock_control": "none"}, {"cache_control": "none"}, {"replay_mode": "application"}, {"gpu": "NVIDIA H100"}],
)
def test_launches_that_are_not_comparable_have_no_change(small: SmallStore, different: dict[str, Any]) -> None:
    small.add({}, metrics=[{EXACT: 1.0}], **of_day(0))
    small.add({}, metrics=[{EXACT: 2.0}], **of_day(1), **different)
    answer = ask(small)
    assert changes(answer) == []
    assert len([table for table in answer.tables if table.title == "times"]) == 2


def test_other_configurations_are_series_of_their_own(small: SmallStore) -> None:
    small.add({}, metrics=[{EXACT: 1.0}], **of_day(0))
    small.add({"grid_x": 2}, metrics=[{EXACT: 2.0}], **of_day(1))
    small.add({"template_arguments": "<double>"}, metrics=[{EXACT: 3.0}], **of_day(2))
    assert changes(ask(small)) == []


def test_a_step_of_the_time_is_found_at_its_commit(small: SmallStore) -> None:
    for day, time in enumerate([*FEW, *(1.05 * time for time in FEW)]):
        small.add(*[{"duration_ns": time + at} for at in (-1, 0, 1)], **of_day(day))
    answer = ask(small)
    assert [change[:3] for change in changes(answer)] == [("time_ns", "c9", "c10")]
    assert rows(answer, "changes")[0]["ratio"] == pytest.approx(1.05, rel=0.002)
    assert [row["point"] for row in rows(answer, "times") if row["step"]] == ["c10"]


def test_a_step_with_the_clock_is_a_note(small: SmallStore) -> None:
    for day, time in enumerate([*FEW, *(1.1 * time for time in FEW)]):
        cycles = 1_980.0 * (time if day < 10 else time / 1.1)
        small.add({"duration_ns": time}, metrics=[{CYCLES: cycles}], **of_day(day))
    answer = ask(small)
    assert changes(answer) == []
    assert any("with the clock at c10" in note for note in answer.notes)


def test_a_drift_is_a_note(small: SmallStore) -> None:
    for day, time in enumerate(FEW * 2):
        small.add({"duration_ns": time * (1 + 0.02 * day)}, **of_day(day))
    answer = ask(small)
    assert changes(answer) == []
    assert any("drifts" in note for note in answer.notes)


def test_a_renamed_kernel_with_the_same_code_continues_its_series(small: SmallStore) -> None:
    old = {"kernel": "old", "function": "m::old", "demangled": "void m::old<float>()", "code": 5}
    small.add(old, metrics=[{EXACT: 1.0}], **of_day(0))
    small.add({"code": 5}, metrics=[{EXACT: 1.0}], **of_day(1))
    small.add({"code": 6}, metrics=[{EXACT: 2.0}], **of_day(2))
    answer = ask(small)
    assert [row["point"] for row in rows(answer, "times")] == ["c0", "c1", "c2"]
    assert any("m::old<float> has the machine code of n::k<float>" in note for note in answer.notes)
    assert changes(answer) == [(EXACT, "c1", "c2", 1.0, 2.0)]


def test_two_kernels_with_the_same_code_at_a_point_are_two_kernels(small: SmallStore) -> None:
    other = {"kernel": "empty", "function": "m::empty", "code": 5}
    small.add({"code": 5}, other, **of_day(0))
    small.add(other, **of_day(1))
    assert [row["point"] for row in rows(ask(small), "times")] == ["c0"]


@pytest.mark.parametrize("name", ["k", "n::k", "n::k<float>", "void n::k<float>(float *)"])
def test_a_kernel_is_found_by_any_of_its_names(small: SmallStore, name: str) -> None:
    small.add({}, {"function": "m::k", "demangled": "void m::k<float>(float *)"})
    names = {row["name"] for row in rows(ask(small, name), "times")}
    assert names == ({"n::k<float>", "m::k<float>"} if name == "k" else {"n::k<float>"})


def test_a_name_with_parameters_stands_for_all_overloads(small: SmallStore) -> None:
    small.add({}, {"demangled": "void n::k<float>(float *, int)"})
    (row,) = rows(ask(small, "void n::k<float>(float *)"), "times")
    assert (row["name"], row["launches"]) == ("n::k<float>", 2)


def test_launches_without_a_time_have_a_name_and_counters_only(small: SmallStore) -> None:
    small.add({"duration_ns": None}, **of_day(0))
    assert rows(ask(small), "times") == []
    small.add({}, {"duration_ns": None}, metrics=[{EXACT: 1.0}, {EXACT: 2.0}], **of_day(1))
    small.add({}, {"waits_for_peers": True}, metrics=[{EXACT: 1.0}, {EXACT: 3.0}], **of_day(2))
    answer = ask(small)
    assert [(row["point"], row["launches"]) for row in rows(answer, "times")] == [("c1", 1), ("c2", 1)]
    assert changes(answer) == [(EXACT, "c1", "c2", "1, 2", "1, 3")]


def test_an_unknown_kernel_is_an_error(small: SmallStore) -> None:
    small.add({})
    with pytest.raises(UnknownKernel):
        ask(small, "n::other")


def test_a_limit_shows_the_last_points_and_the_series_of_most_time(small: SmallStore) -> None:
    for day in range(5):
        small.add({}, {"grid_x": 1, "duration_ns": 9_000.0}, {"grid_x": 2, "duration_ns": 5_000.0}, **of_day(day))
    answer = ask(small, limit=2)
    assert [(row["grid"], row["point"]) for row in rows(answer, "times")] == [
        ("1x1x1", "c3"),
        ("1x1x1", "c4"),
        ("2x1x1", "c3"),
        ("2x1x1", "c4"),
    ]
    assert [table.left_out for table in answer.tables] == [3, 3]
    assert any("1 more configuration" in note for note in answer.notes)


def test_a_counter_that_changes_at_each_point_varies_from_run_to_run(small: SmallStore) -> None:
    for day, value in enumerate([100.0, 103.0, 101.0, 104.0]):
        small.add({"code": 7}, metrics=[{EXACT: value, CYCLES: 5.0}], **of_day(day))
    answer = ask(small)
    assert changes(answer) == []
    (row,) = rows(answer, "work varies")
    assert (row["name"], row["what"], row["least"], row["most"], row["points"]) == (
        "n::k<float>",
        EXACT,
        100.0,
        104.0,
        4,
    )


@pytest.mark.parametrize(
    ("values", "codes"),
    [([1.0, 2.0, 3.0], [7] * 3), ([1.0, 2.0, 3.0, 4.0, 4.0], [7] * 5), ([1.0, 2.0, 3.0, 4.0], [7, 8, 9, 10])],
    ids=["too few points", "it stays once", "the code changes"],
)
def test_other_counters_have_changed(values: list[float], codes: list[int], small: SmallStore) -> None:
    for day, (value, code) in enumerate(zip(values, codes, strict=True)):
        small.add({"code": code}, metrics=[{EXACT: value}], **of_day(day))
    answer = ask(small)
    assert len(changes(answer)) == len(set(values)) - 1
    assert not rows(answer, "work varies")
