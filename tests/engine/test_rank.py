"""What to do first, what not to do and why, and when to stop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.base.expression import compile_expression
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import Rule, load_rules
from ncuview.records.diagnosis import WORTH_DOING, Finding, LaunchDiagnosis, Passed
from ncuview.records.profile import Profile
from ncuview.speedup.model import BOTTLENECK_SHARE
from tests.builders import COPY, FILE, USE, WARPS, Instruction, Launch, load, make_profile, shared_load, store

RULES = load_rules()
BY_NAME = {rule.text.name: rule for rule in RULES}
CONFLICTS = Launch(
    metrics={USE["l1_data"]: 95.0, USE["dram"]: 30.0, "sm__cycles_elapsed.max": 20_000.0},
    instructions=(load(), load(5), load(6), load(7), shared_load(line=2, ways=32), *COPY[8:10], store(line=3)),
    sources={FILE: "first line\n    int second = tile[threadIdx.x];\nthird line\nfourth\n"},
)


def judged(*launches: Launch, rules: tuple[Rule, ...] = RULES) -> list[LaunchDiagnosis]:
    return list(diagnose(make_profile(*launches), rules).launches)


def only(launch: Launch, rules: tuple[Rule, ...] = RULES) -> LaunchDiagnosis:
    [found] = judged(launch, rules=rules)
    return found


def all_findings(launch: LaunchDiagnosis) -> list[Finding]:
    return [outcome for outcome in launch.outcomes if isinstance(outcome, Finding)]


def predicting(name: str, latency: float) -> Rule:
    """A rule that fires on every launch and hides this share of its latency."""
    return replace(
        BY_NAME[name],
        applies=compile_expression("1"),
        fires=compile_expression("1"),
        latency_hidden=compile_expression(str(latency)),
        effects={},
        added={},
    )


def test_findings_come_first_and_the_largest_gain_leads() -> None:
    rules = tuple(predicting(name, gain) for name, gain in (("small-grid", 0.3), ("barrier-stall", 0.9)))
    launch = only(Launch(), (BY_NAME["partition-camping"], *rules))
    assert [outcome.rule.name for outcome in launch.outcomes] == ["barrier-stall", "small-grid", "partition-camping"]
    assert [finding.optimization for finding in launch.findings] == ["fewer_barriers", "launch_configuration"]


def test_among_equal_gains_the_surer_comes_first() -> None:
    sure = replace(predicting("small-grid", 0.0), effects={"l1_wavefronts": compile_expression("0.4")})
    launch = only(Launch(metrics={USE["l1_data"]: 99.6, USE["dram"]: 30.0}), (predicting("barrier-stall", 0.0), sure))
    assert [finding.rule.name for finding in all_findings(launch)] == ["small-grid", "barrier-stall"]


def test_equal_findings_are_in_the_order_of_their_codes() -> None:
    rules = tuple(predicting(name, 0.5) for name in ("barrier-stall", "partition-camping", "small-grid"))
    codes = [finding.rule.code for finding in all_findings(only(Launch(), rules))]
    assert codes == sorted(codes)


def test_a_finding_below_ten_percent_is_rejected_with_the_bottleneck_as_the_reason() -> None:
    launch = only(Launch(metrics={USE["dram"]: 92.0}), (predicting("small-grid", 1.0),))
    [finding] = all_findings(launch)
    assert finding.predicted_speedup.best < WORTH_DOING
    assert finding.rejected == "not the bottleneck: dram at 92% of its peak is"
    assert launch.findings == ()


def test_a_finding_that_hides_too_little_latency_is_rejected_with_that_reason() -> None:
    [finding] = all_findings(only(Launch(), (predicting("small-grid", 0.01),)))
    assert "latency" in finding.rejected


def test_a_launch_at_a_bottleneck_without_advice_is_near_its_peak() -> None:
    launch = only(Launch(metrics={USE["dram"]: 90.0}))
    assert (launch.bottleneck, launch.verdict, launch.findings) == ("dram", "near-peak", ())


def test_a_launch_with_advice_is_not_near_its_peak() -> None:
    launch = only(CONFLICTS)
    assert (launch.bottleneck, launch.verdict) == ("l1_data", "advice")
    assert launch.findings[0].optimization == "shared_memory_padding"


def test_a_launch_with_idle_units_and_no_advice_is_unclear() -> None:
    assert only(Launch()).verdict == "unclear"


@pytest.mark.parametrize("harm", ["skipped", "broken"])
def test_a_launch_that_was_not_fully_judged_is_not_called_near_its_peak(harm: str) -> None:
    busy = Launch(metrics={USE["dram"]: 90.0})
    broken = replace(BY_NAME["tail-effect"], fires=compile_expression("0 / 0"))
    if harm == "skipped":
        assert only(busy.without("launch__occupancy_limit_registers")).verdict == "unclear"
    else:
        assert only(busy, (broken, *RULES)).verdict == "unclear"
        assert only(busy, (broken,)).verdict == "not-judged"


@pytest.mark.parametrize(
    ("share", "verdict"), [(BOTTLENECK_SHARE + 0.02, "near-peak"), (BOTTLENECK_SHARE - 0.02, "unclear")]
)
def test_near_peak_begins_at_the_share_that_makes_a_bottleneck(share: float, verdict: str) -> None:
    assert only(Launch(metrics={USE["lsu"]: 99.0 * share})).verdict == verdict


def test_a_bottleneck_is_as_busy_as_the_busiest_of_its_units() -> None:
    uses = {USE["l2_tags"]: 20.0, USE["l2_sectors"]: 55.0, USE["l2_data"]: 40.0}
    assert only(Launch(metrics=uses)).units["l2"] == pytest.approx(0.55)


def test_a_bottleneck_that_was_not_measured_is_left_out() -> None:
    assert "lsu" not in only(Launch().without(USE["lsu"])).units


def test_a_finding_names_its_line_and_the_code_on_it() -> None:
    [line] = only(CONFLICTS).findings[0].where
    assert (line.file, line.line, line.share, line.code) == (FILE, 2, 1.0, "int second = tile[threadIdx.x];")


def test_lines_are_ranked_by_their_share_of_the_waste_and_small_ones_left_out() -> None:
    shares = (0.5, 0.3, 0.15, 0.04, 0.01)
    scattered = [load(register=4, line=8 - at, sectors=(4 + 100 * share) * WARPS) for at, share in enumerate(shares)]
    finding = next(
        outcome
        for outcome in all_findings(only(Launch(instructions=[*scattered, store(line=20, sectors=64.0 * WARPS)])))
        if outcome.rule.name == "uncoalesced-global-load"
    )
    assert [line.line for line in finding.where] == [8, 7, 6]
    assert [line.share for line in finding.where] == pytest.approx([0.5, 0.3, 0.15])


def test_evidence_gives_value_and_metrics_of_every_number() -> None:
    evidence = {each.name: each for each in only(CONFLICTS).findings[0].evidence}
    ways = evidence["ways"]
    assert ways.value == pytest.approx((32 + 1) / 2)
    assert ways.metrics == (
        "memory_l1_wavefronts_shared",
        "memory_l1_wavefronts_shared_ideal",
        "launch__shared_mem_per_block",
    )
    assert evidence["shared_wavefronts"].value == 33.0 * WARPS
    assert evidence["shared_wavefronts"].metrics == ("memory_l1_wavefronts_shared",)


def test_launches_keep_the_order_and_identity_of_the_profile() -> None:
    found = judged(Launch(kernel="b"), CONFLICTS, Launch(kernel="a"))
    assert [(launch.index, launch.kernel) for launch in found] == [(0, "b"), (1, "kernel"), (2, "a")]
    assert (found[0].grid, found[0].block, found[0].device.compute_capability) == ((8192, 1, 1), (256, 1, 1), "9.0")


def test_without_rules_the_bottlenecks_are_still_named() -> None:
    launch = only(Launch(metrics={USE["dram"]: 90.0}), ())
    assert (launch.bottleneck, launch.outcomes) == ("dram", ())


def test_a_hundred_launches_are_judged_like_one() -> None:
    profile: Profile = make_profile(*[CONFLICTS] * 100)
    first, *others = diagnose(profile, RULES).launches
    assert {tuple(type(outcome) for outcome in launch.outcomes) for launch in others} == {
        tuple(type(outcome) for outcome in first.outcomes)
    }
    assert any(isinstance(outcome, Passed) for outcome in first.outcomes)


def test_opcodes_that_are_not_known_are_named() -> None:
    launch = Launch(instructions=[Instruction("FROB.X R4, R5", 1), Instruction("EXIT", 1)])
    remark = diagnose(make_profile(launch), RULES).remark
    assert "1 machine instructions have opcodes that ncuview does not know (FROB.X)" in remark
    known = Launch(instructions=[Instruction("FADD R4, R5, R6", 1), Instruction("EXIT", 1)])
    assert "opcodes" not in diagnose(make_profile(known), RULES).remark
