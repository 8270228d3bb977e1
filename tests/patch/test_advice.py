"""The first advice of a real diagnosis as a patch of the program's own source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.api import load_rules, read
from ncuview.engine.rank import diagnose
from ncuview.patch.advice import with_edits
from ncuview.records.diagnosis import LaunchDiagnosis, SourceEdit

if TYPE_CHECKING:
    import pytest

ACCURACY = Path(__file__).resolve().parents[2] / "benchmarks" / "accuracy"


def launch(program: str, kernel: str, *folders: Path) -> LaunchDiagnosis:
    report = ACCURACY / "h200" / f"{program}.ncu-repz"
    found = with_edits(diagnose(read(report, kernel_name=kernel, source_folders=folders), load_rules()), folders)
    return found.launches[0]


def edit_of(found: LaunchDiagnosis) -> SourceEdit:
    change = found.findings[0].edit
    assert change is not None
    return change


def test_the_tile_of_the_users_file_is_padded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ACCURACY / "programs" / "p22.cu", tmp_path)
    monkeypatch.chdir(tmp_path)
    change = edit_of(launch("p22", "k22b", tmp_path))
    assert change.title == "Pad tile by one word per row"
    assert "--- a/p22.cu\n" in change.diff, "the file is named from the current folder"
    subprocess.run(["git", "apply", "--check", "-"], input=change.diff, text=True, check=True, cwd=tmp_path)
    before = (tmp_path / "p22.cu").read_text(encoding="utf-8")
    subprocess.run(["git", "apply", "-"], input=change.diff, text=True, check=True, cwd=tmp_path)
    after = (tmp_path / "p22.cu").read_text(encoding="utf-8")
    assert "tile[TILE][TILE + 1]" in after
    assert before != after


def test_what_cannot_be_written_says_why() -> None:
    change = edit_of(launch("p05", "k05a", ACCURACY / "programs"))
    assert change.diff == ""
    assert change.reason


def test_without_the_source_nothing_is_said() -> None:
    found = launch("p22", "k22b")
    assert found.findings
    assert found.findings[0].edit is None


def test_only_the_first_advice_is_written() -> None:
    found = launch("p22", "k22b", ACCURACY / "programs")
    assert [finding.edit is not None for finding in found.findings] == [True, *[False] * (len(found.findings) - 1)]


def test_a_launch_without_advice_is_left_as_it_is() -> None:
    report = ACCURACY / "h200" / "p02.ncu-repz"
    diagnosis = diagnose(read(report, kernel_name="k02d"), load_rules())
    assert with_edits(diagnosis, [ACCURACY / "programs"]) == diagnosis
