"""Copies and kernel together: the part of a kernel's gain that the end-to-end time shows, by Amdahl's law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.metrics.analysis import Analysis
from ncuview.records.profile import Profile
from ncuview.speedup.attainable import of_gpu
from ncuview.speedup.end_to_end import TRANSFER, attained, copies_dominate, of_host, with_copies
from ncuview.speedup.model import CERTAINTY
from tests.builders import H200, Launch, make_profile
from tests.engine.test_gpu_figures import on

if TYPE_CHECKING:
    from ncuview.speedup.model import Gains


def timed(
    to_device: float = 1e6,
    kernel: float = 1e6,
    to_host: float = 1e6,
    end_to_end: float = 3e6,
    streams: int = 1,
    copied_bytes: float = 1e8,
    device: str = H200,
) -> Launch:
    """A launch whose copies the host timed, in ns."""
    times = {
        "host__to_device_time": to_device,
        "host__kernel_time": kernel,
        "host__to_host_time": to_host,
        "host__whole_time": end_to_end,
        "host__streams": streams,
        "host__copied_bytes": copied_bytes,
    }
    return Launch(metrics=times, device=device)


def of_kernel(low: float, best: float, high: float, launches: int = 1) -> Gains:
    return np.tile([[low], [best], [high]], launches)


def end_to_end_gain(launch: Launch, *gains: float) -> tuple[float, ...]:
    """Low, best and high end-to-end, from those of the kernel."""
    low, best, high = gains if len(gains) == 3 else gains * 3
    return bounds(with_copies(of_kernel(low, best, high), Analysis(make_profile(launch))))


def bounds(gains: Gains, launch: int = 0) -> tuple[float, ...]:
    return tuple(gains[:, launch].tolist())


gains = st.lists(st.floats(0.1, 50.0), min_size=3, max_size=3).map(sorted)
durations = st.floats(1e3, 1e9)


@st.composite
def launches(draw: st.DrawFn) -> Launch:
    """Copies and kernel one after the other, or over several streams, never faster than the longest of them."""
    there, kernel, back, streams = draw(durations), draw(durations), draw(durations), draw(st.integers(1, 4))
    parts = (there, kernel, back)
    end_to_end = sum(parts) if streams == 1 else draw(st.floats(max(parts), sum(parts)))
    return timed(there, kernel, back, end_to_end, streams)


def test_a_kernel_that_is_a_third_of_the_end_to_end_time_gains_by_amdahls_law() -> None:
    assert end_to_end_gain(timed(), 1.5, 2.0, 4.0) == pytest.approx((1 / (2 / 3 + 1 / 4.5), 1.2, 1 / (2 / 3 + 1 / 12)))


def test_without_copies_the_end_to_end_gain_is_the_kernels() -> None:
    assert end_to_end_gain(timed(to_device=0.0, kernel=3e6, to_host=0.0), 1.5, 2.0, 4.0) == pytest.approx(
        (1.5, 2.0, 4.0)
    )


def test_a_launch_whose_copies_were_not_timed_keeps_its_gain() -> None:
    assert end_to_end_gain(Launch(), 1.5, 2.0, 4.0) == (1.5, 2.0, 4.0)


@pytest.mark.parametrize("name", ["host__kernel_time", "host__whole_time", "host__to_device_time"])
def test_a_launch_of_which_a_time_is_unknown_keeps_its_gain(name: str) -> None:
    launch = timed(streams=2).with_metrics({name: math.nan})
    assert end_to_end_gain(launch, 1.5, 2.0, 4.0) == (1.5, 2.0, 4.0)


def test_a_kernel_hidden_by_longer_copies_gains_nothing() -> None:
    assert end_to_end_gain(timed(to_device=5e6, kernel=4e6, end_to_end=6e6, streams=2), 10.0) == (1.0, 1.0, 1.0)


def test_only_the_part_that_does_not_overlap_with_copies_gains() -> None:
    launch = timed(to_device=2e6, kernel=5e6, to_host=1e6, end_to_end=6e6, streams=3)
    assert end_to_end_gain(launch, 2.0) == pytest.approx((1 / (0.5 + 0.5 / 2),) * 3)


def test_the_longer_direction_hides_the_kernel() -> None:
    one = end_to_end_gain(timed(to_device=2e6, kernel=5e6, to_host=1e6, end_to_end=6e6, streams=2), 2.0)
    other = end_to_end_gain(timed(to_device=1e6, kernel=5e6, to_host=2e6, end_to_end=6e6, streams=2), 2.0)
    assert one == other


@pytest.mark.parametrize("gain", [0.0, 5e-324])
def test_a_kernel_that_never_ends_makes_the_end_to_end_time_endless(gain: float) -> None:
    assert end_to_end_gain(timed(), gain) == (0.0, 0.0, 0.0)


def test_launches_do_not_influence_each_other() -> None:
    profile = make_profile(timed(), Launch(), timed(kernel=2e6, end_to_end=4e6))
    together = with_copies(of_kernel(1.5, 2.0, 4.0, launches=3), Analysis(profile))
    assert [bounds(together, launch)[1] for launch in range(3)] == pytest.approx([1.2, 2.0, 4 / 3])


@given(launches(), gains)
def test_the_end_to_end_gain_or_loss_is_no_more_than_the_kernels(launch: Launch, of: list[float]) -> None:
    for end_to_end, kernel in zip(end_to_end_gain(launch, *of), of, strict=True):
        assert min(1.0, kernel) <= end_to_end * (1 + 1e-9)
        assert end_to_end <= max(1.0, kernel) * (1 + 1e-9)


@given(launches(), gains)
def test_the_best_end_to_end_estimate_lies_between_its_bounds(launch: Launch, of: list[float]) -> None:
    low, best, high = end_to_end_gain(launch, *of)
    assert 0 < low <= best <= high < math.inf


@given(launches())
def test_a_kernel_that_gains_nothing_does_not_change_the_end_to_end_time(launch: Launch) -> None:
    assert end_to_end_gain(launch, 1.0) == pytest.approx((1.0, 1.0, 1.0))


@given(launches(), st.floats(1.0, 50.0))
def test_no_kernel_saves_more_time_than_it_takes(launch: Launch, gain: float) -> None:
    kernel, end_to_end = launch.metrics["host__kernel_time"], launch.metrics["host__whole_time"]
    assert kernel is not None
    assert end_to_end is not None
    assert end_to_end * (1 - 1 / end_to_end_gain(launch, gain)[1]) <= kernel * (1 - 1 / gain) + end_to_end * 1e-9


def test_the_share_of_the_time_that_is_left_gives_the_gain() -> None:
    low, best, high = bounds(of_host(np.array([0.5])))
    assert best == 2.0
    assert low == pytest.approx(1 / (1 - 0.5 * CERTAINTY["low"]))
    assert high == pytest.approx(1 / (1 - 0.5 * CERTAINTY["high"]))


def test_copies_are_still_the_bottleneck_after_a_change_to_copies() -> None:
    launch = on(H200, "transfers", "pageableCopies")
    assert [each.bottleneck_after for each in launch.findings if each.rule.code == "HOST001"] == [TRANSFER]


@pytest.mark.parametrize("left", [1.0, 1.5, 100.0])
def test_a_change_that_leaves_all_of_the_time_gains_nothing(left: float) -> None:
    assert bounds(of_host(np.array([left]))) == (1.0, 1.0, 1.0)


def test_an_unknown_share_gives_an_unknown_prediction() -> None:
    assert np.isnan(of_host(np.array([math.nan]))).all()


@given(st.floats(-1.0, 2.0))
def test_the_gain_of_a_change_to_copies_is_bounded(left: float) -> None:
    low, best, high = bounds(of_host(np.array([left])))
    assert 1 <= low <= best <= high <= 1000 * (1 + 1e-9)


@given(st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_leaving_less_gains_more(one: float, other: float) -> None:
    less, more = sorted((one, other))
    for gain_of_less, gain_of_more in zip(
        bounds(of_host(np.array([less]))), bounds(of_host(np.array([more]))), strict=True
    ):
        assert gain_of_less >= gain_of_more


def close(*made: Launch) -> list[float]:
    return [float(share) for share in attained(Analysis(make_profile(*made)))]


def at_the_bus(end_to_end: float, kernel: float = 1.0) -> Launch:
    """A launch that moves 1e8 bytes each way, which the bus takes this long for when both ways work at once."""
    return timed(kernel=kernel, end_to_end=end_to_end, copied_bytes=2e8)


ONE_WAY_NS = 1e8 / of_gpu(H200)["host_bytes_per_ns"]


def test_copies_both_ways_at_once_at_the_speed_of_the_bus_are_perfect() -> None:
    assert close(at_the_bus(1.3 * ONE_WAY_NS), at_the_bus(2.6 * ONE_WAY_NS)) == pytest.approx([1.0, 0.5])


def test_a_kernel_that_takes_longer_than_its_copies_is_what_a_perfect_overlap_takes() -> None:
    assert close(at_the_bus(10 * ONE_WAY_NS, kernel=8 * ONE_WAY_NS)) == pytest.approx([0.8])


def test_nothing_is_closer_than_perfect() -> None:
    assert close(at_the_bus(0.1 * ONE_WAY_NS)) == [1.0]


def test_how_close_it_comes_is_unknown_without_times() -> None:
    assert np.isnan(close(Launch(), timed().without("host__copied_bytes"))).all()


def test_a_gpu_that_was_not_measured_has_a_slow_bus() -> None:
    known, unknown = close(timed(end_to_end=1e8), timed(end_to_end=1e8, device="NVIDIA Unheard-of"))
    assert unknown > known


@given(launches())
def test_how_close_it_comes_is_a_share(launch: Launch) -> None:
    (share,) = close(launch)
    assert 0 < share <= 1


@pytest.mark.parametrize(("kernel", "longer"), [(1e6, True), (2e6, False), (3e6, False)])
def test_copies_dominate_when_both_together_take_longer_than_the_kernel(kernel: float, longer: bool) -> None:
    assert copies_dominate(Analysis(make_profile(timed(kernel=kernel)))) == [longer]


def test_copies_that_were_not_timed_do_not_dominate() -> None:
    profile: Profile = make_profile(Launch(), timed().without("host__to_host_time"))
    assert copies_dominate(Analysis(profile)) == [False, False]
