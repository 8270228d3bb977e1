"""Apply all rules to all launches of a profile and rank each launch's findings by predicted gain, as a Diagnosis.

``diagnose`` also gives each launch its bottleneck and its verdict, and each rejected finding the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from ncuview.engine.locate import Places
from ncuview.engine.outcome import outcomes_of
from ncuview.engine.rule_file import Rule
from ncuview.engine.vendors import vendor_of
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.textbook import textbook_metrics
from ncuview.metrics.units import UNITS, WALLS
from ncuview.reader.host_times import host_times
from ncuview.records.diagnosis import (
    Broken,
    Diagnosis,
    Finding,
    LaunchDiagnosis,
    Origin,
    Outcome,
    Skipped,
    Verdict,
    mostly_blind,
)
from ncuview.records.profile import Device, Extent, Profile
from ncuview.speedup import end_to_end
from ncuview.speedup.attainable import is_assumed
from ncuview.speedup.model import WALL_SHARE, Load, load_of, walls_now

WORTH_DOING = 1.10
"""A finding that promises less is a note: run-to-run spread on an H200 reaches 5 %, and every change has a cost."""

WORTH_DOING_NEAR_PEAK = 1.15
"""The same for a launch whose busiest unit reaches what it attains in good kernels, as far as we know them."""

_OWNED = "the kernel is part of {}, whose code only its vendor can change"

_COUNTED = frozenset(unit.wall for unit in UNITS.values() if unit.needed and not unit.works_for)
"""Walls that only counters tell. A launch without any of these has attained nobody knows how much."""
_OPCODES_NAMED = 3


def diagnose(profile: Profile, rules: Sequence[Rule], origin: Origin = "report") -> Diagnosis:
    """Judge every launch of a profile by every rule, and rank what they find by promised gain."""
    analysis = Analysis(profile)
    profile = analysis.profile
    load = load_of(analysis)
    places = Places(analysis)
    by_rule = [outcomes_of(rule, analysis, load, places) for rule in rules]
    walls, floor = walls_now(load), load.floor()
    hosts = host_times(profile)
    if any(hosts):
        floor = np.fmin(floor, end_to_end.attained(analysis))
        walls = [
            end_to_end.TRANSFER if longer else wall
            for wall, longer in zip(walls, end_to_end.copies_dominate(analysis), strict=True)
        ]
    textbook = textbook_metrics(analysis)
    uses = _wall_uses(load)
    launches = []
    for launch, row in enumerate(profile.launches.to_dict("records")):
        owner = vendor_of(row["demangled"])
        outcomes = _ranked(
            (outcomes[launch] for outcomes in by_rule), walls[launch], uses[launch], float(floor[launch]), owner
        )
        launches.append(
            LaunchDiagnosis(
                report=row["report"],
                index=row["index"],
                kernel=row["kernel"],
                demangled=row["demangled"],
                grid=_extent(row, "grid"),
                block=_extent(row, "block"),
                duration_ns=row["duration_ns"],
                device=Device(row["device"], row["compute_capability"]),
                origin=origin,
                bottleneck=walls[launch],
                units=uses[launch],
                attained=float(floor[launch]) if _COUNTED & uses[launch].keys() or hosts[launch] else nan,
                verdict=_verdict(outcomes, float(floor[launch]), owner),
                metrics=textbook[launch],
                outcomes=outcomes,
                host=hosts[launch],
                owner=owner,
            )
        )
    return Diagnosis(tuple(launches), profile.reports, _remark(analysis), failure=profile.failure)


def _remark(analysis: Analysis) -> str:
    """What predictions rest on that is assumed: shares of GPUs that were not measured, opcodes that are not known."""
    return "; ".join(filter(None, [_assumed_shares(analysis.profile), _unknown_opcodes(analysis)]))


def _unknown_opcodes(analysis: Analysis) -> str:
    codes = {rows.code for rows in analysis.instructions.values()}
    unknown = sum((code.unknown_opcodes for code in codes), Counter[str]())
    if not unknown:
        return ""
    named = ", ".join(opcode for opcode, _ in unknown.most_common(_OPCODES_NAMED))
    return (
        f"{unknown.total():,} machine instructions have opcodes that ncuview does not know ({named}): each is taken to"
        " use and change all of its registers"
    )


def _assumed_shares(profile: Profile) -> str:
    devices = dict.fromkeys(profile.launches["device"].tolist())
    assumed = [device or "a GPU without a name" for device in devices if is_assumed(device)]
    if not assumed:
        return ""
    return f"attainable shares are assumed for {', '.join(assumed)}: `ncuview calibrate` measures them"


def _extent(row: dict[Any, Any], of: str) -> Extent:
    return (row[f"{of}_x"], row[f"{of}_y"], row[f"{of}_z"])


def _wall_uses(load: Load) -> list[dict[str, float]]:
    """For each launch, each wall's use as a share of peak: the busiest of its units; unknown ones are left out."""
    launches = len(load.use["launch"])
    uses: list[dict[str, float]] = [{} for _ in range(launches)]
    for wall in WALLS:
        parts = np.array([load.use[unit] for unit, what in UNITS.items() if what.wall == wall])
        for launch in range(launches):
            known = parts[:, launch][np.isfinite(parts[:, launch])]
            if len(known):
                uses[launch][wall] = float(known.max())
    return uses


