"""Lanes of warp operations: the masks that edits write, and who executes shuffles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.patch.patch import Edit, edit_between
from ncuview.trial.cases import Build
from ncuview.trial.kernel_files import KernelFileBench
from ncuview.trial.lanes import missing_lanes, new_mask
from ncuview.trial.work import LANES, Counted
from tests.emulation import needs_gpp
from tests.trial.emulated import build, process, reload_of, replaced, tools
from tests.trial.test_work import recorded


def edit(before: str, after: str) -> Edit:
    return edit_between("Change it", before, after)


@pytest.mark.parametrize("mask", ["0xffffu", "__activemask()", "mask", "(1u << lanes) - 1", "__ballot_sync(~0u, x)"])
def test_a_new_mask_of_some_lanes_is_named(mask: str) -> None:
    before = "sum += __shfl_down_sync(0xffffffff, sum, c);"
    found = new_mask(edit(before, before.replace("0xffffffff", mask)))
    assert found == f"that just the lanes {mask} come to a warp operation is not proven"


@pytest.mark.parametrize("mask", ["0xffffffff", "0xFFFFFFFFu", "~0u", "-1"])
@pytest.mark.parametrize("call", ["__shfl_down_sync({}, sum, c)", "__reduce_add_sync( {}, sum)", "__syncwarp({})"])
def test_a_mask_of_all_lanes_is_no_new_one(mask: str, call: str) -> None:
    assert not new_mask(edit("sum;", call.format(mask)))
    assert not new_mask(edit("sum;", "__syncwarp()"))


def test_a_mask_that_the_source_has_is_no_new_one() -> None:
    before = "sum += __shfl_xor_sync(warp, sum, 1);"
    assert not new_mask(edit(before, f"{before}\nsum += __shfl_xor_sync(warp, sum, 2);"))


class TestExecuted:
    def test_all_lanes_execute_the_shuffles_of_a_recorded_reduction(self) -> None:
        assert recorded("reduce_shuffle").amounts[LANES] == 32
        assert LANES not in recorded("transposeCoalesced").amounts

    def test_lanes_that_are_missing_are_counted(self) -> None:
        whole = recorded("reduce_shuffle")
        part = replace(whole, amounts={**whole.amounts, LANES: 8.0})
        assert missing_lanes(whole, part).startswith("8.0 of 32 lanes execute")
        assert not missing_lanes(whole, whole)

    def test_lanes_that_the_original_misses_too_are_no_change(self) -> None:
        whole = recorded("reduce_shuffle")
        part, less = (replace(whole, amounts={**whole.amounts, LANES: lanes}) for lanes in (8.0, 4.0))
        assert not missing_lanes(part, part)
        assert missing_lanes(part, less).startswith("4.0 of 32 lanes execute")

    def test_a_block_that_ends_with_a_part_of_a_warp_does_not_tell(self) -> None:
        whole = recorded("reduce_shuffle")
        ((name, grid, _),) = whole.launches
        part = replace(whole, launches=((name, grid, (40, 1, 1)),), amounts={**whole.amounts, LANES: 20.0})
        assert not missing_lanes(whole, part)


@needs_gpp
class TestChecked:
    def test_a_mask_of_some_lanes_makes_an_edit_unproven(self, tmp_path: Path) -> None:
        small = build(find_kernel("reduce_shuffle")).kernel
        bench = KernelFileBench(small, reload_of(small), tmp_path, tools(process))
        wrong = replaced(small, {"__shfl_down_sync(0xffffffff, sum, c)": "__shfl_down_sync(0xffff, sum, c)"})
        source = small.path.read_text()
        found = bench.check(bench.build(source), bench.build(wrong), edit(source, wrong))
        assert (found.verdict, found.check) == ("unproven", "lanes")

    def test_a_shuffle_over_inactive_lanes_makes_an_edit_unproven(self, tmp_path: Path) -> None:
        small = build(find_kernel("reduce_shuffle")).kernel
        whole = recorded("reduce_shuffle")
        source = small.path.read_text()
        other = source.replace("sum += __shfl_down_sync", "sum = sum + __shfl_down_sync")

        def count(version: Build) -> Counted:
            launch = launch_of(version.kernel)
            lanes = {LANES: 8.0} if version.kernel.path.read_text() == other else {}
            function = whole.launches[0][0]
            return replace(whole, launches=((function, launch.grid, launch.block),), amounts={**whole.amounts, **lanes})

        bench = KernelFileBench(small, reload_of(small), tmp_path, tools(process, count))
        found = bench.check(bench.build(source), bench.build(other), edit(source, other))
        assert (found.verdict, found.check) == ("unproven", "lanes")
