"""Profilings of a program by the played ncu."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ncuview.profiling.job import Profiled
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.program import run_program
from ncuview.reader.precheck import launches_in
from tests.profiling.played import (
    AS_NCU,
    METRICS,
    PROGRAM,
    Profile,
    play,
)
from tests.profiling.test_machine import Machine, gpu


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a GPU and a played ncu, in whose folder ncuview runs."""
    here = Machine(tmp_path, monkeypatch)
    here.answer_nvidia_smi(gpu())
    here.install("path/ncu", AS_NCU)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path)
    return here


@pytest.fixture
def profile(here: Machine, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Profile this Python with ``--its-own -k flags`` in a scenario of the played ncu."""

    def run(options: NcuOptions | None = None, *, export: Path | None = None, **scenario: Any) -> tuple[Path, ...]:
        play(here, monkeypatch, **scenario)
        return run_program(
            PROGRAM, METRICS, here.root / "work", options, export=export, launches_in=launches_in
        ).complete_reports()

    return run


@pytest.fixture
def partly(here: Machine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Profiled]:
    """The same, for who takes some of the launches."""

    def run(options: NcuOptions | None = None, *, export: Path | None = None, **scenario: Any) -> Profiled:
        play(here, monkeypatch, **scenario)
        return run_program(PROGRAM, METRICS, here.root / "work", options, export=export, launches_in=launches_in)

    return run
