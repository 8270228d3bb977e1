"""NVIDIA's reader sees only the intact part of a damaged report, and what is missing is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportError, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.reader import wire
from ncuview.reader.framing import framing
from ncuview.reader.packing import packed
from ncuview.reader.precheck import checked_header, read_report
from ncuview.reader.readable_part import approve
from ncuview.reader.snapshot import Snapshot
from tests.reader import builder

COMPLETE = builder.report(launches=3)
RECORDED = shipped("kernels") / "transfers" / "h200.ncu-repz"


def file(folder: Path, data: bytes, name: str = "x.ncu-rep") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def open_files() -> set[str]:
    return {each.name for each in Path("/proc/self/fd").iterdir()}


def test_a_complete_report_is_approved_as_it_is(tmp_path: Path) -> None:
    found = approve(file(tmp_path, COMPLETE))
    assert found.snapshot.data[:] == COMPLETE
    assert (found.header.results, found.announced, found.damage) == (3, 3, ())
    found.snapshot.close()


def test_what_happens_to_the_file_afterwards_does_not_matter(tmp_path: Path) -> None:
    path = file(tmp_path, COMPLETE)
    found = approve(path)
    path.write_bytes(b"something else")
    assert found.snapshot.data[:] == COMPLETE
    found.snapshot.close()


def test_of_a_cut_report_the_complete_blocks_are_approved(tmp_path: Path) -> None:
    found = approve(file(tmp_path, COMPLETE[:-5]))
    assert checked_header(found.snapshot.data, tmp_path).results == found.header.results == 2
    assert found.announced is None
    assert [each.startswith("block ") for each in found.damage] == [True]
    found.snapshot.close()


def test_of_a_compressed_report_that_is_cut_what_can_be_unpacked_is_approved(tmp_path: Path) -> None:
    compressed = RECORDED.read_bytes()
    found = approve(file(tmp_path, compressed[: len(compressed) * 9 // 10], "x.ncu-repz"))
    assert 0 < found.header.results < checked_header(read_report(RECORDED), RECORDED).results
    assert found.announced is None
    assert "unpacked" in found.damage[0]
    assert framing(found.snapshot.data).damage == ()
    found.snapshot.close()


def test_a_compressed_report_that_is_cut_where_a_block_ends_is_damaged_all_the_same(tmp_path: Path) -> None:
    frame = packed(builder.report(launches=2))
    found = approve(file(tmp_path, frame + packed(b"more")[:-3], "x.ncu-repz"))
    assert (found.header.results, found.announced) == (2, None)
    assert len(found.damage) == 1
    found.snapshot.close()


@pytest.mark.parametrize(
    ("data", "name", "error"),
    [
        pytest.param(COMPLETE[:400], "x.ncu-rep", ReportDamaged, id="cut before the first launch"),
        pytest.param(packed(COMPLETE)[:12], "x.ncu-repz", ReportDamaged, id="nothing can be unpacked"),
        pytest.param(wire.encode_report([builder.block(kernels=[b""])]), "x.ncu-rep", ReportDamaged, id="no metrics"),
        pytest.param(wire.encode_report(builder.session_blocks()), "x.ncu-rep", ReportEmpty, id="no launch"),
        pytest.param(b"", "x.ncu-rep", ReportUnreadable, id="empty"),
        pytest.param(b"text", "x.ncu-rep", ReportUnreadable, id="no report"),
    ],
)
def test_where_no_launch_is_intact_nothing_is_approved_and_no_file_stays_open(
    tmp_path: Path, data: bytes, name: str, error: type[ReportError]
) -> None:
    before = open_files()
    with pytest.raises(error) as refused:
        approve(file(tmp_path, data, name))
    assert name in str(refused.value)
    assert refused.value.hint
    assert refused.value.id == ("NCU-CORRUPT" if error is ReportDamaged else error.__name__)
    assert open_files() == before


def test_where_there_is_no_room_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Snapshot:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Snapshot, "of", full)
    with pytest.raises(ReportUnreadable, match="does not fit into memory: No space left"):
        approve(file(tmp_path, COMPLETE))
