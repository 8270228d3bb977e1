"""What is said without counters, beside what ncu says of the same kernels on this GPU."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from ncuview import analyze, load_rules, read
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.catalogue.live import profile_live
from ncuview.engine.plan import metrics_for
from ncuview.pipeline.without_counters import kernel_without_counters

pytestmark = pytest.mark.gpu

LONG_ENOUGH_NS = 100_000


@pytest.mark.parametrize(
    "name", ["transposeNaive", "transposeCoalesced", "copy", "reduce_v1", "preciseSine", "doubleLiteral", "mmul"]
)
def test_event_times_are_ncus_duration_and_a_launch(name: str) -> None:
    report = kernel_without_counters(name)
    assert report.times
    assert report.missing == ()
    duration = analyze(name, live=True).launches[0].duration_ns
    assert duration >= 0.8 * LONG_ENOUGH_NS
    assert 0.85 <= report.times.median_ns / duration <= 1.25
    low, high = report.times.bounds_ns
    assert high <= 1.3 * low


@pytest.mark.parametrize("name", ["registerHog", "sharedMemoryHog", "tinyBlocks", "mmul_tiled", "transposeCoalesced"])
def test_occupancy_and_resources_are_those_that_ncu_reports(name: str) -> None:
    (kernel,) = kernel_without_counters(name).kernels
    metrics = _metrics(name)
    assert kernel.occupancy
    assert 100 * kernel.occupancy.share == pytest.approx(metrics["sm__maximum_warps_per_active_cycle_pct"])
    assert max(16, kernel.registers) == metrics["launch__registers_per_thread"]
    assert kernel.shared == metrics["launch__shared_mem_per_block_static"]


def _metrics(name: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        report = profile_live([launch_of(find_kernel(name))], metrics_for(load_rules()), Path(folder))
        return {str(key): float(value) for key, value in read(report).metrics.iloc[0].items()}


def test_the_machine_code_is_of_this_gpu() -> None:
    report = kernel_without_counters("transposeCoalesced")
    assert report.times
    assert report.kernels[0].capability == report.times.capability
    assert report.launch
    assert report.launch.waves
