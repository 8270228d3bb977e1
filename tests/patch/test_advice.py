"""The first advice of a real diagnosis as a patch of the program's own source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ncuview.api import load_rules, read
from ncuview.engine.rank import diagnose
from ncuview.patch import with_edits
from ncuview.records.diagnosis import LaunchDiagnosis, SourceEdit

pytestmark = pytest.mark.validation
VALIDATION = Path(__file__).resolve().parents[2] / "validation"


def source_of(program: str, folder: Path) -> Path:
    """Where a program's source was put, under the name that it was compiled by: p22.cu of program p022."""
    (source,) = (VALIDATION / "programs").glob(f"{program}-*.cu")
    return Path(shutil.copy(source, folder / f"p{int(program[1:]):02}.cu"))


def launch(program: str, kernel: str, *folders: Path) -> LaunchDiagnosis:
    report = VALIDATION / "h200" / f"{program}.ncu-repz"
    found = with_edits(diagnose(read(report, kernel_name=kernel, source_folders=folders), load_rules()), folders)
    return found.launches[0]


def edit_of(found: LaunchDiagnosis) -> SourceEdit:
    change = found.findings[0].edit
    assert change is not None
    return change


def test_the_tile_of_the_users_file_is_padded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of("p022", tmp_path)
    monkeypatch.chdir(tmp_path)
    change = edit_of(launch("p022", "k22b", tmp_path))
    assert change.title == "Pad tile by one word per row"
    assert "--- a/p22.cu\n" in change.diff, "the file is named from the current folder"
    subprocess.run(["git", "apply", "--check", "-"], input=change.diff, text=True, check=True, cwd=tmp_path)
    before = source.read_text(encoding="utf-8")
    subprocess.run(["git", "apply", "-"], input=change.diff, text=True, check=True, cwd=tmp_path)
    after = source.read_text(encoding="utf-8")
    assert "tile[TILE][TILE + 1]" in after
    assert before != after


def test_a_file_of_a_repository_is_named_from_its_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, elsewhere = tmp_path / "repository", tmp_path / "elsewhere"
    for folder in (root / ".git", root / "src", elsewhere):
        folder.mkdir(parents=True)
    source_of("p022", root / "src")
    monkeypatch.chdir(elsewhere)
    change = edit_of(launch("p022", "k22b", root / "src"))
    assert "--- a/src/p22.cu\n" in change.diff
    subprocess.run(["git", "apply", "--check", "-"], input=change.diff, text=True, check=True, cwd=root)


def test_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    source_of("p005", tmp_path)
    change = edit_of(launch("p005", "k05a", tmp_path))
    assert change.diff == ""
    assert change.reason


def test_without_the_source_nothing_is_said() -> None:
    found = launch("p022", "k22b")
    assert found.findings
    assert found.findings[0].edit is None


def test_only_the_first_advice_is_written(tmp_path: Path) -> None:
    source_of("p022", tmp_path)
    found = launch("p022", "k22b", tmp_path)
    assert [finding.edit is not None for finding in found.findings] == [True, *[False] * (len(found.findings) - 1)]


def test_a_launch_without_advice_is_left_as_it_is(tmp_path: Path) -> None:
    source_of("p002", tmp_path)
    report = VALIDATION / "h200" / "p002.ncu-repz"
    diagnosis = diagnose(read(report, kernel_name="k02d"), load_rules())
    assert with_edits(diagnosis, [tmp_path]) == diagnosis
