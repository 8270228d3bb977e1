"""Which file is which point and rank: by its folder and its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base.errors import ReportEmpty
from ncuview.trends.series_files import number_aware_key, series_files


def made(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def places(*targets: Path) -> dict[str, tuple[str, str]]:
    return {each.file.name: (each.point, each.rank) for each in series_files(targets)}


@pytest.mark.parametrize(
    ("name", "point", "rank"),
    [
        ("a1b2c3.ncu-rep", "a1b2c3", ""),
        ("2026-11-01.ncu-repz", "2026-11-01", ""),
        ("a1b2.json", "a1b2", ""),
        ("a1b2/transpose.ncu-rep", "a1b2", ""),
        ("main/a1b2/transpose.ncu-rep", "main/a1b2", ""),
        ("a1b2/rank3.ncu-rep", "a1b2", "rank 3"),
        ("a1b2/transpose_rank_03.ncu-rep", "a1b2", "rank 3"),
        ("a1b2-RANK12.ncu-rep", "a1b2", "rank 12"),
        ("rank.2.ncu-rep", "runs", "rank 2"),
        ("gpu1.ncu-rep", "runs", "gpu 1"),
        ("rank1/a1b2.ncu-rep", "a1b2", "rank 1"),
        ("a1b2/rank1/x.ncu-rep", "a1b2", "rank 1"),
        ("frank3.ncu-rep", "frank3", ""),
        ("rank3d.ncu-rep", "rank3d", ""),
        ("ranks.ncu-rep", "ranks", ""),
    ],
)
def test_a_name_gives_the_point_and_the_rank(tmp_path: Path, name: str, point: str, rank: str) -> None:
    folder = made(tmp_path / "runs", name)
    assert places(folder) == {Path(name).name: (point, rank)}


def test_several_folders_are_points_themselves(tmp_path: Path) -> None:
    old, new = (made(tmp_path / name, "transpose.ncu-rep") for name in ("old", "new"))
    assert {each.point for each in series_files([old, new])} == {"old", "new"}


def test_a_file_that_is_named_is_a_point_of_its_own_name(tmp_path: Path) -> None:
    made(tmp_path, "x/a.ncu-rep", "x/b.ncu-rep")
    assert [each.point for each in series_files([tmp_path / "x" / "a.ncu-rep", tmp_path / "x" / "b.ncu-rep"])] == [
        "a",
        "b",
    ]


def test_what_was_made_from_a_report_does_not_count_twice(tmp_path: Path) -> None:
    made(tmp_path, "a.ncu-rep", "a.json", "b.json", "c/a.json")
    assert {str(each.file.relative_to(tmp_path)) for each in series_files([tmp_path])} == {
        "a.ncu-rep",
        "b.json",
        "c/a.json",
    }


def test_hidden_and_other_files_are_left_out(tmp_path: Path) -> None:
    made(tmp_path, "a.ncu-rep", ".b.ncu-rep", ".c.json", "d.txt")
    assert set(places(tmp_path)) == {"a.ncu-rep"}


def test_an_empty_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    made(tmp_path, "notes.txt")
    with pytest.raises(ReportEmpty, match=tmp_path.name):
        series_files([tmp_path])


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    names = ["rank 10", "rank 2", "rank 1", "b", "a10", "a9"]
    assert sorted(names, key=number_aware_key) == ["a9", "a10", "b", "rank 1", "rank 2", "rank 10"]
