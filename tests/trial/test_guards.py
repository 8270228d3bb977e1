"""Guards: ablations of several kernels pass them, and variants that have lost work or a loop do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.patch.patch import Change
from ncuview.records.diagnosis import Finding, Fix, Gain, RuleId
from ncuview.sass.address import bank_conflict, lane_stride
from ncuview.sass.code import positions_of
from ncuview.sass.opcode_classes import is_barrier, is_global_atomic, is_global_store, is_shared_access
from ncuview.trial.ablations import Ablation
from ncuview.trial.guards import (
    PASSED,
    WORK,
    Guarded,
    MeasuredBound,
    NoStatement,
    Withdrawn,
    dynamic_guards,
    ended,
    first_failed,
    in_bounds,
    judged,
    static_guards,
)
from tests.trial.building import catalogue, code, made, variant

SUM = """
__global__ void k(const float *a, float *y, int n)
{
    float sum = 0.0f;
    for (int j = 0; j < n; j++)
        sum += a[j * 1024 + threadIdx.x];
    y[threadIdx.x] = sum;
}
"""
FOUR = """
__global__ void k(const float4 *a, float *y)
{
    float4 v = a[threadIdx.x];
    float w = y[threadIdx.x + 64], x = y[threadIdx.x + 128], z = y[threadIdx.x + 192];
    y[threadIdx.x] = v.x * w + v.y * x + v.z * z;
}
"""
ARITHMETIC = """
__global__ void k(unsigned *a, int n)
{
    unsigned v = a[threadIdx.x];
    for (int r = 0; r < n; r++)
        v = v * 1664525u + 1013904223u;
    a[threadIdx.x] = v;
}
"""


class TestStatic:
    def test_the_bank_conflict_of_a_transposed_tile_is_gone(self, tmp_path: Path) -> None:
        name, source = "transposeCoalesced", catalogue("transpose/transposeCoalesced")
        after = variant(source, made(source, "conflict_free_index", "odata[", kernel=name), tmp_path / "made")
        before, ablated = code(source, tmp_path / "before", name), code(after, tmp_path / "after", name)
        assert static_guards("conflict_free_index", before, ablated) == PASSED
        worst = [
            max(
                bank_conflict(stride, 4)
                for at in positions_of(each.code, is_shared_access)
                if (stride := lane_stride(each.code, at)) is not None
            )
            for each in (before, ablated)
        ]
        assert worst == [32, 1]

    def test_scattered_stores_are_left(self, tmp_path: Path) -> None:
        name, source = "transposeNaive", catalogue("transpose/transposeNaive")
        after = variant(source, made(source, "coalesced_index", "odata[", kernel=name), tmp_path / "made")
        before, ablated = code(source, tmp_path / "before", name), code(after, tmp_path / "after", name)
        assert static_guards("coalesced_index", before, ablated) == PASSED
        assert positions_of(ablated.code, is_global_store)

    def test_barriers_are_gone_and_shared_accesses_are_left(self, tmp_path: Path) -> None:
        name, source = "reduce_v2", catalogue("reduction/reduce_v2")
        after = variant(source, made(source, "no_barrier", kernel=name), tmp_path / "made")
        before, ablated = code(source, tmp_path / "before", name), code(after, tmp_path / "after", name)
        assert static_guards("no_barrier", before, ablated) == PASSED
        assert positions_of(before.code, is_barrier)
        assert not positions_of(ablated.code, is_barrier)

    def test_atomics_are_left(self, tmp_path: Path) -> None:
        name, source = "histogram_global", catalogue("atomics/histogram_global")
        after = variant(source, made(source, "spread_atomics", kernel=name), tmp_path / "made")
        before, ablated = code(source, tmp_path / "before", name), code(after, tmp_path / "after", name)
        assert static_guards("spread_atomics", before, ablated) == PASSED
        counts = [len(positions_of(each.code, is_global_atomic)) for each in (before, ablated)]
        assert counts[0] == counts[1] > 0

    @pytest.mark.parametrize(
        ("source", "change", "guard", "why"),
        [
            # The sum is unused, so that the compiler removes loads and loop.
            (SUM, ("= sum;", "= 0.0f;"), "loop", "line 5 is gone"),
            # The index is the same in all iterations, so that one load before the loop serves them all.
            (SUM, ("j * 1024 + ", ""), "loop", "the global loads of line 6 are no longer in a loop"),
            (SUM, ("j < n", "j < 1"), "loop", "line 5 is gone"),
            (ARITHMETIC, ("r < n", "r < 1"), "loop", "line 5 is gone"),
            # Three elements become one.
            (FOUR, (" + 128]", " + 64]"), "work", "global loads"),
            (FOUR, ("v.x * w + v.y * x + v.z * z", "v.x"), "work", "global loads"),
        ],
    )
    def test_work_that_is_gone_is_noticed(
        self, source: str, change: tuple[str, str], guard: str, why: str, tmp_path: Path
    ) -> None:
        before = code(source, tmp_path / "before")
        found = static_guards("coalesced_index", before, code(source.replace(*change), tmp_path / "after"))
        assert found.failed == guard
        assert why in found.why
        assert static_guards("coalesced_index", before, before) == PASSED

    @pytest.mark.parametrize(("factor", "failed"), [(2, ""), (1, "unrolling")])
    def test_a_loop_that_is_unrolled_less_has_all_of_its_work(self, factor: int, failed: str, tmp_path: Path) -> None:
        rolled = SUM.replace("    for", f"#pragma unroll {factor}\n#line 5\n    for")
        before, after = code(SUM, tmp_path / "before"), code(rolled, tmp_path / "after")
        assert len(after.code) < len(before.code)
        assert static_guards("coalesced_index", before, after).failed == failed

    def test_registers_and_local_memory_are_compared(self, tmp_path: Path) -> None:
        before = code(SUM, tmp_path / "before")
        spilled = static_guards("no_barrier", before, replace(before, stack=8))
        assert (spilled.failed, spilled.more) == ("registers", True)
        assert static_guards("no_barrier", replace(before, registers=32), replace(before, registers=64)) == Guarded(
            "occupancy", "registers allow 32 warps instead of 64"
        )
        assert static_guards("no_barrier", replace(before, registers=32), replace(before, registers=40)) == PASSED


COUNTERS = {
    "inst_executed": 1e6,
    "thread_inst_executed": 3e7,
    "dram_bytes_read": 4e8,
    "dram_bytes_written": 2e8,
    "l2_sectors": 1e7,
    "all_shared_wavefronts": 1e6,
    "all_shared_wavefronts_ideal": 1e6,
    **dict.fromkeys(WORK, 0.0),
    "global loads": 4e8,
    "global stores": 2e8,
    "shared loads": 1e8,
    "floating-point operations": 1e7,
    "integer operations": 1e7,
}


class TestDynamic:
    def test_the_same_work_passes(self) -> None:
        assert dynamic_guards("no_barrier", COUNTERS, {**COUNTERS, "inst_executed": 9.5e5}) == PASSED

    @pytest.mark.parametrize(
        ("kind", "name", "share"),
        [
            ("no_barrier", "inst_executed", 0.5),
            ("no_barrier", "global loads", 0.9),
            ("no_barrier", "global stores", 0.5),
            ("no_barrier", "shared loads", 0.5),
            ("no_barrier", "floating-point operations", 0.5),
            ("conflict_free_index", "dram_bytes_read", 0.5),
            ("uniform_condition", "thread_inst_executed", 0.3),
            ("coalesced_index", "dram_bytes_read", 0.05),
            ("coalesced_index", "global loads", 0.5),
            ("uniform_condition", "floating-point operations", 0.5),
            ("fast_functions", "global loads", 0.5),
        ],
    )
    def test_less_work_fails(self, kind: str, name: str, share: float) -> None:
        found = dynamic_guards(kind, COUNTERS, {**COUNTERS, name: COUNTERS[name] * share})
        assert (found.failed, found.more) == ("counters", False)
        assert name in found.why

    @pytest.mark.parametrize(
        ("kind", "name", "share", "why"),
        [
            ("coalesced_index", "inst_executed", 1.82, "inst_executed is 1.82x of the original's, more than 1.50x"),
            (
                "no_barrier",
                "global loads",
                1.1,
                "threads executed 1.10x the global loads of the original, more than 1.02x",
            ),
            ("conflict_free_index", "dram_bytes_read", 2.0, "dram_bytes_read is 2.00x"),
        ],
    )
    def test_more_work_is_said_to_be_more(self, kind: str, name: str, share: float, why: str) -> None:
        found = dynamic_guards(kind, COUNTERS, {**COUNTERS, name: COUNTERS[name] * share})
        assert (found.failed, found.more) == ("counters", True)
        assert why in found.why

    def test_less_of_one_thing_counts_before_more_of_another(self) -> None:
        after = {**COUNTERS, "inst_executed": 1.82e6, "shared loads": 0.5e8}
        found = dynamic_guards("coalesced_index", COUNTERS, after)
        assert (found.failed, found.more) == ("counters", False)
        assert "0.50x the shared loads" in found.why
        after = {**COUNTERS, "global stores": 3e8, "dram_bytes_read": 1e7}
        assert not dynamic_guards("coalesced_index", COUNTERS, after).more

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("coalesced_index", "l2_sectors"),
            ("conflict_free_index", "all_shared_wavefronts"),
            ("fast_functions", "inst_executed"),
            ("uniform_condition", "inst_executed"),
        ],
    )
    def test_more_of_the_waste_itself_is_no_bound(self, kind: str, name: str) -> None:
        found = dynamic_guards(kind, COUNTERS, {**COUNTERS, name: COUNTERS[name] * 1.2})
        assert (found.failed, found.more) == ("counters", False)

    def test_coalesced_accesses_may_move_fewer_bytes(self) -> None:
        assert dynamic_guards("coalesced_index", COUNTERS, {**COUNTERS, "dram_bytes_read": 5e7}) == PASSED

    @pytest.mark.parametrize(
        ("kind", "name", "share"),
        [
            ("fast_functions", "floating-point operations", 0.1),
            ("smaller_element", "global loads", 0.5),
            ("no_barrier", "integer operations", 0.5),
            ("uniform_condition", "floating-point operations", 0.8),
        ],
    )
    def test_what_the_waste_explains_may_go(self, kind: str, name: str, share: float) -> None:
        assert dynamic_guards(kind, COUNTERS, {**COUNTERS, name: COUNTERS[name] * share}) == PASSED

    @pytest.mark.parametrize("name", ["inst_executed", "global stores", "dram_bytes_read"])
    def test_what_was_not_counted_is_no_pass(self, name: str) -> None:
        partly = {each: amount for each, amount in COUNTERS.items() if each != name}
        for before, after in [(COUNTERS, partly), (partly, COUNTERS), (partly, partly)]:
            found = dynamic_guards("no_barrier", before, after)
            assert (found.failed, found.why, found.more) == ("counters", f"{name} was not counted", False)

    def test_what_the_waste_explains_need_not_be_counted(self) -> None:
        partly = {each: amount for each, amount in COUNTERS.items() if each != "integer operations"}
        assert dynamic_guards("no_barrier", partly, partly) == PASSED


def test_a_variant_must_end() -> None:
    assert ended(0.2) == PASSED
    assert ended(None).failed == "watchdog"


@pytest.mark.parametrize(
    ("by_construction", "memcheck", "failed"),
    [(True, None, ""), (True, False, "bounds"), (False, None, "bounds"), (False, True, ""), (False, False, "bounds")],
)
def test_accesses_must_be_in_bounds(by_construction: bool, memcheck: bool | None, failed: str) -> None:
    assert in_bounds(Ablation(Change("", "", ()), by_construction), memcheck).failed == failed


def _finding(low: float, best: float, high: float) -> Finding:
    rule = RuleId("SYNC001", "barrier-stall")
    return Finding(
        rule=rule,
        optimization="fewer_barriers",
        message="",
        predicted_speedup=Gain(low, best, high),
        bottleneck_after="latency",
        check="",
        assumes="",
        evidence=(),
        where=(),
        cite=(),
        fix=Fix(title=""),
    )


FINDING = _finding(1.3, 1.63, 1.9)
MORE = Guarded("counters", "inst_executed is 1.82x of the original's", more=True)


class TestJudged:
    def test_a_finding_whose_waste_costs_nothing_is_withdrawn(self) -> None:
        found = judged(FINDING, "no_barrier", Gain(1.01, 1.02, 1.03), [PASSED])
        assert found == Withdrawn("Without this waste the kernel is 1.02x as fast (1.01x to 1.03x).")

    def test_an_interval_that_holds_1_05_withdraws_nothing(self) -> None:
        found = judged(FINDING, "no_barrier", Gain(0.99, 1.02, 1.06), [PASSED])
        assert isinstance(found, MeasuredBound)
        assert found.finding.predicted_speedup == Gain(0.99, 1.02, 1.06)
        assert (found.bounds, found.finding.grade) == ("at most", "measured")

    def test_where_the_cure_is_more_it_stays(self) -> None:
        found = judged(FINDING, "spread_atomics", Gain(1.0, 1.01, 1.02), [PASSED])
        assert isinstance(found, NoStatement)
        assert "The gain of 1.01x (1.00x to 1.02x) is no bound: private copies" in found.why

    @pytest.mark.parametrize(
        ("kind", "guard"), [("spread_atomics", PASSED), ("no_barrier", MORE), ("coalesced_index", MORE)]
    )
    @pytest.mark.parametrize("best", [1.2, 5.62])
    def test_a_gain_from_below_supports_the_prediction_and_does_not_limit_it(
        self, kind: str, guard: Guarded, best: float
    ) -> None:
        found = judged(FINDING, kind, Gain(best - 0.1, best, best + 0.1), [guard, PASSED])
        assert isinstance(found, MeasuredBound)
        assert (found.bounds, found.finding) == ("at least", replace(FINDING, grade="measured"))

    @pytest.mark.parametrize("best", [0.5, 1.0, 1.1])
    def test_more_work_never_withdraws(self, best: float) -> None:
        found = judged(FINDING, "no_barrier", Gain(best - 0.1, best, best + 0.1), [MORE])
        assert isinstance(found, NoStatement)
        assert "inst_executed is 1.82x" in found.why

    def test_less_work_says_nothing_whatever_else_is_more(self) -> None:
        less = Guarded("counters", "threads executed 0.50x the global loads")
        for guards in ([MORE, less], [less, MORE]):
            found = judged(FINDING, "no_barrier", Gain(5.5, 5.6, 5.7), guards)
            assert found == NoStatement("The time is not believed: threads executed 0.50x the global loads.")

    def test_a_bound_above_the_prediction_leaves_it(self) -> None:
        found = judged(FINDING, "no_barrier", Gain(2.2, 2.3, 2.4), [PASSED])
        assert isinstance(found, MeasuredBound)
        assert found.finding.predicted_speedup == Gain(1.3, 1.63, 1.9)
        assert found.measured == Gain(2.2, 2.3, 2.4)

    def test_a_guard_that_failed_leaves_nothing(self) -> None:
        guards = [PASSED, Guarded("loop", "the loop of line 5 is gone"), Guarded("work", "")]
        assert first_failed(guards).failed == "loop"
        found = judged(FINDING, "no_barrier", Gain(1.0, 1.0, 1.0), guards)
        assert found == NoStatement("The time is not believed: the loop of line 5 is gone.")
