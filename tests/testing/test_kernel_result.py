"""What a test gets to know of a kernel: numbers by name, never one for several kernels, and errors that help."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from ncuview import api
from ncuview.base.errors import UnknownKernel, UnknownMetric, UsageError
from ncuview.records.diagnosis import Diagnosis
from ncuview.testing import KernelResult, Measured
from tests.builders import Launch, make_profile
from tests.hostile import each_hostile_text, poisoned
from tests.profiles import recorded_profile
from tests.render.sample import diagnosis, launch_near_peak, launch_with_advice
from tests.render.test_pages import ACTS_ON_A_TERMINAL


@pytest.fixture(scope="module")
def transpose() -> KernelResult:
    return stored("transpose")


@pytest.fixture(scope="module")
def bank_patterns() -> KernelResult:
    return stored("bank_patterns")


def stored(family: str) -> KernelResult:
    profile = recorded_profile(family)
    return KernelResult(profile, api.diagnose(profile))


def made(*launches: Launch, times: tuple[float, ...] = ()) -> KernelResult:
    """Launches made by hand, with these durations."""
    profile = make_profile(*launches)
    judged = api.diagnose(profile)
    timed = [replace(launch, duration_ns=time) for launch, time in zip(judged.launches, times, strict=False)]
    return KernelResult(profile, replace(judged, launches=(*timed, *judged.launches[len(timed) :])))


def test_a_textbook_metric_is_that_of_the_documents(transpose: KernelResult) -> None:
    assert transpose.kernel("transposeCoalesced")["shared_bank_conflict_ways"] == 16.5
    assert transpose.kernel("transposeNoBankConflicts")["shared_bank_conflict_ways"] == 1
    assert transpose.kernel("transposeNaive")["gst_transactions_per_request"] == 32


def test_a_metric_of_ncu_is_known_under_its_own_name(transpose: KernelResult) -> None:
    kernel = transpose.kernel("transposeCoalesced")
    wavefronts = kernel["memory_l1_wavefronts_shared"]
    assert wavefronts / kernel["memory_l1_wavefronts_shared_ideal"] == 16.5
    assert kernel["gpu__time_duration.sum"] == kernel.duration_ns
    duration = kernel["gpu__time_duration.sum"]
    assert isinstance(duration, Measured)
    assert (duration.what, duration.unit) == ("gpu__time_duration.sum", "ns")


def test_advice_and_prediction_are_those_of_the_diagnosis(transpose: KernelResult) -> None:
    kernel = transpose.kernel("transposeCoalesced")
    assert kernel.advice == "shared_memory_padding"
    assert kernel.predicted == kernel.findings[0].predicted_speedup.best > 2
    assert kernel.verdict == "advice"
    finished = transpose.kernel("transposeNoBankConflicts")
    assert (finished.advice, finished.findings, finished.predicted, finished.verdict) == ("", (), 1.0, "near-peak")


def test_a_number_of_several_kernels_is_refused_with_their_names(transpose: KernelResult) -> None:
    for ask in (
        lambda: transpose["shared_bank_conflict_ways"],
        lambda: transpose.duration_ns,
        lambda: transpose.advice,
    ):
        with pytest.raises(UsageError, match=r"30 kernels were profiled.*copy"):
            ask()


def test_kernels_are_chosen_by_name_pattern_and_extent(transpose: KernelResult) -> None:
    assert transpose.kernel("transposeNaive").launches[0].kernel == "transposeNaive"
    assert {each.launches[0].kernel for each in transpose.kernel("copy*").kernels} == {
        "copy",
        "copyRow",
        "copySharedMem",
    }
    (demangled,) = {launch.demangled for launch in transpose.kernel("transposeNaive").launches}
    assert transpose.kernel(demangled).launches == transpose.kernel("transposeNaive").launches
    grid, block = transpose.kernel("copy").launches[0].grid, transpose.kernel("copy").launches[0].block
    assert transpose.kernel("copy", grid=grid[:2], block=block).launches == transpose.kernel("copy").launches
    with pytest.raises(UnknownKernel, match=r"no kernel copy, grid \(1,\) was profiled"):
        transpose.kernel("copy", grid=(1,))


def test_an_unknown_kernel_is_an_error_that_names_those_that_there_are(transpose: KernelResult) -> None:
    with pytest.raises(UnknownKernel) as error:
        transpose.kernel("transposeNiave")
    assert "transpose" in error.value.hint


def test_names_that_are_patterns_by_accident_are_found() -> None:
    result = made(Launch(kernel="k<[with T = float]>"), Launch(kernel="other"))
    assert len(result.kernel("k<[with T = float]>").launches) == 1


def test_an_unknown_metric_is_an_error_with_the_name_that_was_meant(transpose: KernelResult) -> None:
    with pytest.raises(UnknownMetric) as error:
        transpose.kernel("copy")["bank_conflict_way"]
    assert "shared_bank_conflict_ways" in error.value.hint


def test_a_metric_without_a_subject_is_an_error_and_no_number(transpose: KernelResult) -> None:
    kernel = transpose.kernel("transposeNaive")
    assert "shared_bank_conflict_ways" not in kernel
    assert "gst_transactions" in kernel
    with pytest.raises(UnknownMetric, match="transposeNaive has no shared_bank_conflict_ways"):
        kernel["shared_bank_conflict_ways"]


def test_a_metric_that_was_collected_for_others_only_is_no_number() -> None:
    name = "launch__registers_per_thread"
    result = made(Launch(metrics={name: nan}, kernel="without"), Launch(metrics={name: 32.0}, kernel="with"))
    assert result.kernel("with")[name] == 32
    with pytest.raises(UnknownMetric, match=f"without has no value of {name}"):
        result.kernel("without")[name]


def test_repeats_give_the_median_time_and_the_advice_of_that_launch() -> None:
    result = made(*[Launch()] * 4, times=(300_000.0, 100_000.0, 110_000.0, nan))
    assert result.duration_ns == 110_000
    assert repr(result).startswith("<kernel, grid 8192, block 256: 110 us (median of 4 launches), ")


def test_an_unknown_time_is_an_error() -> None:
    with pytest.raises(UsageError, match="no duration"):
        _ = made(Launch(), times=(nan,)).duration_ns


def test_counts_of_launches_that_do_different_things_are_no_number(bank_patterns: KernelResult) -> None:
    kernel = bank_patterns.kernel("bank_strided")
    with pytest.raises(UsageError, match=r"shared_bank_conflict_ways is .* to 31\.9.* they do different things"):
        kernel["shared_bank_conflict_ways"]
    ways = [group["shared_bank_conflict_ways"] for group in kernel.launch_groups]
    assert len(ways) == len(set(ways)) == 5


def test_numbers_compute_as_numbers() -> None:
    number = Measured(2.5, "ways", "ratio", made(Launch()))
    assert number + 1 == 3.5
    assert number == pytest.approx(2.5)
    assert f"{number:.2f} {number}" == "2.50 2.5"
    assert repr(number) == "<ways 2.5 ratio>"


def test_the_explanation_says_kernel_next_step_and_line() -> None:
    lines = KernelResult(make_profile(), Diagnosis((launch_with_advice(),), ())).explanation()
    assert lines[0] == (
        "<transposeCoalesced, grid 256x256, block 32x8: 328.3 us, l1_data 88%, shared_memory_padding 2.18x>"
    )
    assert lines[1].startswith("Next: Pad the tile by one column: 2.18x faster. Up to 32-way bank conflicts")
    assert lines[2].startswith("Where: transpose/coalesced.cu:63  90% of it  odata[i] =")


def test_the_explanation_of_a_finished_kernel_says_stop() -> None:
    lines = KernelResult(make_profile(), Diagnosis((launch_near_peak(),), ())).explanation()
    assert "At 97% of what dram attains. Stop here." in lines[1]


@each_hostile_text
def test_hostile_names_are_shown_inert(text: str) -> None:
    for launch in diagnosis().launches:
        result = KernelResult(make_profile(), Diagnosis((poisoned(launch, text),), ()))
        assert not ACTS_ON_A_TERMINAL.search("".join(result.explanation()))
