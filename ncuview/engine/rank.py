"""Judge every launch of a ``Profile`` by rules, rank its findings by predicted gain, and return the ``Diagnosis``.

``diagnose`` also gives each launch its bottleneck and verdict, and each rejected finding the reason.
Where rules are left out, no launch is near its peak.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from ncuview.base.patterns import Pattern
from ncuview.engine.causes import Causes
from ncuview.engine.locate import Places
from ncuview.engine.missing import no_code
from ncuview.engine.outcome import outcomes_of
from ncuview.engine.rule_file import Rule, shipped_rules
from ncuview.engine.sequences import Sequences
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.shared_pipes import UNIT as SHARED_PIPES
from ncuview.metrics.shared_pipes import shared_pipes
from ncuview.metrics.textbook import textbook_metrics
from ncuview.metrics.units import BOTTLENECKS, UNITS
from ncuview.programs.of_profile import calls_of, changes_of, program_of
from ncuview.programs.owners import Owner, owners_of
from ncuview.reader.host_times import host_times
from ncuview.records.diagnosis import (
    CAUSES_OF_LINES,
    WORTH_DOING,
    WORTH_DOING_NEAR_PEAK,
    Broken,
    Diagnosis,
    Finding,
    LaunchDiagnosis,
    NotApplicable,
    Origin,
    Outcome,
    OwnerKind,
    Skipped,
    Verdict,
    mostly_blind,
)
from ncuview.records.profile import Device, Extent, Profile, Workload
from ncuview.records.program import KernelTrace, ProgramGpu
from ncuview.speedup import end_to_end
from ncuview.speedup.attainable import is_assumed, program_figures
from ncuview.speedup.model import BOTTLENECK_SHARE, Load, bottlenecks_now, load_of

LIKELY_WORTH_DOING, LIKELY_NEAR_PEAK = 1.15, 1.3
"""``WORTH_DOING`` and ``WORTH_DOING_NEAR_PEAK`` for findings of grade ``likely``, whose gain may lie further from the
prediction."""

_OWNED: dict[OwnerKind, str] = {
    "vendor": "the kernel is part of {}, whose code only its vendor can change",
    "framework": "the kernel is part of {}: the call can be changed, not the kernel",
    "generated": "the kernel is written by {} from code that can be changed",
}

_NO_SIMT_KERNEL: dict[Workload, str] = {
    "Tile kernel": "rules are about SIMT kernels, not Tile kernels",
    "range": "rules are about single kernels, not ranges",
    "graph": "rules are about single kernels, not CUDA graphs: --graph-profiling node profiles its kernels",
    "command list": "rules are about single kernels, not command lists",
    "subgrid schedule": "rules are about single kernels, not subgrid schedules",
}
_L2_BYTES = "device__attribute_l2_cache_size"
_WAITS_FOR_PEERS = (
    "under ncu, launches run one at a time, so that the time of a kernel that waits for peers means nothing"
)

_COUNTED = frozenset(unit.bottleneck for unit in UNITS.values() if unit.needed and not unit.works_for)
"""Bottlenecks that only counters show. If none of them was measured, the attained share is unknown."""
_OPCODES_NAMED = 3


def diagnose(
    profile: Profile,
    rules: Sequence[Rule],
    origin: Origin = "report",
    chosen_from: Sequence[Rule] | None = None,
    *,
    from_counters: bool = True,
    mine: Sequence[Pattern] = (),
    owners: Sequence[Owner] | None = None,
    trace: KernelTrace | None = None,
) -> Diagnosis:
    """Judge every launch of a profile by every rule, and rank the findings by predicted gain.

    Args:
        profile: The launches.
        rules: The rules to evaluate.
        origin: Where the profile is from.
        chosen_from: The rules without which a launch is not judged completely; None for the shipped ones.
        from_counters: Whether rules that read machine code judge launches without it by counters alone.
        mine: Kernels whose name or source file matches one of these patterns are the user's.
        owners: Whose code each launch is; None to find it in the profile.
        trace: The times between the kernels of the same program without ncu.
    """
    needed = shipped_rules() if chosen_from is None else chosen_from
    selected = not {rule.text.code for rule in needed} <= {rule.text.code for rule in rules}
    analysis = Analysis(profile)
    profile = analysis.profile
    counted = analysis.without_code if from_counters else frozenset()
    load = load_of(analysis)
    places = Places(analysis)
    causes = Causes(analysis, places)
    sequences = Sequences(analysis, load)
    by_rule = [outcomes_of(rule, analysis, load, places, causes, counted) for rule in rules]
    bottlenecks, floor = bottlenecks_now(load), load.floor()
    hosts = host_times(profile)
    if any(hosts):
        floor = np.fmin(floor, end_to_end.attained(analysis))
        bottlenecks = [
            end_to_end.TRANSFER if longer else bottleneck
            for bottleneck, longer in zip(bottlenecks, end_to_end.copies_dominate(analysis), strict=True)
        ]
    textbook = textbook_metrics(analysis)
    uses = bottleneck_uses(load)
    measured = [bool(_COUNTED & of_launch.keys()) for of_launch in uses]
    owners, calls = owners_of(profile, mine) if owners is None else owners, calls_of(profile, mine)
    pipes = shared_pipes(analysis)
    launches = []
    for launch, row in enumerate(profile.launches.to_dict("records")):
        owner = owners[launch]
        names: dict[str, str] = {SHARED_PIPES: pipes[launch]} if SHARED_PIPES in uses[launch] else {}
        bottleneck = names.get(bottlenecks[launch], bottlenecks[launch])
        used = uses[launch].get(bottlenecks[launch])
        outcomes = _ranked((of_rule[launch] for of_rule in by_rule), bottleneck, used, float(floor[launch]), owner)
        if not_judged := _WAITS_FOR_PEERS if owner.waits_for_peers else _NO_SIMT_KERNEL.get(row["workload"], ""):
            outcomes = tuple(NotApplicable(outcome.rule, not_judged) for outcome in outcomes)
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
                bottleneck=bottlenecks[launch],
                units=uses[launch],
                attained=float(floor[launch]) if measured[launch] or hosts[launch] else nan,
                verdict=_verdict(
                    outcomes,
                    float(floor[launch]),
                    owner,
                    counted=launch in counted and measured[launch],
                    judged=not not_judged,
                ),
                metrics=textbook[launch],
                outcomes=outcomes,
                host=hosts[launch],
                owner=owner.name,
                owner_kind=owner.kind,
                call=calls[launch],
                waits_for=causes.of_launch(launch),
                sequence=sequences.of_launch(launch, outcomes),
                unit_names=names,
                not_judged=not_judged,
                waits_for_peers=owner.waits_for_peers,
            )
        )
    if selected:
        launches = [_of_selected_rules(launch) for launch in launches]
    own = frozenset(launch for launch in counted if owners[launch].kind == "yours")
    remark = _remark(analysis, len(rules) if selected else 0, own)
    program = program_of(profile, owners, calls, _gpu_of(analysis), trace)
    changes = changes_of(program) if program else {}
    placed = zip(launches, _time_shares(profile, owners), strict=True)
    launches = [
        replace(launch, time_share=share, changed_by=changes.get(place)) for place, (launch, share) in enumerate(placed)
    ]
    return Diagnosis(tuple(launches), profile.reports, remark, failure=profile.failure, program=program)


def _gpu_of(analysis: Analysis) -> ProgramGpu:
    """The figures of the GPU that ran most launches; the size of its L2 cache is that of the report."""
    device, _ = Counter(analysis.devices).most_common(1)[0]
    reported = analysis.metric(_L2_BYTES)[analysis.devices.index(device)]
    figures = program_figures(device)
    return replace(figures, l2_bytes=float(reported)) if reported > 0 else figures


def _time_shares(profile: Profile, owners: Sequence[Owner]) -> list[float | None]:
    """Each launch's share of the time of all that do not wait for peers; None where it is unknown."""
    waits = np.array([owner.waits_for_peers for owner in owners], dtype=bool)
    duration = profile.launches["duration_ns"].to_numpy(np.float64)
    total = float(duration[~waits].sum())
    if not total > 0:
        return [None] * len(owners)
    return [None if waiting else time / total for time, waiting in zip(duration.tolist(), waits, strict=True)]


