"""A folder gives the reports below it and nothing else; a report that was changed after its checksum is refused."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportError, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.base.report_files import Sealed, regular_file, report_files, seal, sidecar
from ncuview.reader.precheck import precheck, read_report
from ncuview.reader.reader import read
from ncuview.reader.scrub import scrub
from tests.reader import builder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """What an MPI run of twelve ranks and its users leave in a folder."""
    for rank in range(12):
        (tmp_path / f"rank.{rank}.ncu-rep").touch()
    (tmp_path / "old").mkdir()
    for name in ("old/a.ncu-repz", "old/a.host.json", "rank.0.host.json", "notes.txt", "times.csv", ".x.ncu-rep"):
        (tmp_path / name).touch()
    return tmp_path


def names(files: Sequence[Path], folder: Path) -> list[str]:
    return [str(file.relative_to(folder)) for file in files]


def test_a_folder_stands_for_the_reports_below_it_in_the_order_of_their_numbers(run: Path) -> None:
    assert names(report_files([run]), run) == ["old/a.ncu-repz", *(f"rank.{rank}.ncu-rep" for rank in range(12))]


def test_files_are_taken_as_they_are_named_wherever_they_stand(run: Path) -> None:
    missing = run / "no-such-file"
    assert report_files([run / "times.csv", run / "old", str(missing)]) == (
        run / "times.csv",
        run / "old" / "a.ncu-repz",
        missing,
    )


def test_a_name_with_leading_zeros_has_a_place_of_its_own(tmp_path: Path) -> None:
    for name in ("r10", "r2", "r02", "r", "rx"):
        (tmp_path / f"{name}.ncu-rep").touch()
    found = names(report_files([tmp_path]), tmp_path)
    assert found.index("r02.ncu-rep") + 1 == found.index("r2.ncu-rep") == found.index("r10.ncu-rep") - 1
    assert len(found) == 5


def test_a_folder_without_a_report_is_empty(tmp_path: Path) -> None:
    with pytest.raises(ReportEmpty, match="holds no report") as refusal:
        report_files([tmp_path])
    assert refusal.value.exit_code == 3
    assert "ncu --export" in refusal.value.hint


def test_for_a_folder_of_exports_the_hint_is_to_name_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(ReportEmpty, match="holds no report") as refusal:
        report_files([tmp_path])
    assert "Name the .csv files" in refusal.value.hint


def test_a_folder_that_may_not_be_looked_into_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)  # tests may run as root, who may look into everything
    with pytest.raises(ReportUnreadable, match="cannot be searched: Permission denied"):
        report_files([tmp_path])


def test_the_recorded_reports_of_a_folder_are_one_profile() -> None:
    files = report_files([shipped("kernels") / "divergence", shipped("kernels") / "transfers"])
    profile = read(files)
    assert [Path(report.path).parent.name for report in profile.reports] == ["divergence", "transfers"]
    assert set(profile.launches["report"]) == set(map(str, files))


RECORDED = shipped("kernels") / "transfers" / "h200.ncu-repz"


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    path = tmp_path / "x.ncu-repz"
    shutil.copy(RECORDED, path)
    seal(path)
    return path


def test_a_sealed_report_is_read(sealed: Path) -> None:
    assert precheck(sealed) == precheck(RECORDED)
    assert not read([sealed]).reports[0].damage


@pytest.mark.parametrize(
    "name", ["x.ncu-rep", "with space.ncu-rep", "back\\slash.ncu-rep", "new\nline.ncu-rep", "ü.ncu-rep"]
)
def test_sha256sum_knows_the_checksum(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(builder.report())
    checksum = seal(path)
    assert checksum == sidecar(path) == tmp_path / f"{name}.sha256"
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", checksum], cwd=tmp_path, capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert precheck(path).results == 2


@pytest.mark.parametrize("ending", [".ncu-rep", ".ncu-repz"])
def test_each_of_a_thousand_flipped_bits_is_noticed(tmp_path: Path, ending: str) -> None:
    complete = RECORDED.read_bytes() if ending == ".ncu-repz" else read_report(RECORDED)
    path, chance, noticed = tmp_path / f"x{ending}", random.Random(1), 0
    path.write_bytes(complete)
    seal(path)
    for _ in range(500):
        place = chance.randrange(len(complete))
        changed = bytearray(complete)
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(ReportError):
            precheck(path)
        noticed += 1
    assert noticed == 500


def test_a_cut_between_two_blocks_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(builder.report(launches=2))
    seal(path)
    path.write_bytes(builder.report(launches=1))
    with pytest.raises(ReportDamaged, match="was changed after it was written") as refused:
        read([path])
    assert refused.value.id == "NCU-CORRUPT"
    assert str(sidecar(path)) in str(refused.value)


@pytest.mark.parametrize(
    "text", [b"", b"checksum\n", b"0" * 64, b"0" * 63 + b"  x\n", b"0" * 64 + b"  x\n" * 2, b"\xff" * 80]
)
def test_a_checksum_that_is_none_is_damage(sealed: Path, text: bytes) -> None:
    sidecar(sealed).write_bytes(text)
    with pytest.raises(ReportDamaged, match="is no checksum"):
        precheck(sealed)


def test_a_checksum_that_cannot_be_read_is_not_taken_for_none(sealed: Path) -> None:
    sidecar(sealed).unlink()
    os.mkfifo(sidecar(sealed))
    with pytest.raises(ReportUnreadable, match="a pipe or device"):
        precheck(sealed)


def test_a_copy_by_another_tool_is_checked_too(sealed: Path) -> None:
    sidecar(sealed).write_text(sidecar(sealed).read_text().replace("  ", " *").upper().replace("X.NCU", "x.ncu"))
    assert precheck(sealed).results > 0


def test_scrubbing_in_place_seals_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(builder.report())
    before = seal(path).read_text()
    scrub(path, path)
    assert sidecar(path).read_text() != before
    assert precheck(path).results == 2


def test_what_cannot_be_read_cannot_be_sealed(tmp_path: Path) -> None:
    with pytest.raises(ReportUnreadable):
        seal(tmp_path / "missing.ncu-rep")
    assert not list(tmp_path.iterdir())


def test_a_file_that_grows_while_it_is_read_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"four")
    with regular_file(path) as file:
        sealed = Sealed(file, path)
        with path.open("ab") as more:
            more.write(b" and more")
        assert (sealed.read(100), sealed.read(100), sealed.left) == (b"four", b"", 0)


def test_a_file_that_shrinks_while_it_is_read_ends(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"four")
    with regular_file(path) as file:
        sealed = Sealed(file, path)
        path.write_bytes(b"")
        assert (sealed.read(100), sealed.left) == (b"", 0)


def test_what_was_not_needed_of_a_report_is_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(3 << 20))
    seal(path)
    with regular_file(path) as file:
        Sealed(file, path).check()
    path.write_bytes(bytes((3 << 20) - 1) + b"\1")
    with regular_file(path) as file, pytest.raises(ReportDamaged, match="was changed"):
        Sealed(file, path).check()
