"""Launches without machine code: what rules judge by counters, and what they leave open."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncuview.base.errors import RuleFileError
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import load_rule, shipped_rules
from ncuview.metrics.quantities.stalls import OF_SOME_CHIPS
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, Outcome, Passed, Skipped
from ncuview.records.profile import Profile
from ncuview.speedup.model import MOST_UNEXPLAINED, UNEXPLAINED_WITHOUT_CODE
from tests.builders import USE, Launch, make_profile
from tests.engine.test_rule_file import RULE, written
from tests.profiles import recorded_profile
from tests.together import together

RULES = shipped_rules()
MOST_LIKELY = MOST_UNEXPLAINED ** (1 / UNEXPLAINED_WITHOUT_CODE)
"""From this gain on, the bounds of findings without code are as wide as they get."""


def without_code(profile: Profile) -> Profile:
    return replace(profile, instructions=profile.instructions.iloc[:0], sources={})


def judged(profile: Profile) -> LaunchDiagnosis:
    return diagnose(profile, RULES).launches[0]


def outcome(launch: LaunchDiagnosis, code: str) -> Outcome:
    return next(each for each in launch.outcomes if each.rule.code == code)


def first_advice(family: str) -> dict[str, str]:
    launches = diagnose(without_code(recorded_profile(family)), RULES).launches
    return {each.kernel: each.findings[0].optimization if each.findings else each.verdict for each in launches}


def test_scattered_loads_and_stores_are_advised_without_code() -> None:
    advice = first_advice("transpose")
    assert advice["matrixTranspose"] == "coalescing"
    assert advice["transposeNaive"] == "shared_memory_tiling"
    assert advice["transposeCoalesced"] == "shared_memory_padding"
    assert advice["transposeNoBankConflicts"] == "near-peak"


def test_a_finding_without_code_is_likely_has_no_line_and_wider_bounds() -> None:
    profile = recorded_profile("transpose")
    certain = diagnose(profile, RULES).launches
    for with_code, likely in zip(certain, diagnose(without_code(profile), RULES).launches, strict=True):
        for finding in likely.findings:
            assert finding.grade == "likely" or not rule(finding.rule.code).reads_code
            assert not finding.where
            assert not finding.instructions
        for finding in with_code.findings:
            same = outcome(likely, finding.rule.code)
            assert finding.grade == "certain"
            if isinstance(same, Finding) and same.grade == "likely":
                assert spread(same) > spread(finding) or finding.predicted_speedup.best > MOST_LIKELY


def rule(code: str) -> Any:
    return next(each for each in RULES if each.text.code == code)


def spread(finding: Finding) -> float:
    gain = finding.predicted_speedup
    return gain.high / gain.low / gain.best


def test_launches_with_code_are_judged_as_before_beside_others() -> None:
    profile = recorded_profile("transpose")
    kept = profile.instructions[profile.instructions["launch"] != 0]
    mixed = diagnose(replace(profile, instructions=kept), RULES)
    assert "1 of" in mixed.remark
    assert [each.outcomes for each in mixed.launches[1:]] == [
        each.outcomes for each in diagnose(profile, RULES).launches[1:]
    ]


def test_evidence_names_the_counters_that_it_comes_from() -> None:
    [finding] = [
        each
        for launch in diagnose(without_code(recorded_profile("transpose")), RULES).launches
        if launch.kernel == "matrixTranspose"
        for each in launch.findings[:1]
    ]
    metrics = {metric for evidence in finding.evidence for metric in evidence.metrics}
    assert "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum" in metrics


def test_a_rule_that_needs_code_says_what_only_code_shows() -> None:
    skipped = outcome(judged(without_code(make_profile())), "GMEM012")
    assert isinstance(skipped, Skipped)
    assert "only machine code shows which passes over an array could be joined" in skipped.message
    assert not skipped.missing


def test_a_missing_counter_skips_and_is_named() -> None:
    gone = "smsp__sass_inst_executed_op_global_ld.sum"
    skipped = outcome(judged(without_code(make_profile(Launch().without(gone)))), "GMEM001")
    assert isinstance(skipped, Skipped)
    assert gone in skipped.missing
    assert gone in skipped.message


@pytest.mark.parametrize(("use", "verdict"), [(91.0, "near-peak"), (40.0, "unclear")])
def test_the_units_decide_the_verdict_where_no_rule_advises(use: float, verdict: str) -> None:
    profile = make_profile(Launch({USE["dram"]: use}))
    names = [name for name in profile.metrics.columns if name.startswith(("smsp__", "memory_", "inst", "thread"))]
    bare = replace(without_code(profile), metrics=profile.metrics.drop(columns=names))
    assert judged(bare).verdict == verdict


def test_without_counters_of_the_units_nothing_is_judged() -> None:
    profile = without_code(make_profile())
    only = [name for name in profile.metrics.columns if name.startswith(("launch__", "gpu__"))]
    assert judged(replace(profile, metrics=profile.metrics[only])).verdict == "not-judged"


def test_the_page_says_once_that_there_is_no_code_and_what_helps() -> None:
    remark = diagnose(without_code(make_profile(Launch(), Launch())), RULES).remark
    assert remark.count("from counters alone") == 1
    assert "--import-sass yes" in remark
    assert "from counters alone" not in diagnose(make_profile(), RULES).remark


def test_a_first_look_is_not_judged_by_counters() -> None:
    first = diagnose(without_code(make_profile()), RULES, from_counters=False)
    assert not first.remark
    assert not any(isinstance(each, Finding) and each.grade == "likely" for each in first.launches[0].outcomes)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_whatever_is_missing_no_rule_breaks_and_what_is_found_rests_on_what_is_there(data: st.DataObject) -> None:
    profile = without_code(recorded_profile(data.draw(st.sampled_from(["transpose", "reduction", "atomics"]))))
    # Where a GPU does not sample a stall reason, shares of the samples are complete without it.
    always = profile.metrics.columns.difference(list(OF_SOME_CHIPS), sort=False)
    names = [name for name in always if not name.startswith("device__")]
    gone = data.draw(st.sets(st.sampled_from(names), max_size=len(names) // 2))
    partial = replace(profile, metrics=profile.metrics.drop(columns=list(gone)))
    for launch in diagnose(partial, RULES).launches:
        for each in launch.outcomes:
            assert not isinstance(each, Broken)
            if isinstance(each, Finding):
                assert not gone & {metric for evidence in each.evidence for metric in evidence.metrics}
        if not launch.units:
            assert launch.verdict in {"not-judged", "advice"}


@together("code", [each.text.code for each in RULES if each.reads_code])
def test_each_shipped_rule_that_reads_code_judges_without_it_or_says_why_not(code: str) -> None:
    judges, says = rule(code).without_code, rule(code).text.without_code
    assert bool(judges) != bool(says and says.cannot)


def test_a_finding_says_what_it_rests_on_where_the_rule_names_what_counters_do_not_show() -> None:
    found = diagnose(without_code(recorded_profile("reduction")), RULES)
    messages = [f.message for launch in found.launches for f in launch.findings if f.rule.code == "SYNC003"]
    assert all("as stores, barriers and idle lanes suggest" in message for message in messages)


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (None, "conflict_lanes"),
        ({}, "conflict_lanes"),
        ({"assume": {"lanes": {"value": 1, "reason": "x"}}}, "no quantity has this name"),
        ({"assume": {"conflict_lanes": {"value": "wrong + 1", "reason": "x"}}}, "wrong"),
        ({"assume": {"conflict_lanes": {"value": 1}}}, "reason"),
        ({"assume": {"conflict_lanes": {"value": "conflict_lanes", "reason": "x"}}}, "not assumed before it"),
        ({"cannot": "x", "when": ["1"]}, "no other key"),
        ({"cannot": "x", "more": 1}, "without_code.more"),
    ],
)
def test_a_rule_that_says_too_little_of_launches_without_code_is_refused(
    tmp_path: Path, table: dict[str, Any] | None, named: str
) -> None:
    content = deepcopy(RULE)
    del content["without_code"]
    if table is not None:
        content["without_code"] = table
    with pytest.raises(RuleFileError, match=named):
        load_rule(written(tmp_path, content))


def test_a_draft_may_leave_it_open(tmp_path: Path) -> None:
    content = deepcopy(RULE)
    del content["without_code"]
    content["status"] = "draft"
    draft = load_rule(written(tmp_path, content))
    assert draft.without_code is None
    shown = diagnose(without_code(make_profile()), [draft]).launches[0].outcomes[0]
    assert isinstance(shown, Skipped)


def test_conditions_without_code_take_the_place_of_the_others(tmp_path: Path) -> None:
    content = deepcopy(RULE)
    content["without_code"]["when"] = ["ways < 0"]
    content["without_code"].pop("finding")
    changed = load_rule(written(tmp_path, content))
    launches = diagnose(without_code(recorded_profile("transpose")), [changed]).launches
    assert not any(isinstance(each, Finding) for launch in launches for each in launch.outcomes)
    passed = next(each for launch in launches for each in launch.outcomes if isinstance(each, Passed))
    assert passed.unmet == ("ways < 0",)
