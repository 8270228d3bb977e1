"""Only all launches of a report are a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ncuview.pipeline.examine import examine
from ncuview.records.profile import Profile
from tests.programs.test_of_profile import CHAIN


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def read(*_: object, meanwhile: Callable[[], object]) -> Profile:
        meanwhile()
        return CHAIN

    monkeypatch.setattr("ncuview.pipeline.profiled.read_with_sources", read)
    file = tmp_path / "a.ncu-rep"
    file.write_bytes(b"")
    return file


def test_all_launches_of_a_report_are_a_program(report: Path) -> None:
    program = examine(report).diagnosis.program
    assert program is not None
    assert program.findings


def test_the_launches_of_a_chosen_kernel_are_no_program(report: Path) -> None:
    diagnosis = examine(report, kernel_name="vectorized_elementwise_kernel").diagnosis
    assert diagnosis.program is None
    assert all(launch.call for launch in diagnosis.launches)
    assert {(launch.time_share, launch.changed_by) for launch in diagnosis.launches} == {(None, None)}
