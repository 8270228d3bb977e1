"""A batch is in a store completely or not at all, damaged batches are named, and no report counts twice."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from ncuview.base.errors import ReportDamaged, ReportUnreadable, UsageError
from ncuview.store.batches import Added, Batch, File, contents_of, file_name, new_id, publish, remove_abandoned
from ncuview.store.place import Folder, Place, place_of
from ncuview.store.schema import VERSION


def added(name: str, damage: str = "") -> Added:
    return Added(sha256(name.encode()).hexdigest(), name, 3, damage)


def batch(*names: str, at: str = "") -> Batch:
    return Batch(at or new_id(), VERSION, tuple(map(added, names)), ())


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_of(str(tmp_path / "store") if request.param == "folder" else f"memory://{tmp_path}/store")


def test_a_place_that_does_not_exist_holds_nothing(place: Place) -> None:
    assert contents_of(place).batches == ()


def test_published_batches_are_read_in_the_order_of_their_ids(place: Place) -> None:
    first, second = batch("a"), replace(batch("b"), files=(File("metrics", "metrics/x.parquet", 2, ("m.sum",)),))
    publish(place, second)
    publish(place, first)
    assert contents_of(place).batches == (first, second)


def test_a_report_of_two_batches_belongs_to_the_first(place: Place) -> None:
    publish(place, batch("a", "b", at="2"))
    publish(place, batch("b", "c", at="1"))
    found = contents_of(place)
    assert sorted(each.name for each in found.reports.values()) == ["a", "b", "c"]
    assert found.twice == {"2": frozenset({added("b").report})}


def test_damaged_reports_are_listed(place: Place) -> None:
    publish(place, replace(batch(), reports=(added("a"), added("b", "cut"))))
    assert [each.name for each in contents_of(place).damaged] == ["b"]


def test_a_damaged_batch_is_named(place: Place) -> None:
    place.write("batches/1.json", b'{"id": "1"')
    with pytest.raises(ReportDamaged, match=r"batches/1\.json is damaged"):
        contents_of(place)


def test_a_batch_of_a_newer_ncuview_is_refused(place: Place) -> None:
    publish(place, replace(batch("a"), version=VERSION + 1))
    with pytest.raises(ReportUnreadable, match="newer ncuview"):
        contents_of(place)


def test_names_of_gpus_are_no_paths() -> None:
    assert file_name("calls", "../a b/é", None, "7") == "calls/gpu=..%2Fa%20b%2F%C3%A9/month=unknown/7.parquet"


def test_old_files_of_no_batch_are_removed(tmp_path: Path) -> None:
    place = Folder(str(tmp_path))
    kept, left, new = (file_name("lines", "G", "2026-11", name) for name in ("kept", "left", "new"))
    for name in (kept, left, new):
        place.write(name, b"x")
    for name in (kept, left):
        os.utime(tmp_path / name, (time.time() - 2 * 24 * 3600,) * 2)
    publish(place, replace(batch("a"), files=(File("lines", kept, 1),)))
    remove_abandoned(place, contents_of(place))
    assert [(tmp_path / name).exists() for name in (kept, left, new)] == [True, False, True]


@pytest.mark.parametrize(
    ("name", "says"),
    [(" ", "empty"), ("a*b", "may not contain"), ("nothing-like://x", "cannot be opened")],
)
def test_names_that_are_no_place_are_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        place_of(name)


def test_a_file_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(UsageError, match="is a file"):
        place_of(str(tmp_path / "f"))


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be written"):
        publish(Folder(str(tmp_path / "f" / "store")), batch("a"))