def _of_selected_rules(launch: LaunchDiagnosis) -> LaunchDiagnosis:
    """A launch that some rules were left out for, which is not near its peak: those rules may have advice."""
    return replace(launch, selected=True, verdict="unclear" if launch.verdict == "near-peak" else launch.verdict)


def _remark(analysis: Analysis, selected: int, counted: frozenset[int]) -> str:
    """What the diagnosis assumes: selected rules, launches without code, GPUs not measured, unknown opcodes."""
    only = f"only {selected} selected {'rule was' if selected == 1 else 'rules were'} evaluated" if selected else ""
    parts = [_from_counters(analysis.profile, counted), _not_issued(analysis), _assumed_shares(analysis.profile)]
    parts.append(_unknown_opcodes(analysis))
    return "; ".join(filter(None, [only, *parts]))


def _from_counters(profile: Profile, counted: frozenset[int]) -> str:
    """Which launches were judged without machine code, and how to get a better answer."""
    if not counted:
        return ""
    launches = len(profile.launches)
    some = "" if len(counted) == launches else f"{len(counted):,} of {launches:,} launches "
    return (
        f"{some}judged from counters alone, without lines: {no_code(str(profile.launches.at[min(counted), 'report']))}"
    )


def _not_issued(analysis: Analysis) -> str:
    """Which launches have only the stall samples of cycles without an issued instruction."""
    if not analysis.not_issued:
        return ""
    launches = len(analysis.devices)
    of = "" if len(analysis.not_issued) == launches else f" of {len(analysis.not_issued):,} of {launches:,} launches"
    return f"stall shares{of} are of the samples without an issued instruction (_not_issued): the report has no others"


