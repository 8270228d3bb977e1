"""Sums are those of the launches: of merged batches, of reports that two batches hold, and beside older versions."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from ncuview import store
from ncuview.store import questions
from ncuview.store.batches import Batch, contents_of, new_id, publish
from ncuview.store.compaction import due, merged
from ncuview.store.files import write_tables
from ncuview.store.place import place_of
from ncuview.store.schema import VERSION
from ncuview.store.series import SINCE as SERIES_SINCE
from ncuview.store.sums import SINCE, added_up
from tests.store.small_store import SmallStore, make_older, of_day
from tests.store.test_versions import KEPT

REPORTS = 12


def fill(small: SmallStore) -> None:
    """Launches of which any value may be unknown; all times are whole, so that sums do not depend on their order."""
    chance = np.random.default_rng(2026)

    def one_of(*values: Any) -> Any:
        return values[chance.integers(len(values))]

    for day in range(REPORTS):
        launches = [
            {
                "kernel": (name := one_of("k0", "k1", "it's", "Kern\u00e9l")),
                "function": f"n::{name}",
                "template_arguments": one_of("<float>", None),
                "grid_x": one_of(0, 64, 128),
                "duration_ns": one_of(None, float(chance.integers(1_000, 2_000))),
                "attained": one_of(None, 0.5),
                "verdict": one_of("advice", "not-judged", "near-peak"),
                "owner": one_of(None, "cuBLAS"),
                "waits_for_peers": one_of(None, True, False),
                **one_of(
                    {},
                    {"rule": "R1", "optimization": "pad", "saved_ns": one_of(None, float(chance.integers(1_000)))},
                    {"rule": "R2", "optimization": "fuse", "saved_ns": float(chance.integers(1_000))},
                ),
            }
            for _ in range(chance.integers(1, 60))
        ]
        steady = {"kernel": "steady", "function": "steady"}
        launches += [{**steady, "duration_ns": 1_000.0 + 9_000 * (at == day == 5)} for at in range(9)]
        month = one_of(None, "2026-03", "2026-04")
        gpu, rank = one_of(None, "NVIDIA H200", "NVIDIA A100"), one_of(None, "rank 0", "rank 1")
        clock = one_of("base", None)
        small.add(*launches, gpu=gpu, rank=rank, month=month, clock_control=clock, **of_day(day))


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    made = SmallStore(tmp_path / "s")
    fill(made)
    return made


def added(name: str) -> tuple[list[Any], list[Any]]:
    """The sums of a store and those over its launches, each by what they have in common."""
    keys = "month, series, kernel, function, template_arguments, grid_x, gpu, clock_control, rule, optimization, owner"
    again = "sum(launches), sum(time_ns), sum(saved_ns), max(most_saved_ns), sum(counted), sum(judged), "
    again += "sum(timed), sum(timed_ns), min(least_ns), max(most_ns), sum(ranked_ns), "
    again += "list_sort(list_distinct(flatten(list(ranks))))"
    with store.open(name) as opened:
        return tuple(  # type: ignore[return-value]
            opened.sql(f"SELECT {keys}, {again} FROM ({query}) GROUP BY ALL ORDER BY ALL").fetchall()
            for query in ("FROM sums", added_up("FROM launches"))
        )


def answers(name: str) -> list[Any]:
    with store.open(name) as opened:
        of_all = [question(opened, 0) for question in (questions.top, questions.unprofiled, questions.outliers)]
        return [*of_all, *(questions.compare(opened, by, None, 0) for by in ("gpu", "shape", "rank"))]


def files(name: str) -> list[str]:
    return [file.name for batch in contents_of(place_of(name)).batches for file in batch.files if file.table == "sums"]


def test_sums_are_those_of_the_launches(small: SmallStore) -> None:
    sums, launches = added(small.name)
    assert sums == launches
    assert len(files(small.name)) == REPORTS
    assert all(answer.tables for answer in answers(small.name))


def test_merged_batches_have_their_sums(small: SmallStore) -> None:
    before, expected = added(small.name), answers(small.name)
    place = place_of(small.name)
    while task := due(small.name, contents_of(place)):
        publish(place, merged(task))
    assert len(files(small.name)) < REPORTS
    assert added(small.name) == before
    assert answers(small.name) == expected


def test_a_report_of_two_batches_counts_once(small: SmallStore) -> None:
    """Also where the second batch holds other reports."""
    before, expected = added(small.name), answers(small.name)
    place = place_of(small.name)
    first, *_, last = contents_of(place).batches
    with store.open(small.name) as opened:
        of_both = [report.report for report in (*first.reports, *last.reports)]
        launches = opened.sql("FROM launches WHERE report IN $of_both", of_both=of_both).to_arrow_table()
    identity = new_id()
    written = write_tables(place, identity, {"launches": [launches]})
    publish(place, Batch(identity, VERSION, (*first.reports, *last.reports), written))
    assert added(small.name) == before
    publish(place, replace(last, id=new_id(), replaces=(last.id,)))  # its report is now in the batch above first
    assert added(small.name) == before
    assert answers(small.name) == expected


@pytest.mark.parametrize("older", [1, REPORTS - 1, REPORTS])
@pytest.mark.parametrize("since", [SERIES_SINCE, SINCE])
def test_batches_of_older_versions_are_added_up_with_the_others(
    since: int, older: int, small: SmallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(small.name)
    upgrade = "SELECT * REPLACE (NULL::BIGINT AS series) FROM older" if since == SERIES_SINCE else "FROM older"
    make_older(monkeypatch, older, since, upgrade)
    sums, launches = added(small.name)
    assert sums == launches
    assert answers(small.name) == expected


@pytest.mark.parametrize("by", ["gpu", "shape", "rank"])
@pytest.mark.parametrize("equal", [False, True])
def test_the_rows_that_are_chosen_by_sums_are_the_first_of_all(
    tmp_path: Path, by: questions.By, *, equal: bool
) -> None:
    small = SmallStore(tmp_path / "s")
    for day in range(18):
        launches = [
            {"kernel": f"k{at}", "function": f"k{at}", "grid_x": 64 + day % 2, "duration_ns": 1e3 + (not equal) * at}
            for at in range(6)
            for _ in range(1 + day % 4)
        ]
        gpu, rank = ("NVIDIA H200", "NVIDIA A100")[day % 2 - day % 3], f"rank {day % 3}"
        small.add(*launches, gpu=gpu, rank=rank, clock_control=("base", "none")[day > 12], **of_day(day))
    with store.open(small.name) as opened:
        everything = questions.compare(opened, by, None, 0).tables
        assert len(everything) == 2
        for limit in (1, 2, 3, 7, 30):
            for table, all_rows in zip(questions.compare(opened, by, None, limit).tables, everything, strict=True):
                assert table.rows == all_rows.rows[:limit]
                assert table.left_out == max(0, len(all_rows.rows) - limit)


@pytest.mark.parametrize(("bins", "found"), [(36, 0), (37, 1), (-36, 0), (-37, 1)])
def test_a_series_is_left_out_only_where_no_launch_is_far(bins: int, found: int, tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "s")
    small.add(*[{}] * 9)
    small.add({"duration_ns": 1_000.0 * exp(bins / 200)})
    with store.open(small.name) as opened:
        assert opened.sql("SELECT count(*) FROM outliers").fetchall() == [(found,)]


@pytest.mark.parametrize("version", KEPT)
def test_sums_have_the_series_of_the_launches_beside_each_version(version: int, tmp_path: Path) -> None:
    small = SmallStore(Path(copytree(KEPT[version], tmp_path / "s")))
    small.add({}, {"grid_x": 128})
    sums, launches = added(small.name)
    assert sums == launches
    assert len({row[1] for row in sums}) == len(sums)
