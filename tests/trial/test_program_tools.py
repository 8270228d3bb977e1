"""What a trial of a program needs of this machine: compute-sanitizer ends in time, and with an interruption."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ncuview.pipeline import trials
from ncuview.trial.programs import ProgramTools
from ncuview.trial.sanitizer import Inconclusive
from ncuview.trial.stages import Stages


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compute-sanitizer that notes its words and does not end."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text('#!/bin/sh\necho "$@" >> "$0.words"\nsleep 60\n', encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def tools_of(folder: Path) -> ProgramTools:
    return trials._tools_for_programs(folder / "no-library.so", [], Stages(), 2, lambda: 0.0)


def test_a_tool_that_does_not_end_in_the_time_that_is_left_proves_nothing(
    hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "_CHECK_S", 0.5)
    with pytest.raises(Inconclusive, match=r"racecheck did not end within 500 ms"):
        tools_of(hanging).sanitizer("racecheck", hanging, ["./app", "3"], "own::turn<4>")
    (words,) = (hanging / "compute-sanitizer.words").read_text(encoding="utf-8").splitlines()
    assert words.startswith("--tool racecheck")
    assert words.endswith("--kernel-name kns=turn ./app 3")


def test_an_interruption_ends_the_tools_that_run(hanging: Path) -> None:
    tools = tools_of(hanging)

    def interrupt() -> None:
        while not (hanging / "compute-sanitizer.words").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    def examine() -> None:
        tools.sanitizer("memcheck", hanging, ["./app"], "turn")

    with pytest.raises(KeyboardInterrupt):
        tools.at_once([examine, interrupt])
    with pytest.raises(Inconclusive):
        examine()
