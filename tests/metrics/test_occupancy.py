"""Theoretical occupancy: as Nsight Compute reports it for every recorded launch, and limit by limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.catalogue.kernels import all_kernels
from ncuview.metrics.occupancy import MULTIPROCESSORS, best_occupancy, occupancy
from tests.profiles import recorded_profile

FAMILIES = sorted({kernel.text.family for kernel in all_kernels()})
capabilities = st.sampled_from(sorted(MULTIPROCESSORS))
threads = st.integers(1, 1024)
registers = st.integers(1, 255)
shared = st.integers(0, 228 << 10)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_what_ncu_reports_for_every_recorded_launch(family: str) -> None:
    metrics = recorded_profile(family).metrics
    for _, launch in metrics.iterrows():
        found = occupancy(
            "9.0",
            int(launch["launch__block_size"]),
            int(launch["launch__registers_per_thread"]),
            int(launch["launch__shared_mem_per_block_static"] + launch["launch__shared_mem_per_block_dynamic"]),
            int(launch["launch__barrier_count"]),
        )
        assert found
        assert 100 * found.share == pytest.approx(launch["sm__maximum_warps_per_active_cycle_pct"])
        assert found.limits["warps"] == launch["launch__occupancy_limit_warps"]
        assert found.limits["blocks"] == launch["launch__occupancy_limit_blocks"]
        assert found.limits["registers"] == launch["launch__occupancy_limit_registers"]


@pytest.mark.parametrize(
    ("asked", "blocks", "share", "limited_by"),
    [
        ((256, 32), 8, 1.0, ("warps", "registers")),
        ((256, 33), 6, 0.75, ("registers",)),
        ((32, 16), 32, 0.5, ("blocks",)),
        ((96, 16), 21, 63 / 64, ("warps",)),
        ((128, 16, 100 << 10), 2, 8 / 64, ("shared memory",)),
        ((64, 16, 0, 16), 4, 8 / 64, ("barriers",)),
        ((1024, 64), 1, 0.5, ("registers",)),
    ],
)
def test_the_resource_that_runs_out_first_is_named(
    asked: tuple[int, ...], blocks: int, share: float, limited_by: tuple[str, ...]
) -> None:
    found = occupancy("9.0", *asked)
    assert found
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("asked", "limited_by"),
    [
        ((1056, 16), ("warps",)),
        ((1024, 65), ("registers",)),
        ((32, 256), ("registers",)),
        ((32, 16, 228 << 10), ("shared memory",)),
    ],
)
def test_a_launch_that_cannot_be_made_has_no_block(asked: tuple[int, ...], limited_by: tuple[str, ...]) -> None:
    found = occupancy("9.0", *asked)
    assert found
    assert (found.blocks, found.share, found.limited_by) == (0, 0.0, limited_by)


def test_before_ampere_nothing_is_reserved_and_shared_memory_comes_in_larger_steps() -> None:
    # 32 KiB of 64 and of 100 less one for the driver: two blocks fit before, and three after.
    before, after = (occupancy(capability, 32, 16, 32 << 10) for capability in ("7.5", "8.6"))
    assert before
    assert after
    assert (before.limits["shared memory"], after.limits["shared memory"]) == (2, 3)
    step = occupancy("7.5", 32, 16, 4097)
    assert step
    assert step.limits["shared memory"] == (64 << 10) // (4096 + 256)


def test_what_is_not_used_limits_nothing() -> None:
    found = occupancy("9.0", 256, 32)
    assert found
    assert found.limits.keys() == {"warps", "blocks", "registers"}


@pytest.mark.parametrize("capability", ["", "6.1", "99.0", "9"])
def test_a_gpu_that_is_not_in_the_table_is_unknown(capability: str) -> None:
    assert occupancy(capability, 256, 32) is None
    assert best_occupancy(capability, 32) is None


@given(capabilities, threads, registers, shared)
def test_more_of_anything_never_fits_better(capability: str, size: int, used: int, memory: int) -> None:
    found, more = occupancy(capability, size, used, memory), occupancy(capability, size, used + 1, memory + 1)
    assert found
    assert more
    assert 0 <= more.blocks <= found.blocks
    assert 0 <= found.share <= 1


@given(capabilities, registers, shared)
def test_no_block_size_fills_a_multiprocessor_better_than_the_best(capability: str, used: int, memory: int) -> None:
    best = best_occupancy(capability, used, memory)
    assert best
    size, found = best
    shares = {
        each: filled.share for each in range(32, 1025, 32) if (filled := occupancy(capability, each, used, memory))
    }
    assert found.share == shares[size] == max(shares.values())
    assert all(share < found.share for each, share in shares.items() if each < size)