def _unknown_opcodes(analysis: Analysis) -> str:
    codes = {rows.code for rows in analysis.instructions.values()}
    unknown = sum((code.unknown_opcodes for code in codes), Counter[str]())
    if not unknown:
        return ""
    named = ", ".join(opcode for opcode, _ in unknown.most_common(_OPCODES_NAMED))
    return (
        f"{unknown.total():,} machine instructions have opcodes that ncuview does not know ({named}): each is assumed"
        " to use and change all of its registers"
    )


def _assumed_shares(profile: Profile) -> str:
    devices = dict.fromkeys(profile.launches["device"].tolist())
    assumed = [device or "an unnamed GPU" for device in devices if is_assumed(device)]
    if not assumed:
        return ""
    return f"attainable shares are assumed for {', '.join(assumed)}: `ncuview calibrate` measures them"


def _extent(row: dict[Any, Any], of: str) -> Extent:
    return (row[f"{of}_x"], row[f"{of}_y"], row[f"{of}_z"])


def bottleneck_uses(load: Load) -> list[dict[str, float]]:
    """For each launch and bottleneck the use of its busiest unit as a share of peak; unknown ones are left out."""
    launches = len(load.use["launch"])
    uses: list[dict[str, float]] = [{} for _ in range(launches)]
    for bottleneck in BOTTLENECKS:
        parts = np.array([load.use[unit] for unit, what in UNITS.items() if what.bottleneck == bottleneck])
        for launch in range(launches):
            known = parts[:, launch][np.isfinite(parts[:, launch])]
            if len(known):
                uses[launch][bottleneck] = float(known.max())
    return uses


