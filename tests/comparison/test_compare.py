"""Two profiles side by side: pairing, changed metrics, predictions, and what must not be compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import NotComparable, UnknownKernel
from ncuview.comparison.compare import Comparison, Pair, compare, extent_words, launch_words
from ncuview.comparison.pairing import pair_launches
from ncuview.comparison.prediction import check_prediction, spread
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import (
    Diagnosis,
    Finding,
    LaunchDiagnosis,
    NotApplicable,
    Passed,
    RuleId,
    Skipped,
    TextbookMetric,
)
from ncuview.records.profile import NOWHERE, Device, ReportInfo
from tests.profiles import recorded_diagnosis
from tests.render.sample import advice_finding, launch_near_peak, launch_with_advice

RULE = advice_finding().rule


def launch(
    kernel: str = "k", ns: float = 100_000.0, grid: int = 8, takes: str = "float *", **other: object
) -> LaunchDiagnosis:
    made = replace(
        launch_near_peak(),
        kernel=kernel,
        demangled=f"{kernel}({takes})",
        duration_ns=ns,
        grid=(grid, 1, 1),
        outcomes=(),
    )
    return replace(made, **other)  # type: ignore[arg-type]


def diagnosis(*launches: LaunchDiagnosis, ncu: str = "2025.3.1", path: str = "x.ncu-rep") -> Diagnosis:
    return Diagnosis(launches, (ReportInfo(path, ncu, None),))


def compared(before: LaunchDiagnosis, after: LaunchDiagnosis) -> Pair:
    (pair,) = compare(diagnosis(before), diagnosis(after)).pairs
    return pair


def kernels(comparison: Comparison) -> list[tuple[str, str, int]]:
    return [(pair.before[0].kernel, pair.after[0].kernel, len(pair.before)) for pair in comparison.pairs]


def with_metrics(made: LaunchDiagnosis, **values: float) -> LaunchDiagnosis:
    return replace(made, metrics={name: TextbookMetric(value, "", name) for name, value in values.items()})


# Pairing


def test_launches_are_paired_by_kernel_and_configuration_in_their_order() -> None:
    before = (launch("a", 1.0), launch("b", 2.0), launch("a", 3.0), launch("a", 4.0, grid=9))
    after = (launch("a", 5.0, grid=9), launch("a", 6.0), launch("a", 7.0), launch("b", 8.0))
    found = pair_launches(before, after, {})
    assert {
        tuple((was.duration_ns, now.duration_ns) for was, now in zip(*pair, strict=True)) for pair in found.pairs
    } == {((1.0, 6.0), (3.0, 7.0)), ((2.0, 8.0),), ((4.0, 5.0),)}
    assert (found.only_before, found.only_after) == ((), ())


def test_more_launches_on_one_side_have_no_partner() -> None:
    found = pair_launches((launch(), launch(ns=7.0)), (launch(),), {})
    assert [(len(was), len(now)) for was, now in found.pairs] == [(1, 1)]
    assert found.only_before == (launch(ns=7.0),)


def test_a_changed_grid_is_paired_by_name_and_said() -> None:
    assert compared(launch(grid=8), launch(grid=4)).changed == ("grid 8 -> 4",)


def test_changed_parameters_are_paired_by_name_and_said() -> None:
    assert compared(launch(takes="float *"), launch(takes="float4 *")).changed == ("types k(float *) -> k(float4 *)",)


def test_the_same_template_is_preferred_to_the_same_grid() -> None:
    before = (launch("k", 1.0, grid=8, takes="int"), launch("k", 2.0, grid=8, takes="float"))
    found = pair_launches(before, (launch("k", 3.0, grid=8, takes="float"),), {})
    assert [(was[0].duration_ns, now[0].duration_ns) for was, now in found.pairs] == [(2.0, 3.0)]


def test_kernels_of_one_side_are_listed() -> None:
    found = compare(diagnosis(launch("a"), launch("gone", takes="int")), diagnosis(launch("a"), launch("new")))
    assert kernels(found) == [("a", "a", 1)]
    assert [each.kernel for each in (*found.only_before, *found.only_after)] == ["gone", "new"]


def test_the_only_kernel_left_on_both_sides_was_renamed_where_it_takes_the_same() -> None:
    found = compare(diagnosis(launch("a"), launch("old", grid=4)), diagnosis(launch("a"), launch("new")))
    renamed = next(pair for pair in found.pairs if pair.before[0].kernel == "old")
    assert renamed.changed == ("kernel old -> new", "grid 4 -> 8")


def test_two_kernels_left_are_not_guessed_but_can_be_named() -> None:
    before, after = diagnosis(launch("a"), launch("b")), diagnosis(launch("c"), launch("d"))
    with pytest.raises(NotComparable, match="no kernel is in both: a, b before, c, d after"):
        compare(before, after)
    found = compare(before, after, renamed={"a": "d", "b": "c"})
    assert sorted(kernels(found)) == [("a", "d", 1), ("b", "c", 1)]


def test_a_named_pair_is_compared_where_both_reports_hold_both_kernels_and_the_grids_differ() -> None:
    launches = (launch("old", grid=4), launch("new", grid=8), launch("other"))
    found = compare(diagnosis(*launches), diagnosis(*launches), renamed={"old": "new"})
    assert sorted(kernels(found)) == [("old", "new", 1), ("other", "other", 1)]
    assert ([each.kernel for each in found.only_before], [each.kernel for each in found.only_after]) == (
        ["new"],
        ["old"],
    )


def test_a_changed_grid_is_paired_with_the_launch_of_as_many_threads() -> None:
    after = (launch(grid=64, block=(256, 1, 1)), launch(grid=2, block=(1024, 1, 1)))
    found = pair_launches((launch(grid=8, block=(256, 1, 1)),), after, {})
    assert found.pairs[0][1] == after[1:]


@pytest.mark.parametrize("renamed", [{"missing": "b"}, {"a": "missing"}])
def test_a_renamed_kernel_that_is_not_there_is_refused(renamed: dict[str, str]) -> None:
    with pytest.raises(UnknownKernel, match="missing"):
        compare(diagnosis(launch("a")), diagnosis(launch("b")), renamed=renamed)


any_launch = st.builds(
    launch,
    kernel=st.sampled_from(["a", "b", "aa"]),
    ns=st.floats(1.0, 1e9),
    grid=st.integers(1, 3),
    takes=st.sampled_from(["int", "float"]),
    device=st.sampled_from([Device("NVIDIA H200", "9.0"), Device("NVIDIA H100", "9.0")]),
)


@given(st.lists(any_launch, max_size=8), st.lists(any_launch, max_size=8))
def test_every_launch_is_in_one_place_and_pairs_have_two_sides(
    before: list[LaunchDiagnosis], after: list[LaunchDiagnosis]
) -> None:
    found = pair_launches(tuple(before), tuple(after), {})
    assert all(len(was) == len(now) > 0 for was, now in found.pairs)
    for side, alone, made in ((0, found.only_before, before), (1, found.only_after, after)):
        placed = [each for pair in found.pairs for each in pair[side]] + list(alone)
        assert Counter(map(id, placed)) == Counter(map(id, made))


@given(st.lists(any_launch, min_size=1, max_size=8))
def test_a_profile_compared_with_itself_has_no_change(launches: list[LaunchDiagnosis]) -> None:
    found = compare(diagnosis(*launches), diagnosis(*launches))
    assert not found.only_before
    assert not found.only_after
    for pair in found.pairs:
        assert (pair.changed, pair.metric_changes, pair.rule_changes, pair.speedup) == ((), (), (), 1.0)
        assert pair.is_noise


@pytest.mark.parametrize(
    ("extent", "words"), [((256, 1, 1), "256"), ((1, 1, 1), "1"), ((4, 1, 8), "4x1x8"), ((1, 256, 1), "1x256")]
)
def test_dimensions_at_the_end_that_are_1_are_not_said(extent: tuple[int, int, int], words: str) -> None:
    assert extent_words(extent) == words


def test_a_launch_is_named_by_its_grid_and_block_and_what_is_about_none_by_neither() -> None:
    assert launch_words((256, 256, 1), (32, 8, 1)) == "grid 256x256, block 32x8"
    assert launch_words((0, 256, 1), (32, 8, 1)) == "grid unknown, block 32x8"
    assert launch_words(NOWHERE, NOWHERE) == ""


# What must not be compared


H100 = launch(device=Device("NVIDIA H100", "9.0"))
NAMELESS = launch(device=Device("", "12.0"))


@pytest.mark.parametrize(
    ("after", "settings", "what"),
    [
        (diagnosis(H100, path="y"), {}, "GPU NVIDIA H200 before, NVIDIA H100 after"),
        (diagnosis(NAMELESS, path="y"), {}, "compute capability 9.0 before, 12.0 after"),
        (diagnosis(launch(), ncu="2024.1.0", path="y"), {}, "ncu 2025.3 before, 2024.1 after"),
        (
            diagnosis(launch(), path="y"),
            {"x.ncu-rep": Settings(clock_control="base"), "y": Settings(clock_control="none")},
            "clock control base before, none after",
        ),
        (
            diagnosis(launch(), path="y"),
            {"x.ncu-rep": Settings(cache_control="all"), "y": Settings(cache_control="none")},
            "cache control all before, none after",
        ),
    ],
)
def test_what_was_profiled_differently_is_only_compared_by_force(
    after: Diagnosis, settings: dict[str, Settings], what: str
) -> None:
    with pytest.raises(NotComparable, match=what) as refused:
        compare(diagnosis(launch()), after, settings=settings)
    assert (refused.value.exit_code, bool(refused.value.hint)) == (4, True)
    forced = compare(diagnosis(launch()), after, settings=settings, force=True)
    assert forced.differences == (what,)
    assert len(forced.pairs) == 1


def test_a_patch_of_ncu_makes_no_difference() -> None:
    assert not compare(diagnosis(launch()), diagnosis(launch(), ncu="2025.3.9")).differences


@pytest.mark.parametrize("known", [{}, {"x": Settings("none", "all", "kernel")}])
def test_what_a_report_does_not_say_is_unknown_and_no_difference(known: dict[str, Settings]) -> None:
    before, after = diagnosis(launch(), path="x"), diagnosis(launch(), ncu="", path="y")
    assert compare(before, after, settings=known).unknown == (
        "ncu",
        "clock control",
        "cache control",
        "replay mode",
    )


def test_the_same_settings_are_known() -> None:
    settings = {"x": Settings("none", "all", "kernel"), "y": Settings("none", "all", "kernel")}
    found = compare(diagnosis(launch(), path="x"), diagnosis(launch(), path="y"), settings=settings)
    assert (found.differences, found.unknown) == ((), ())


# What moved


def units(made: LaunchDiagnosis, attained: float = 1.0, **shares: float) -> LaunchDiagnosis:
    return replace(made, units=shares, attained=attained)


def test_a_counter_explains_the_time_of_the_unit_that_it_drives_in_proportion_to_its_change() -> None:
    before = with_metrics(units(launch(ns=100_000.0), issue=1.0), inst_executed=1000)
    after = with_metrics(units(launch(ns=60_000.0), issue=1.0), inst_executed=600)
    (change,) = compared(before, after).metric_changes
    assert (change.metric, change.before, change.after, change.exact) == ("inst_executed", 1000, 600, True)
    assert change.saves_ns == pytest.approx(40_000.0)


def test_a_counter_of_an_idle_unit_explains_nothing() -> None:
    before = with_metrics(units(launch(), issue=0.1, dram=0.9), inst_executed=1000)
    after = with_metrics(units(launch(ns=60_000.0), issue=0.1, dram=0.9), inst_executed=100)
    assert "inst_executed" not in [change.metric for change in compared(before, after).metric_changes]


def test_what_explains_more_time_comes_first_whatever_its_name() -> None:
    before = with_metrics(units(launch(), issue=0.5, dram=0.9), inst_executed=1000, dram_read_bytes=1000)
    after = with_metrics(units(launch(ns=30_000.0), issue=0.5, dram=0.9), inst_executed=100, dram_read_bytes=100)
    assert [change.metric for change in compared(before, after).metric_changes] == ["dram_read_bytes", "inst_executed"]


def test_counters_that_repeat_come_before_noisy_ones() -> None:
    before = with_metrics(units(launch(), issue=0.5, dram=0.9), inst_executed=1000, dram_write_bytes=1000)
    after = with_metrics(units(launch(ns=30_000.0), issue=0.5, dram=0.9), inst_executed=500, dram_write_bytes=100)
    first, second = compared(before, after).metric_changes
    assert (first.metric, second.metric) == ("inst_executed", "dram_write_bytes")
    assert abs(first.saves_ns) < abs(second.saves_ns)


def test_a_noisy_counter_within_its_spread_has_not_changed() -> None:
    before = with_metrics(units(launch(), dram=0.9), dram_write_bytes=1000)
    after = with_metrics(units(launch(ns=80_000.0), dram=0.9), dram_write_bytes=700)
    assert not [change for change in compared(before, after).metric_changes if change.metric == "dram_write_bytes"]


def test_wider_accesses_are_no_scattered_ones() -> None:
    narrow = with_metrics(
        units(launch(), l2=0.9), gld_transactions_per_request=4, gld_transactions=4000, global_load_requests=1000
    )
    wide = with_metrics(
        units(launch(), l2=0.9), gld_transactions_per_request=16, gld_transactions=4000, global_load_requests=250
    )
    assert compared(narrow, wide).metric_changes == ()


def test_a_kernel_that_begins_to_use_shared_memory_has_none_before() -> None:
    without = with_metrics(units(launch(), l1_data=0.1), inst_executed_shared_loads=0, inst_executed_shared_stores=0)
    conflicts = with_metrics(
        units(launch(), l1_data=0.9),
        inst_executed_shared_loads=10,
        inst_executed_shared_stores=10,
        shared_bank_conflict_ways=16.5,
        shared_load_transactions=320,
        shared_store_transactions=10,
    )
    (change,) = compared(without, conflicts).metric_changes
    assert (change.words, change.before, change.after) == ("bank conflicts", None, 16.5)
    assert change.saves_ns == pytest.approx(-100_000 * 0.81 * (1 - 1 / 16.5))


def test_a_counter_that_is_missing_on_one_side_is_not_compared() -> None:
    after = with_metrics(units(launch(), issue=0.9), inst_executed=1000)
    assert compared(units(launch(), issue=0.9), after).metric_changes == ()


def test_the_busy_time_of_a_unit_is_named_where_no_counter_explains_it() -> None:
    before, after = units(launch(), xu=0.9), units(launch(ns=50_000.0), xu=0.2)
    (change,) = compared(before, after).metric_changes
    assert (change.metric, change.before, change.after, change.unit) == ("xu", 90_000.0, 10_000.0, "ns")


@pytest.mark.parametrize("unknown", [nan, 0.0])
def test_a_launch_of_unknown_time_has_no_changes(unknown: float) -> None:
    pair = compared(launch_with_advice(), replace(launch_with_advice(), duration_ns=unknown))
    assert (pair.metric_changes, pair.rule_changes, pair.prediction) == ((), (), None)


def test_waste_with_the_same_share_of_less_time_has_not_changed() -> None:
    assert not compared(launch_with_advice(), replace(launch_with_advice(), duration_ns=1e5)).rule_changes


def test_waste_with_a_smaller_gain_has_changed() -> None:
    less = replace(launch_with_advice(), outcomes=(weaker(advice_finding(), 1.2),))
    (change,) = compared(launch_with_advice(), less).rule_changes
    assert (change.fires_before, change.fires_after) == (True, True)
    assert change.saves_ns == pytest.approx(328_320 * (1 / 1.2 - 1 / 2.18))


def test_a_rule_that_was_skipped_afterwards_has_not_changed() -> None:
    skipped = Skipped(RULE, "not collected", ("m",))
    assert not compared(launch_with_advice(), replace(launch_with_advice(), outcomes=(skipped,))).rule_changes


# Predictions


def after_advice(measured: float, outcome: object = None) -> LaunchDiagnosis:
    outcomes = (outcome,) if outcome else ()
    return replace(launch_with_advice(), duration_ns=328_320.0 / measured, outcomes=outcomes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (1.0, "not kept"),
        (1.93, "not kept"),
        (1.95, "kept"),
        (2.18, "kept"),
        (2.28, "kept"),
        (2.30, "more than promised"),
    ],
)
def test_a_prediction_holds_between_its_bounds(measured: float, verdict: str) -> None:
    check = compared(launch_with_advice(), after_advice(measured)).prediction
    assert check is not None
    assert check.verdict == verdict
    assert check.measured == pytest.approx(measured)


def weaker(finding: Finding, gain: float) -> Finding:
    return replace(finding, predicted_speedup=replace(finding.predicted_speedup, best=gain))


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (weaker(advice_finding(), 1.05), "smaller"),
        (Passed(RULE, "none"), "gone"),
        (NotApplicable(RULE, "none"), "gone"),
        (Skipped(RULE, "not collected", ()), "unknown"),
        (None, "unknown"),
    ],
)
def test_the_evidence_of_a_prediction_is_gone_smaller_or_unknown(outcome: object, state: str) -> None:
    check = compared(launch_with_advice(), after_advice(1.0, outcome)).prediction
    assert check is not None
    assert check.evidence == state


def test_a_change_that_leaves_all_evidence_there_is_compared_with_no_prediction() -> None:
    assert compared(launch_with_advice(), after_advice(2.1, advice_finding())).prediction is None


def test_the_prediction_is_that_of_the_advice_whose_evidence_is_gone() -> None:
    first, taken = advice_finding(), replace(weaker(advice_finding(), 1.3), rule=RuleId("SYNC001", "barrier-stall"))
    before = replace(launch_with_advice(), outcomes=(first, taken))
    after = replace(before, duration_ns=before.duration_ns / 1.25, outcomes=(first, Passed(taken.rule, "none")))
    check = check_prediction(before, after, 1.25)
    assert check is not None
    assert (check.rule, check.evidence) == (taken.rule, "gone")


def test_without_advice_there_is_no_prediction() -> None:
    assert check_prediction(launch_near_peak(), launch_near_peak(), 1.0) is None


def test_shorter_launches_differ_more() -> None:
    assert [spread(ns) for ns in (1e6, 10_000.0, 9_999.0)] == [0.05, 0.05, 0.10]


# Real steps of the catalogue, measured on an H200


def step(family: str, before: str, after: str) -> Pair:
    sides = [
        replace(
            recorded_diagnosis(family),
            launches=tuple(each for each in recorded_diagnosis(family).launches if each.kernel == name)[:1],
        )
        for name in (before, after)
    ]
    (pair,) = compare(*sides, renamed={before: after}).pairs
    return pair


def test_coalescing_the_transpose_trades_scattered_stores_for_bank_conflicts() -> None:
    pair = step("transpose", "transposeNaive", "transposeCoalesced")
    first, *others = pair.metric_changes
    assert (first.metric, first.before, first.after) == ("gst_transactions_per_request", 32.0, 4.0)
    conflicts = next(change for change in others if change.metric == "shared_bank_conflict_ways")
    assert (conflicts.before, conflicts.after) == (None, 16.5)
    assert first.saves_ns > 0 > conflicts.saves_ns
    assert [(rule.rule.code, rule.fires_before) for rule in pair.rule_changes[:2]] == [
        ("GMEM002", True),
        ("SMEM001", False),
    ]
    assert pair.prediction is not None
    assert (pair.prediction.verdict, pair.prediction.evidence) == ("kept", "gone")


def test_padding_the_tile_removes_the_conflicts_as_predicted() -> None:
    pair = step("transpose", "transposeCoalesced", "transposeNoBankConflicts")
    assert [(change.metric, change.before, change.after) for change in pair.metric_changes if change.exact] == [
        ("shared_bank_conflict_ways", 16.5, 1.0)
    ]
    assert pair.prediction is not None
    assert (pair.prediction.verdict, pair.prediction.evidence) == ("kept", "gone")
    assert not pair.is_noise


def test_diagonal_mapping_changes_no_counter() -> None:
    assert step("transpose", "transposeNoBankConflicts", "transposeDiagonal").metric_changes == ()


@pytest.mark.parametrize(
    ("before", "after", "metric"),
    [("reduce_v1", "reduce_v2", "inst_executed"), ("reduce_v2", "reduce_v3", "shared_bank_conflict_ways")],
)
def test_the_steps_of_the_reduction_name_their_mechanism(before: str, after: str, metric: str) -> None:
    assert step("reduction", before, after).metric_changes[0].metric == metric


def test_exchanging_the_block_s_dimensions_reads_as_few_sectors_as_the_check_names() -> None:
    report = recorded_diagnosis("matmul")
    found = compare(report, report, renamed={"mmul_1x128": "mmul"})
    pair = next(pair for pair in found.pairs if pair.before[0].kernel == "mmul_1x128")
    sectors = next(each for each in pair.metric_changes if each.metric == "gld_transactions_per_request")
    assert (sectors.before, sectors.after) == (16.5, 2.5)
    assert "fall from 16.5 to 2.5 " in pair.before[0].findings[0].check
    assert pair.prediction is not None
    assert (pair.prediction.rule.code, pair.prediction.verdict) == ("GMEM001", "kept")
