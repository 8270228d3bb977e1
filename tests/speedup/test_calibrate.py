"""What good kernels attain, computed from profiles: of an H200 as shipped, and from constructed launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from ncuview.base.errors import NothingProfiled, UsageError
from ncuview.base.paths import shipped as shipped_folder
from ncuview.catalogue.kernels import Launch as CatalogueLaunch
from ncuview.catalogue.kernels import find_kernel
from ncuview.gpus import FIGURES
from ncuview.metrics.units import UNITS
from ncuview.pipeline import calibration
from ncuview.records.profile import Calibration, Profile
from ncuview.speedup.attainable import shipped
from ncuview.speedup.calibrate import KERNELS, SPREAD, USUAL_LOW, calibrate
from tests.builders import H200, USE, Launch, make_profile
from tests.profiles import stored_profiles

OTHER = "NVIDIA Unheard-of"
FAMILIES = sorted({find_kernel(name).text.family for name in KERNELS})
MEASURED = sorted(UNITS.keys() & shipped(H200).keys())
CLOSE = 0.055
"""Recordings differ by up to 3.5 % where clocks are not locked, and ``low`` of some units is a usual share."""


@cache
def recorded(*families: str) -> Calibration:
    with stored_profiles():
        return calibration.calibrate(*(shipped_folder("kernels") / family / "h200.ncu-repz" for family in families))


# The recorded profiles


@pytest.mark.parametrize("bound", ["low", "best", "high"])
@pytest.mark.parametrize("unit", MEASURED)
def test_the_shipped_shares_come_out_of_the_recorded_profiles(unit: str, bound: str) -> None:
    share = recorded(*FAMILIES).shares[unit]
    assert not share.assumed
    assert getattr(share, bound) == pytest.approx(shipped(H200)[unit][bound], rel=CLOSE)


@pytest.mark.parametrize("figure", ["launch_ns", "blocks_per_ns", "host_bytes_per_ns"])
def test_the_other_figures_come_out_too(figure: str) -> None:
    found = recorded(*FAMILIES).figures[figure]
    assert not found.assumed
    assert found.value == pytest.approx(shipped(H200)[figure], rel=CLOSE)


def test_the_differences_of_close_numbers_come_out_where_they_count() -> None:
    figures, dram = recorded(*FAMILIES).figures, recorded(*FAMILIES).shares["dram"].best
    known = shipped(H200)
    assert figures["launch_ns"].value + figures["memory_ns"].value == pytest.approx(2400, rel=CLOSE)
    half_written = known["dram"]["best"] - 0.48 * known["dram_write_cost"]
    assert dram - 0.48 * figures["dram_write_cost"].value == pytest.approx(half_written, rel=0.01)


def test_units_that_no_kernel_saturates_say_so() -> None:
    shares = recorded(*FAMILIES).shares
    assert {unit for unit, share in shares.items() if share.assumed} == UNITS.keys() - set(MEASURED)
    assert shares["tex"].assumed == "no kernel of the catalogue saturates it"


def test_fewer_reports_give_fewer_figures_and_name_the_missing_kernels() -> None:
    some = recorded("calibration")
    assert (some.shares["lsu"].kernel, some.shares["lsu"].assumed) == ("sharedRequests", "")
    assert some.shares["l2_atomic"].assumed == "no launch of histogram_global"
    assert some.shares["l2_atomic"].best == shipped(H200)["l2_atomic"]["best"]
    assert {name for name, figure in some.figures.items() if figure.assumed} == set(FIGURES) - {"launch_ns"}
    assert some.measured == "2026-11-21, ncu 2025.3.1"


def test_every_kernel_that_it_asks_for_is_in_the_catalogue() -> None:
    assert [find_kernel(name).name for name in KERNELS] == list(KERNELS)


def test_without_reports_those_kernels_are_profiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    profiled: list[str] = []

    def here(launches: Sequence[CatalogueLaunch], *_: object) -> Profile:
        profiled.extend(each.kernel.name for each in launches)
        return make_profile(launch("aluPipe", "alu", 90.0))

    monkeypatch.setattr(calibration, "profile_here", here)
    assert calibration.calibrate().shares["alu"].best == 0.9
    assert profiled == list(KERNELS)


# Made launches


def launch(kernel: str, unit: str = "", percent: float = 0.0, metrics: Mapping[str, float] = {}) -> Launch:
    """A launch on a GPU that was not measured, with one unit in use."""
    use = {USE[unit]: percent} if unit else {}
    return Launch(kernel=kernel, device=OTHER, metrics={**use, **metrics})


def of(*launches: Launch) -> Calibration:
    return calibrate([make_profile(*launches)])


def share(unit: str, *launches: Launch) -> Any:
    found = of(*launches, launch("xuPipe", "xu", 80.0)).shares[unit]
    return found.assumed or (found.low, found.best, found.high, found.kernel)


def test_a_unit_attains_what_its_kernel_reached() -> None:
    best = 0.9
    bounds = (round(USUAL_LOW * best, 3), best, round((1 + SPREAD) * best, 3), "aluPipe")
    assert share("alu", launch("aluPipe", "alu", 90.0), launch("aluPipe", "alu", 88.0)) == bounds


def test_the_peak_is_the_most_unless_more_was_seen() -> None:
    assert share("alu", launch("aluPipe", "alu", 99.0))[2] == 1.0
    assert share("alu", launch("aluPipe", "alu", 102.0))[1:3] == (1.02, 1.02)
    assert share("alu", launch("aluPipe", "alu", 140.0))[1:3] == (1.05, 1.05)


def test_the_least_is_what_a_kernel_reached_that_the_unit_limits() -> None:
    best = launch("sharedWavefronts", "l1_data", 90.0)
    assert share("l1_data", best, launch("transposeCoalesced", "l1_data", 81.0))[0] == 0.81
    assert share("l1_data", best, launch("transposeCoalesced", "l1_data", 96.0))[0] == 0.9
    other_bottleneck = launch("transposeCoalesced", "l1_data", 81.0, {USE["dram"]: 95.0})
    waiting = launch("transposeCoalesced", "l1_data", 60.0)
    usual = round(USUAL_LOW * 0.9, 3)
    assert share("l1_data", best, other_bottleneck)[0] == share("l1_data", best, waiting)[0] == usual


def test_a_unit_that_was_not_the_busiest_may_attain_more() -> None:
    busier = launch("fmaPipe", "issue", 97.0, {USE["fma"]: 80.0})
    assert share("fma", busier) == (round(USUAL_LOW * 0.8, 3), 0.9, 1.0, "fmaPipe")


def test_a_kernel_that_does_not_saturate_its_unit_shows_nothing() -> None:
    assert share("l2_out", launch("l2Read", "l2_out", 41.0)) == "l2Read reaches only 0.41"


def test_a_counter_that_was_not_collected_is_not_measured() -> None:
    assert share("alu", launch("aluPipe").without(USE["alu"])) == "no launch of aluPipe"


def test_the_cost_of_writing_is_what_a_copy_does_not_reach() -> None:
    half = {"dram__bytes_read.sum": 1e9, "dram__bytes_write.sum": 1e9}
    read = launch("dramRead", "dram", 90.0)
    copy = launch("copySharedMem", "dram", 80.0, half)
    assert of(read, copy).figures["dram_write_cost"].value == pytest.approx(0.2)
    assert of(read, launch("copySharedMem", "dram", 95.0, half)).figures["dram_write_cost"].value == 0.0
    finished = launch("transposeGranularity", "dram", 75.0, half)
    assert of(read, copy, finished).shares["dram"].low == pytest.approx(0.85)
    for slow in (
        launch("copySharedMem", "dram", 50.0, half),
        copy.with_metrics({"dram__bytes_write.sum": 0.0}),
    ):
        assert of(read, slow).figures["dram_write_cost"].assumed


def test_launches_cost_what_the_emptiest_and_the_smallest_take() -> None:
    empty, slower = (launch("emptyKernel", metrics={"gpu__time_duration.sum": ns}) for ns in (1800.0, 1900.0))
    small = launch("reduce_shuffle", metrics={"gpu__time_duration.sum": 2500.0, "launch__grid_size": 16.0})
    large = launch("reduce_v5_2", metrics={"gpu__time_duration.sum": 2400.0})
    saturating = launch("xuPipe", "xu", 80.0)
    figures = of(saturating, slower, empty, small, large).figures
    assert (figures["launch_ns"].value, figures["memory_ns"].value) == (1800.0, 700.0)
    assert of(saturating, empty).figures["memory_ns"].assumed
    assert of(saturating, small).figures["launch_ns"].assumed


def test_blocks_start_as_fast_as_a_kernel_shows_that_nothing_else_limits() -> None:
    metrics = {"launch__grid_size": float(1 << 20), "gpu__time_duration.sum": float(1 << 19)}
    saturating = launch("xuPipe", "xu", 80.0)
    assert of(saturating, launch("transposeGranularity", metrics=metrics)).figures["blocks_per_ns"].value == 2.0
    limited = launch("transposeGranularity", "dram", 90.0, metrics=metrics)
    assert "blocks_per_ns" not in of(saturating, limited).figures
    assert "blocks_per_ns" not in of(saturating, launch("transposeGranularity")).figures


# What cannot be calibrated from


def test_reports_of_other_kernels_show_nothing() -> None:
    with pytest.raises(NothingProfiled, match=f"no launch shows what {OTHER} attains") as raised:
        of(launch("saxpy", "dram", 90.0))
    assert "dramRead" in raised.value.hint


def test_reports_of_several_gpus_are_refused() -> None:
    with pytest.raises(UsageError, match=f"{OTHER}, {H200}"):
        calibrate([make_profile(launch("aluPipe", "alu", 90.0)), make_profile(Launch())])


def test_a_report_that_does_not_name_its_gpu_is_refused() -> None:
    with pytest.raises(NothingProfiled, match="do not name their GPU"):
        calibrate([make_profile(Launch(kernel="aluPipe", device=""))])