def _ranked(
    outcomes: Iterable[Outcome], bottleneck: str, used: float | None, floor: float, owner: Owner
) -> tuple[Outcome, ...]:
    """Findings by predicted gain, narrower bounds first among equals and drafts last; then the other outcomes.

    Each finding that is not advice has its reason. Of a kernel that is not the user's nothing is missing.
    """
    known = list(outcomes)
    owned = "" if owner.kind == "yours" else _OWNED[owner.kind].format(owner.name)
    if owned:
        known = [NotApplicable(each.rule, owned) if isinstance(each, Skipped) else each for each in known]
    findings = sorted((outcome for outcome in known if isinstance(outcome, Finding)), key=_precedence)
    rest = [outcome for outcome in known if not isinstance(outcome, Finding)]
    advised: dict[str, Finding] = {}
    rejected = []
    for finding in findings:
        reason = owned or _why_not(finding, advised, bottleneck, used, floor)
        same = "" if reason else _same_cause(finding, advised.values())
        if same:
            reason = f"the same cause as {same}: {finding.cause}"
        if reason:
            rejected.append(replace(finding, rejected=reason, same_cause_as=same))
        else:
            advised[finding.optimization] = finding
    return (*advised.values(), *rejected, *rest)


def _why_not(finding: Finding, advised: dict[str, Finding], bottleneck: str, used: float | None, floor: float) -> str:
    """Why a finding is no advice; empty if it is."""
    likely = finding.grade == "likely"
    if finding.predicted_speedup.best < WORTH_DOING:
        return _reason(bottleneck, used)
    if likely and finding.predicted_speedup.best < LIKELY_WORTH_DOING:
        return "the predicted gain is too small to be certain from counters alone"
    worth = LIKELY_NEAR_PEAK if likely else WORTH_DOING_NEAR_PEAK
    if floor >= BOTTLENECK_SHARE and finding.predicted_speedup.best < worth:
        return f"near its peak, {bottleneck}: the predicted gain is too small to be certain"
    if finding.optimization in advised:
        before = advised[finding.optimization].rule
        return f"{finding.optimization} is advised already, by {before.code} {before.name}"
    return ""


def _same_cause(finding: Finding, advised: Iterable[Finding]) -> str:
    """The code of the advice that has the same cause on the same lines; empty where there is none."""
    same = (each for each in advised if finding.cause and finding.cause == each.cause and _share_lines(finding, each))
    return next((each.rule.code for each in same), "")


def _share_lines(one: Finding, other: Finding) -> bool:
    """Whether two findings of a cause may be about the same code: a line in common, or one without lines."""
    if one.cause not in CAUSES_OF_LINES:
        return True
    lines, others = ({(each.file, each.line) for each in finding.where} for finding in (one, other))
    return not lines or not others or not lines.isdisjoint(others)


def _precedence(finding: Finding) -> tuple[bool, float, float, str]:
    gain = finding.predicted_speedup
    return (finding.draft, -gain.best, gain.high - gain.low, finding.rule.code)


def _reason(bottleneck: str, used: float | None) -> str:
    if used is not None:
        return f"not the bottleneck: {bottleneck} at {used:.0%} of its peak is"
    return f"not the bottleneck: {bottleneck} is, and the change hides little of it"


def _verdict(outcomes: Sequence[Outcome], floor: float, owner: Owner, *, counted: bool, judged: bool) -> Verdict:
    """The verdict of a launch; ``counted`` where it has no machine code, but counters of its units.

    ``judged``: whether rules are about launches of its kind.
    """
    if owner.kind != "yours":
        return "not-yours"
    if any(isinstance(outcome, Finding) and not outcome.rejected for outcome in outcomes):
        return "advice"
    if not judged or (not counted and mostly_blind(outcomes)):
        return "not-judged"
    # Without machine code, some rules never judge, and the units decide.
    complete = counted or not any(isinstance(outcome, Skipped | Broken) for outcome in outcomes)
    return "near-peak" if complete and floor >= BOTTLENECK_SHARE else "unclear"
