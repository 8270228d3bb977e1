"""``ncuview.run`` from a target to a diagnosis, with ncu played by a recorded report."""

from __future__ import annotations

import math
import re
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import ncuview
from ncuview.base.errors import NcuviewError, ProgramFailed
from ncuview.base.paths import shipped
from ncuview.engine.plan import metrics_for
from ncuview.pipeline import examine, profiled
from ncuview.profiling.job import Profiled
from ncuview.profiling.ncu import NcuRun
from ncuview.profiling.options import CallStacks, NcuOptions
from ncuview.reader.child import PrestartedChildren

ROOT = Path(__file__).resolve().parents[2]
REPORT = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"


class PlayedNcu:
    """Leaves a recorded report as if the program had made it, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.program: Sequence[str] = ()
        self.options = NcuOptions()
        self.folder = Path()
        self.failing = False
        self.attempts = 1
        self.lost: NcuviewError | None = None

    def __call__(
        self,
        program: Sequence[str],
        metrics: Sequence[str],
        folder: Path,
        options: NcuOptions,
        *,
        launches_in: Callable[[Path], int],
        export: Path | None,
        timeout_s: float,
        no_progress_s: float | None,
        progress: Callable[..., object] | None,
        variables: Mapping[str, str] | None,
        meanwhile: Callable[[], object],
    ) -> Profiled:
        assert metrics == metrics_for(ncuview.load_rules())
        assert {path.name for path in folder.iterdir()} <= {"sent"}
        assert no_progress_s is None, "which means the default"
        assert launches_in(REPORT) == len(ncuview.read(REPORT).launches)
        assert progress is None
        assert variables is None, "those of this process"
        assert timeout_s == math.inf
        assert all(Path(word).is_file() for word in program[2:] if program[0] == sys.executable)
        self.program, self.options, self.folder = program, options, folder
        for _ in range(self.attempts):
            meanwhile()
        if self.failing:
            raise ProgramFailed("it failed")
        report = export or folder / "profile.ncu-repz"
        shutil.copy(REPORT, report)
        return Profiled((report,), options, NcuRun(0, "", "", 1, ()), self.lost)


@pytest.fixture
def ncu(monkeypatch: pytest.MonkeyPatch) -> PlayedNcu:
    played = PlayedNcu()
    monkeypatch.setattr("ncuview.profiling.program.run_program", played)
    return played


def step() -> None:
    """What a user would profile."""


def test_what_was_profiled_before_a_failure_is_kept_and_marked(ncu: PlayedNcu) -> None:
    ncu.lost = ProgramFailed("The program crashed", id="NCU-CRASH")
    made = ncuview.run("./program")
    examined = examine.examine_program(["./program"])
    for failure in (made.failure, ncuview.diagnose(made).failure, examined.diagnosis.failure):
        assert failure is not None
        assert (failure.id, failure.message, failure.exit_code) == ("NCU-CRASH", "The program crashed", 6)
    assert {report.damage for report in made.reports} == {""}, "the report is not to blame"


def test_a_command_is_profiled_and_can_be_diagnosed(ncu: PlayedNcu) -> None:
    made = ncuview.run("./program -n 3", options=ncuview.NcuOptions(launch_count=2))
    assert ncu.program == ["./program", "-n", "3"]
    assert ncu.options == NcuOptions(launch_count=2, call_stack=CallStacks.ALL)
    diagnosis = ncuview.diagnose(made)
    assert len(diagnosis.launches) == len(ncuview.read(REPORT).launches)
    assert diagnosis.launches[0].findings[0].optimization == "shared_memory_padding"


def test_a_function_is_profiled_between_start_and_stop_and_leaves_no_file(ncu: PlayedNcu) -> None:
    ncuview.run(step)
    assert ncu.program[:2] == [sys.executable, "-P"]
    assert not ncu.options.profile_from_start
    assert not ncu.folder.exists()
    assert not Path(ncu.program[-1]).exists()


def test_a_report_stays_where_it_is_to_stay(ncu: PlayedNcu, tmp_path: Path) -> None:
    ncuview.run(["./program"], export=tmp_path / "mine.ncu-repz")
    assert not ncu.folder.exists()
    assert len(ncuview.read(tmp_path / "mine.ncu-repz").launches)


def test_nothing_stays_of_a_program_that_fails(ncu: PlayedNcu) -> None:
    ncu.failing = True
    with pytest.raises(ProgramFailed):
        ncuview.run(step)
    assert not ncu.folder.exists()
    assert not Path(ncu.program[-1]).exists()


def test_every_name_of_the_library_page_is_public() -> None:
    page = (ROOT / "docs" / "how-to" / "library.md").read_text(encoding="utf-8")
    used = set(re.findall(r"ncuview\.(\w+)", page))
    assert "run" in used
    assert used <= set(ncuview.__all__)


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[PrestartedChildren]:
    """The children that were started to read, before there was a report."""
    started: list[PrestartedChildren] = []

    class Noted(PrestartedChildren):
        def __init__(self, *, with_code: bool) -> None:
            assert with_code
            super().__init__()
            self.process = self._children[0].process
            started.append(self)

    monkeypatch.setattr(profiled, "PrestartedChildren", Noted)
    return started


def test_what_reads_a_report_starts_once_while_ncu_runs(ncu: PlayedNcu, readers: list[PrestartedChildren]) -> None:
    ncu.attempts = 2
    ncuview.run("./program")
    assert len(readers) == 1
    assert readers[0].process.returncode == 0, "it has read the report"  # type: ignore[attr-defined]


def test_where_there_is_nothing_to_read_it_ends(ncu: PlayedNcu, readers: list[PrestartedChildren]) -> None:
    ncu.failing = True
    with pytest.raises(ProgramFailed):
        ncuview.run("./program")
    assert readers[0].process.returncode == -9  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name == "prepare"]
