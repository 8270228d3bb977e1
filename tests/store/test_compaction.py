"""Small batches become large ones: no row is lost or doubled, and who reads meanwhile goes on reading."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from ncuview import store
from ncuview.base.errors import ReportDamaged
from ncuview.store import batches, compaction
from ncuview.store.batches import Batch, Contents, contents_of, publish, remove_abandoned
from ncuview.store.compaction import MANY, due, merged
from ncuview.store.place import Place, place_of
from ncuview.store.schema import TableName
from tests.store.small_store import SmallStore, of_day

DAYS = 20
TABLES: tuple[TableName, ...] = ("reports", "launches", "metrics", "findings", "calls")


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    """A report for each of twenty days, with two launches of which each has another metric."""
    made = SmallStore(tmp_path / "s")
    for day in range(DAYS):
        metrics: list[dict[str, float | None]] = [{"a.sum": day, f"b{day}.sum": 1.0}, {"a.sum": None}]
        made.add({"kernel": f"k{day % 3}"}, {}, metrics=metrics, findings=[{"rule": "SMEM001"}], **of_day(day))
    return made


def compact(name: str) -> int:
    """Merge until nothing is due -> how often."""
    count, place = 0, place_of(name)
    while task := due(name, contents_of(place)):
        publish(place, merged(task))
        count += 1
    return count


def rows(name: str) -> dict[str, list[str]]:
    """All rows of all tables as texts, whatever the order of columns and rows."""
    with store.open(name) as opened:
        return {table: sorted(str(sorted(row.items())) for row in opened.arrow(table).to_pylist()) for table in TABLES}


def test_rows_stay_and_files_become_few(small: SmallStore) -> None:
    before = rows(small.name)
    assert compact(small.name) > 0
    held = contents_of(place_of(small.name))
    assert len(held.batches) < MANY
    assert len(held.reports) == DAYS
    assert rows(small.name) == before


def test_few_batches_or_large_ones_stay(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    held = contents_of(place_of(small.name)).batches
    assert due(small.name, Contents(held[: MANY - 1])) is None
    monkeypatch.setattr(compaction, "MOST_LAUNCHES", 3)  # of two each
    assert due(small.name, Contents(held)) is None
    monkeypatch.setattr(compaction, "MOST_LAUNCHES", 5)
    task = due(small.name, Contents(held))
    assert task
    assert [batch.id for batch in task.batches] == [batch.id for batch in held[:2]]


def test_a_report_of_two_batches_is_merged_once(small: SmallStore) -> None:
    place = place_of(small.name)
    held = contents_of(place).batches
    publish(place, replace(held[3], id=batches.new_id()))
    before = rows(small.name)
    compact(small.name)
    assert rows(small.name) == before
    assert sum(len(batch.reports) for batch in contents_of(place).batches) == DAYS


def test_two_who_merge_the_same_double_nothing(small: SmallStore) -> None:
    place, before = place_of(small.name), rows(small.name)
    task = due(small.name, contents_of(place))
    assert task
    for _ in range(2):
        publish(place, merged(task))
    assert rows(small.name) == before
    compact(small.name)
    assert rows(small.name) == before


def test_who_opened_the_store_before_goes_on_reading(small: SmallStore) -> None:
    with store.open(small.name) as opened:
        compact(small.name)
        remove_abandoned(place_of(small.name), contents_of(place_of(small.name)))
        assert opened.sql("SELECT count(*) FROM launches").fetchall() == [(2 * DAYS,)]


@pytest.mark.parametrize("url", [False, True])
def test_what_was_replaced_goes_a_day_later(
    small: SmallStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, url: bool
) -> None:
    name = f"memory://{tmp_path.name}/s" if url else small.name
    if url:
        copy(place_of(small.name), place_of(name))
    before = rows(name)
    compact(name)
    in_two_days = time.time() + 2 * 24 * 3600
    monkeypatch.setattr("time.time", lambda: in_two_days)
    place = place_of(name)
    remove_abandoned(place, contents_of(place))
    held = contents_of(place)
    assert held.replaced == ()
    assert rows(name) == before
    if not url:
        files = {file.name for batch in held.batches for file in batch.files}
        there = {str(file.relative_to(small.name)) for file in Path(small.name).rglob("*.parquet")}
        assert there == files


def copy(source: Place, target: Place) -> None:
    for batch in contents_of(source).batches:
        for file in batch.files:
            target.write(file.name, source.read(file.name))
        publish(target, batch)


def test_a_batch_that_vanishes_while_it_is_read_is_looked_for_again(
    small: SmallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(small.name)
    names = place.names("batches", ".json")
    seen = iter([[*names, "batches/0.json"], names, names])
    monkeypatch.setattr(place, "names", lambda *_: next(seen))
    assert len(contents_of(place).reports) == DAYS


def test_a_replaced_batch_of_a_replaced_batch_stays_out(small: SmallStore) -> None:
    first, second, *_ = contents_of(place_of(small.name)).batches
    merged_one = Batch("5", first.version, first.reports, first.files, (first.id,))
    last = Batch("6", first.version, (*first.reports, *second.reports), first.files, ("5", second.id, first.id))
    held = Contents((first, second, merged_one, last))
    assert held.batches == (last,)


def test_a_damaged_file_is_named(small: SmallStore) -> None:
    held = contents_of(place_of(small.name))
    task = due(small.name, held)
    assert task
    Path(small.name, held.batches[0].files[0].name).write_bytes(b"PAR1 nothing")
    with pytest.raises(ReportDamaged, match=r"\.parquet is damaged"):
        merged(task)
