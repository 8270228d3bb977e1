"""The main job, live: compile, check, profile, diagnose."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ncuview import analyze, ladder
from ncuview.base.errors import WrongResult
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.catalogue.live import profile_live
from ncuview.pipeline.calibration import calibrate
from tests.test_recorded import MISSED

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    ("kernel", "optimization", "low", "high"),
    [
        ("transposeCoalesced", "shared_memory_padding", 1.9, 2.6),
        ("transposeNaive", "shared_memory_tiling", 5.5, 8.5),
        ("copyRow", "thread_coarsening", 1.4, 2.2),
    ],
)
def test_a_live_run_gives_the_advice_of_the_recorded_profile(
    kernel: str, optimization: str, low: float, high: float
) -> None:
    launch = analyze(kernel, live=True).launches[0]
    assert launch.origin == "live"
    assert launch.findings[0].optimization == optimization
    assert low <= launch.findings[0].predicted_speedup.best <= high


@pytest.mark.parametrize("kernel", ["transposeNoBankConflicts", "copySharedMem"])
def test_a_finished_kernel_gets_no_advice_live(kernel: str) -> None:
    launch = analyze(kernel, live=True).launches[0]
    assert launch.verdict == "near-peak"
    assert not launch.findings


def test_every_step_of_the_ladder_is_predicted_within_a_quarter() -> None:
    for step in ladder("transpose", live=True).steps:
        if step.diagnosis.findings and step.measured_speedup and step.kernel not in MISSED:
            predicted = step.diagnosis.findings[0].predicted_speedup.best
            assert 0.75 <= predicted / step.measured_speedup <= 1.25, step.kernel


def test_a_calibration_measures_all_that_the_catalogue_can_show() -> None:
    found = calibrate()
    assert {share.assumed for share in found.shares.values()} == {"", "no kernel of the catalogue saturates it"}
    unseen = "no kernel of the catalogue measures it alone"
    assert {name for name, figure in found.figures.items() if figure.assumed == unseen} == {
        "bytes_in_flight",
        "float_atomic_use",
        "start_ns",
        "graph_gap_ns",
        "l2_bytes",
        "shared_bytes",
    }
    assert not any(figure.assumed for figure in found.figures.values() if figure.assumed != unseen)


def test_a_kernel_with_a_wrong_result_is_not_profiled(tmp_path: Path) -> None:
    kernel = _miscomputing_copy(tmp_path / "kernels")
    (tmp_path / "work").mkdir()
    with pytest.raises(WrongResult, match="67,108,864 wrong elements"):
        profile_live([launch_of(kernel)], ["gpu__time_duration.sum"], tmp_path / "work")


def _miscomputing_copy(folder: Path) -> Kernel:
    source = find_kernel("copy").path
    (folder / "transpose").mkdir(parents=True)
    copy = Path(shutil.copy(source, folder / "transpose"))
    copy.write_text(copy.read_text().replace("= idata[(y + j) * n + x]", "= idata[(y + j) * n + x] + 1.0f"))
    return load_kernels(copy)[0]
