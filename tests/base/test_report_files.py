"""A folder gives the reports below it, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncuview.base.errors import ReportEmpty, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.base.report_files import report_files
from ncuview.reader.reader import read


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