def _ranked(
    outcomes: Iterable[Outcome], wall: str, uses: dict[str, float], floor: float, owner: str
) -> tuple[Outcome, ...]:
    """Findings by predicted gain, surer ones first among equals and drafts last; then the other outcomes.

    Each finding that is not worth doing has its reason.
    """
    told = list(outcomes)
    findings = sorted((outcome for outcome in told if isinstance(outcome, Finding)), key=_precedence)
    rest = [outcome for outcome in told if not isinstance(outcome, Finding)]
    advised: dict[str, Finding] = {}
    judged = []
    for finding in findings:
        reason = _OWNED.format(owner) if owner else _why_not(finding, advised, wall, uses, floor)
        if not reason:
            advised[finding.optimization] = finding
        judged.append(replace(finding, rejected=reason))
    return (*(each for each in judged if not each.rejected), *(each for each in judged if each.rejected), *rest)


def _why_not(finding: Finding, advised: dict[str, Finding], wall: str, uses: dict[str, float], floor: float) -> str:
    """Why a finding is no advice; empty if it is."""
    if finding.predicted_speedup.best < WORTH_DOING:
        return _reason(wall, uses)
    if floor >= WALL_SHARE and finding.predicted_speedup.best < WORTH_DOING_NEAR_PEAK:
        return f"near its peak, {wall}: this promises too little to be sure of"
    if finding.optimization in advised:
        before = advised[finding.optimization].rule
        return f"{finding.optimization} is advised already, by {before.code} {before.name}"
    return ""


def _precedence(finding: Finding) -> tuple[bool, float, float, str]:
    gain = finding.predicted_speedup
    return (finding.draft, -gain.best, gain.high - gain.low, finding.rule.code)


def _reason(wall: str, uses: dict[str, float]) -> str:
    if wall in uses:
        return f"not the wall: {wall} at {uses[wall]:.0%} of its peak is"
    return f"not the wall: {wall} is, and this hides little of it"


def _verdict(outcomes: Sequence[Outcome], floor: float, owner: str) -> Verdict:
    if owner:
        return "not-yours"
    if any(isinstance(outcome, Finding) and not outcome.rejected for outcome in outcomes):
        return "advice"
    if mostly_blind(outcomes):
        return "not-judged"
    judged = not any(isinstance(outcome, Skipped | Broken) for outcome in outcomes)
    return "near-peak" if judged and floor >= WALL_SHARE else "unclear"
