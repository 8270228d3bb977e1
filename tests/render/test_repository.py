"""Paths of a repository: nothing outside of it, and paths of a report that are relative to another folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base import source_files
from ncuview.render.repository import Repository


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("a.cu", "a.cu"),
        ("./src/../a.cu", "a.cu"),
        ("src/a b.cu", "src/a b.cu"),
        ("..", None),
        (".", None),
        ("", None),
        ("../a.cu", None),
        ("/etc/passwd", None),
        ("a\0.cu", None),
        ("a\n.cu", None),
        ("a\udcff.cu", None),
        ("a\\b.cu", None),
    ],
)
def test_only_paths_below_the_root_count(file: str, path: str | None, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("a.cu", "src/a b.cu"):
        (tmp_path / name).touch()
    assert Repository(tmp_path).path(file) == path


def test_a_root_with_a_like_named_neighbour_does_not_let_it_in(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    assert Repository(tmp_path / "root").path(str(tmp_path / "root2" / "a.cu")) is None


def tree(root: Path, *files: str) -> Repository:
    for name in files:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return Repository(root)


def test_a_relative_path_is_looked_up_below_the_root(tmp_path: Path) -> None:
    found = tree(tmp_path, "kernels/transpose/copy.cu", "kernels/reduce/copy.cu", ".git/transpose/copy.cu")
    assert found.path("transpose/copy.cu") == "kernels/transpose/copy.cu"
    assert found.path("./transpose/copy.cu") == "kernels/transpose/copy.cu"
    assert found.path("copy.cu") is None  # there are two
    assert found.path("nspose/copy.cu") is None
    assert found.path("gone.cu") is None


def test_a_path_that_exists_is_not_looked_up(tmp_path: Path) -> None:
    assert tree(tmp_path, "transpose/copy.cu", "kernels/transpose/copy.cu").path("transpose/copy.cu") == (
        "transpose/copy.cu"
    )


def test_the_current_folder_is_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "kernels/copy.cu")
    monkeypatch.chdir(tmp_path)
    assert Repository(Path()).path("copy.cu") == "kernels/copy.cu"


def test_no_file_is_looked_up_through_a_link_or_in_a_very_large_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, "outside/lib/copy.cu", "root/src/main.cu")
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "outside")
    assert Repository(tmp_path / "root").path("lib/copy.cu") is None
    assert Repository(tmp_path / "root").path("main.cu") == "src/main.cu"
    monkeypatch.setattr(source_files, "MOST_FILES", 0)
    assert Repository(tmp_path / "root").path("main.cu") is None
