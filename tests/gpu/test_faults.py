"""Real faults on a real GPU: the program's are the program's, and what was profiled before them is kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ncuview.api import read
from ncuview.base.errors import NcuviewError
from ncuview.profiling.machine import find_nvcc
from ncuview.profiling.options import ClockControl, NcuOptions
from ncuview.profiling.program import run_program
from ncuview.reader.precheck import launches_in

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).parents[2] / "fuzz" / "faulty_programs" / "app.cu"
METRICS = ["gpu__time_duration.sum"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> str:
    nvcc = find_nvcc()
    assert nvcc is not None
    made = tmp_path_factory.mktemp("app") / "app"
    subprocess.run([nvcc, "-arch=native", "-o", made, SOURCE], check=True)
    return str(made)


@pytest.mark.parametrize(
    ("how", "id_", "exit_code"), [("exit42", "NCU-APP", 6), ("segv", "NCU-CRASH", 6), ("abort", "NCU-CRASH", 6)]
)
def test_a_program_that_fails_leaves_its_launches(app: str, tmp_path: Path, how: str, id_: str, exit_code: int) -> None:
    try:
        made = run_program([app, how], METRICS, tmp_path, launches_in=launches_in)
    except NcuviewError as error:  # ncu writes no report of a program that was killed by a signal
        failure: NcuviewError | None = error
    else:
        failure = made.failure
        assert list(read(*made.reports).launches["kernel"]) == ["good"]
    assert failure is not None
    assert (failure.id, failure.exit_code) == (id_, exit_code)


def test_a_kernel_that_faults_is_not_shown(app: str, tmp_path: Path) -> None:
    with pytest.raises(NcuviewError) as failure:
        run_program([app, "illegal"], METRICS, tmp_path, launches_in=launches_in)
    assert failure.value.id == "NCU-LAUNCH"


@pytest.mark.parametrize("clocks", list(ClockControl))
def test_a_kernel_that_never_ends_is_stopped(app: str, tmp_path: Path, clocks: ClockControl) -> None:
    options = NcuOptions(clock_control=clocks)
    try:
        failure = run_program([app, "hang"], METRICS, tmp_path, options, timeout_s=20, launches_in=launches_in).failure
    except NcuviewError as error:
        failure = error
    assert failure is not None
    assert (failure.id, failure.exit_code) == ("NCU-HANG", 3)
