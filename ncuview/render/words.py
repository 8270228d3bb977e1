"""Phrases and sentences on launches, findings and reports, shared by terminal, notebook, Markdown and HTML pages.

Functions take a ``LaunchDiagnosis``, ``Finding``, ``Failure``, ``Ladder`` or a part of one and return text.

The texts are on provenance, bottleneck, advice with predicted gain, verdicts, source places, skipped rules, host times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum, isfinite
from typing import Literal

from ncuview.base.errors import UsageError
from ncuview.base.figures import duration, factor
from ncuview.base.paths import shown_path
from ncuview.comparison.compare import launch_words
from ncuview.metrics.units import UNITS
from ncuview.records.diagnosis import (
    FINISHED_SHARE,
    ONLY_CODE_SHOWS,
    WORTH_DOING,
    WORTH_DOING_NEAR_PEAK,
    Broken,
    Effect,
    Finding,
    LaunchDiagnosis,
    OwnerKind,
    Passed,
    Skipped,
    SourceLine,
    StepSequence,
    main_cause,
)
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Device, Failure, HostTimes, ReportInfo
from ncuview.records.program import ChangeAt
from ncuview.render.text import safe_text

_MOST_NAMES = 12
"""More skipped rules than this are counted, not named: exports of other tools skip about sixty."""
COLLECT = 'ncu --import-source yes --metrics "$(ncuview rules --metrics)"'
"""The command that collects all metrics of the rules."""
_LADDER_MEANING = (
    "predicted: the speedup by the first advice. measured: the speedup of the kernel in column 'by', which applies that"
    " advice; useful work per second is compared where the sizes differ."
)
NO_UNITS = {
    "latency": "no unit is busy enough to explain the time",
    "launch": "starting the kernel costs as much as its work",
    "blocks": "the GPU starts blocks one after the other, and each ends too soon",
    "transfer": "the copies between host and device take the time",
}
"""What the bottlenecks that are no units mean."""
_EXPORT_HINT = " -o mine ./program, and give mine.ncu-rep: a CSV export holds no instructions"
_SCRUBBED_FOLDERS = re.compile(r"^/(?:_+\d+/)+(?:.*/_+\d+/)?")
Detail = Literal["quiet", "normal", "verbose"]
"""How much a terminal page shows: a line per kernel, the next step of each, or the outcome of every rule too."""
FEW_RULES = 3
"""Rules whose messages a page has room for: who selects so few (``--select``) wants to know why they did not fire."""
_NOT_YOURS: dict[OwnerKind, str] = {
    "vendor": "this kernel is part of {}, whose code only its vendor can change",
    "framework": "{}'s kernel: change the call, not the kernel",
    "generated": "written by {} from your code: change that code, not the kernel",
}
_CALL = "You can change the call: its shapes, its precision, how often it is made"
_YOURS_TO_CHANGE: dict[OwnerKind, str] = {
    "vendor": f"{_CALL}.",
    "framework": f"{_CALL}; or do the work of several calls in one kernel.",
    "generated": "You can change what it is written from: the operations, their order and precision, what is compiled"
    " together.",
}
"""What the reader can do about a kernel of another owner."""
_ORIGIN = {"live": "live profile", "recorded": "recorded profile", "report": "report"}


def provenance(
    reports: tuple[ReportInfo, ...], launches: tuple[LaunchDiagnosis, ...], remark: str, *, subject: str = ""
) -> str:
    """The first line: ``subject``, or live or recorded; GPU, date, version of ncu, and remark."""
    origin = subject or (_ORIGIN[launches[0].origin] if launches else "report")
    devices = gpu_words(launches) or "unknown GPU"
    made = dict.fromkeys(_made(report) for report in reports)
    dates = "; ".join(", ".join(parts) for parts in made)
    return safe_text(f"{origin}: {devices}, {dates}" + (f" ({remark})" if remark else ""))


def gpu_words(launches: Sequence[LaunchDiagnosis]) -> str:
    """The GPUs of launches, each once: ``NVIDIA H200``; empty without launches."""
    return ", ".join(dict.fromkeys(device_words(launch.device) for launch in launches))


def device_words(device: Device) -> str:
    """A GPU's name, or its compute capability."""
    if device.name:
        return device.name
    return f"GPU of compute capability {device.compute_capability}" if device.compute_capability else "unknown GPU"


def _made(report: ReportInfo) -> tuple[str, ...]:
    """The date and the version of ncu; exports have neither."""
    if _is_export(report.path):
        return ("CSV export",)
    return (f"{report.created:%Y-%m-%d}" if report.created else "undated", f"ncu {report.ncu_version or '?'}")


def _is_export(path: str) -> bool:
    return path.lower().endswith(".csv")


def failure_sentence(failure: Failure | None) -> str:
    """What is missing and why, for the top of a page; empty where nothing is missing.

    ``Error:`` is said of a wrong command line or file, ``Incomplete:`` of launches that are missing.
    """
    if failure is None:
        return ""
    hint = f" {failure.hint}" if failure.hint else ""
    kind = "Error" if failure.exit_code == UsageError.exit_code else "Incomplete"
    return safe_text(f"{kind}: {failure.message} [{failure.id}].{hint}".replace("\n", " "))


def bottleneck_words(launch: LaunchDiagnosis) -> str:
    """``l1_data 88 %``, or ``latency``."""
    name = launch.bottleneck_name
    return f"{name} {launch.units[launch.bottleneck]:.0%}" if launch.bottleneck in launch.units else name


def unit_words(launch: LaunchDiagnosis, unit: str) -> tuple[str, str]:
    """A unit's name in a launch, and what it is: ``dram``, ``device memory``; ``tensor pipes``, ``fp64_tensor``."""
    if unit in launch.unit_names:
        return launch.unit_names[unit], unit
    return unit, UNITS[unit].says if unit in UNITS else "L2 cache" if unit == "l2" else ""


def bottleneck_sentence(launch: LaunchDiagnosis) -> str:
    """What limits the launch, as a sentence without its full stop."""
    if launch.bottleneck in NO_UNITS:
        return f"The bottleneck is {_bottleneck(launch, launch.bottleneck)}"
    if launch.bottleneck not in launch.units:
        return "The bottleneck is unknown: the use of a unit that could be it was not collected"
    share, of = f"{launch.units[launch.bottleneck]:.0%}", "their" if launch.bottleneck in launch.unit_names else "its"
    return f"The bottleneck is {_bottleneck(launch, launch.bottleneck)} at {share} of {of} peak"


def _bottleneck(launch: LaunchDiagnosis, name: str) -> str:
    """A bottleneck and what it is: ``dram (device memory)``, ``latency: no unit is ...``."""
    if name in NO_UNITS:
        return f"{name}: {NO_UNITS[name]}"
    shown, says = unit_words(launch, name)
    return f"{shown} ({says or 'L2 cache'})"


def step_words(launch: LaunchDiagnosis, *, with_time: bool = True) -> str:
    """The first advice with its predicted gain, or the verdict; of a kernel that is not yours with its shares.

    ``with_time``: with its share of the time; pages of groups of launches have that of the group.
    """
    if not launch.findings:
        return ", ".join([verdict_words(launch), *_share_words(launch, with_time=with_time)])
    first = launch.findings[0]
    return f"{first.optimization} {factor(first.predicted_speedup.best)}"


def _share_words(launch: LaunchDiagnosis, *, with_time: bool) -> Iterator[str]:
    """That it waits for peers; else of a kernel that is not yours its shares, and what changes its call."""
    if launch.waits_for_peers:
        yield "waits for peers"
    if launch.waits_for_peers or launch.verdict != "not-yours":
        return
    if with_time and launch.time_share is not None and launch.time_share < 1:
        yield f"{launch.time_share:.0%} of the time"
    if isfinite(launch.attained):
        yield f"{launch.attained:.0%} of what is attainable"
    if launch.changed_by:
        yield change_at_words(launch.changed_by)


def change_at_words(change: ChangeAt) -> str:
    """``see PROG003 at model.py:12``."""
    place = f"{shown_file(change.file)}:{change.line}" if change.line else shown_file(change.file)
    return f"see {change.rule} at {place}" if change.file else f"see {change.rule}"


def verdict_words(launch: LaunchDiagnosis) -> str:
    """The verdict, with the owner of a kernel that is not yours: ``not-yours: PyTorch``."""
    return f"{launch.verdict}: {launch.owner}" if launch.verdict == "not-yours" else launch.verdict


def shown_file(file: str) -> str:
    """A file without the folder names that `scrub` has replaced, and without folders of this machine."""
    return shown_path(_SCRUBBED_FOLDERS.sub("", file))


def kernel_words(demangled: str) -> str:
    """A demangled name without its parameters and result: ``rotate<(int)32>`` of ``void rotate<(int)32>(float *)``."""
    name = demangled.strip()
    if name.endswith(")"):
        depth = 0
        for at in range(len(name) - 1, 0, -1):
            depth += {")": 1, "(": -1}.get(name[at], 0)
            if depth == 0:
                name = name[:at]
                break
    return name.removeprefix("void ") or demangled


def advice_headline(finding: Finding) -> str:
    """``Pad the tile by one column: 2.18x faster``, with what must hold where that is open."""
    draft = f" (by {_code(finding)})" if finding.draft else ""
    condition = f" if {finding.open_condition}" if finding.open_condition else ""
    return f"{finding.fix.title}: {factor(finding.predicted_speedup.best)} faster{condition}{draft}"


def gain_bounds(launch: LaunchDiagnosis, finding: Finding) -> str:
    """``1.94x to 2.29x in 8 of 10 cases, leaves about 150.6 us of 328.3 us``; no times where the launch has none."""
    gain = finding.predicted_speedup
    bounds = f"{'likely, ' if finding.grade == 'likely' else ''}{gain.bounds} in 8 of 10 cases"
    if not isfinite(launch.whole_ns):
        return bounds
    return f"{bounds}, leaves about {duration(launch.whole_ns / gain.best)} of {duration(launch.whole_ns)}"


def advice_reason(launch: LaunchDiagnosis, finding: Finding) -> str:
    """The finding's message, the bottleneck, and the bottleneck after the change."""
    after = finding.bottleneck_after
    said = f"{finding.message}. {bottleneck_sentence(launch)}."
    if after in {launch.bottleneck, ""}:
        return said
    return f"{said} After the change, the bottleneck is {_bottleneck(launch, after)}."


def coverage_sentence(launches: Sequence[LaunchDiagnosis]) -> str:
    """The launches that most rules could not judge and why, and those of other owners; empty without either."""
    return " ".join(filter(None, [_not_judged(launches), *_without_rules(launches), _not_yours(launches)]))


def _not_judged(launches: Sequence[LaunchDiagnosis]) -> str:
    unexamined = [launch for launch in launches if launch.unexamined and not launch.not_judged]
    if not unexamined:
        return ""
    cause, _ = Counter(main_cause(launch) for launch in unexamined).most_common(1)[0]
    return f"Most rules could not judge {_of(len(unexamined), len(launches))}: {cause}."


def _without_rules(launches: Sequence[LaunchDiagnosis]) -> Iterator[str]:
    """For each reason why rules do not look at launches, how many they are."""
    for reason, count in Counter(launch.not_judged for launch in launches if launch.not_judged).items():
        left_out = any(launch.waits_for_peers for launch in launches if launch.not_judged == reason)
        yield f"No rule judges {_of(count, len(launches))}: {reason}{'; all shares leave it out' * left_out}."


def _not_yours(launches: Sequence[LaunchDiagnosis]) -> str:
    """How many launches other owners have, and how much of the time: ``PyTorch 30 (12%), cuBLAS 10 (55%)``."""
    theirs = [launch for launch in launches if launch.owner_kind != "yours"]
    if not theirs:
        return ""
    owners = Counter(launch.owner for launch in theirs).most_common()
    named = (f"{owner} {count:,}{_time_of(owner, launches)}" for owner, count in owners)
    return f"The code of {_of(len(theirs), len(launches))} is not yours to change: {', '.join(named)}."


def _time_of(owner: str, launches: Sequence[LaunchDiagnosis]) -> str:
    """The share of an owner's launches in the time of all; empty where a time is unknown, or there is one launch."""
    counted = [launch for launch in launches if not launch.waits_for_peers]
    total = fsum(launch.whole_ns for launch in counted)
    own = [launch.whole_ns for launch in counted if launch.owner == owner]
    if len(launches) == 1 or not own or not isfinite(total) or total <= 0:
        return ""
    return f" ({fsum(own) / total:.0%} of the time)"


def _of(some: int, launches: int) -> str:
    return "the launch" if launches == 1 else f"{some:,} of {launches:,} launches"


def verdict_headline(launch: LaunchDiagnosis) -> str:
    """For a launch without advice: whether to stop, or why there is no advice."""
    if launch.verdict == "near-peak":
        return _near_peak_headline(launch)
    if launch.verdict == "not-yours":
        return f"Not yours: {_NOT_YOURS[launch.owner_kind].format(launch.owner)}."
    if launch.verdict == "not-judged":
        return f"Not judged: {launch.not_judged or 'most rules could not judge this launch'}."
    if launch.selected:
        return f"No advice of the {_selected_rules(launch)}."
    if _unjudged(launch):
        return "Unclear: no rule predicts a gain, and some could not judge the launch."
    return "Unclear: no rule predicts a gain, and the launch is not near its peak."


def verdict_reason(launch: LaunchDiagnosis) -> str:
    """Why a launch has no advice."""
    if launch.verdict == "near-peak":
        return _near_peak_reason(launch)
    if launch.verdict == "not-yours":
        known = launch.time_share is not None and launch.time_share < 1
        share = f"It takes {launch.time_share:.0%} of the time of all launches. " if known else ""
        change = f" S{change_at_words(launch.changed_by)[1:]}." if launch.changed_by else ""
        return f"{share}{_limits(launch)}. {_YOURS_TO_CHANGE[launch.owner_kind]}{change}"
    if launch.not_judged:
        return f"{_limits(launch)}."
    if launch.verdict == "not-judged":
        blind = sum(isinstance(outcome, Broken | Skipped) for outcome in launch.outcomes)
        counted = f"{blind} of {len(launch.outcomes)} rules could not judge"
        return f"{counted}: {main_cause(launch)}. {bottleneck_sentence(launch)}."
    return f"{bottleneck_sentence(launch)}." + (
        " Rules that were left out may have advice." * launch.selected
        + " The rules that could not judge it are listed below." * _unjudged(launch)
    )


def _limits(launch: LaunchDiagnosis) -> str:
    """What limits a launch, and why no rule looked at it; the units of one that waits for peers say nothing."""
    if launch.waits_for_peers:
        return f"{launch.not_judged[:1].upper()}{launch.not_judged[1:]}"
    limits = f"{bottleneck_sentence(launch)}{_attained_clause(launch)}"
    return f"{limits}; {launch.not_judged}" if launch.not_judged and launch.owner else limits


def is_finished(launch: LaunchDiagnosis) -> bool:
    """Whether a launch is so close to what its bottleneck attains that no further change is worth its cost."""
    return launch.is_near_floor and launch.attained >= FINISHED_SHARE


def attained_words(launch: LaunchDiagnosis) -> str:
    """How close a launch is to what its bottleneck attains: ``At 97% of what dram attains``."""
    share = f"{launch.attained:.0%}"
    return {
        "launch": f"What a launch costs is {share} of its time",
        "blocks": f"Starting its blocks takes {share} of its time",
        "transfer": f"At {share} of a perfect overlap of copies and kernel",
    }.get(
        launch.bottleneck,
        f"At {share} of what {launch.bottleneck_name} attain{'s' * (launch.bottleneck not in launch.unit_names)}",
    )


def _near_peak_headline(launch: LaunchDiagnosis) -> str:
    if is_finished(launch):
        return f"{attained_words(launch)}. Stop here."
    if best := _best_rejected(launch):
        gain = factor(best.predicted_speedup.best)
        return f"{attained_words(launch)}; the largest prediction, {gain}, is uncertain here."
    if launch.attained >= FINISHED_SHARE:
        return f"{attained_words(launch)}; only less work for it is faster."
    return f"{attained_words(launch)}; no rule predicts {factor(WORTH_DOING)} or more."


def _near_peak_reason(launch: LaunchDiagnosis) -> str:
    """The bottleneck, what is left to gain there unless that is little, and the largest prediction."""
    reason = f"{bottleneck_sentence(launch)}{_attained_clause(launch)}."
    if launch.attained < FINISHED_SHARE:
        reason += f" With the same work for it, {factor(1 / launch.attained)} is left to gain."
    if best := _best_rejected(launch):
        predicted = f"{_code(best)} predicts {factor(best.predicted_speedup.best)}"
        return f"{reason} {predicted}; near the peak, advice begins at {factor(WORTH_DOING_NEAR_PEAK)}."
    if launch.attained < FINISHED_SHARE:
        return reason
    if is_finished(launch):
        return f"{reason} No rule predicts {factor(WORTH_DOING)} or more."
    return f"{reason} No rule finds waste in its work; another way to compute the same may need less."


def _attained_clause(launch: LaunchDiagnosis) -> str:
    """``, which is 97% of what a good kernel attains``; empty where that is unknown, or the bottleneck is no unit."""
    known = launch.bottleneck in launch.units and isfinite(launch.attained)
    return f", which is {launch.attained:.0%} of what a good kernel attains" if known else ""


def _best_rejected(launch: LaunchDiagnosis) -> Finding | None:
    """The finding with the largest prediction, where that would be advice further from the peak."""
    findings = [outcome for outcome in launch.outcomes if isinstance(outcome, Finding)]
    best = max(findings, key=lambda finding: finding.predicted_speedup.best, default=None)
    return best if best and best.predicted_speedup.best >= WORTH_DOING else None


def _selected_rules(launch: LaunchDiagnosis) -> str:
    rules = len(launch.outcomes)
    return "selected rule" if rules == 1 else f"{rules} selected rules"


def _unjudged(launch: LaunchDiagnosis) -> bool:
    """Whether a rule had no value for a metric, or failed."""
    return any(isinstance(outcome, Broken | Skipped) for outcome in launch.outcomes)


def check_words(finding: Finding) -> str:
    """How to check that a change has worked."""
    return f"Profile again: {finding.check}."


def place_words(line: SourceLine) -> str:
    """``transpose/coalesced.cu:63  90% of it``, and the place where it was inlined."""
    inlined = ", inlined" if line.inlined else ""
    calls = ", ".join(f"{shown_file(call.file)}:{call.line}" for call in line.called_from if not call.code)
    return f"{shown_file(line.file)}:{line.line}  {line.share:.0%} of it{inlined}" + (f" at {calls}" if calls else "")


def awaited_words(finding: Finding) -> str:
    """``LDG of line 63, 62% of the waiting: total += a[i] * b[j];``; empty where no instruction is known.

    The file is named where the finding has no line of it.
    """
    if not finding.waits_for:
        return ""
    most = finding.waits_for[0]
    if not most.line:
        place = f"instruction {most.address:#06x}"
    elif finding.where and finding.where[0].file == most.file:
        place = f"line {most.line}"
    else:
        place = f"{shown_file(most.file)}:{most.line}"
    return f"{most.opcode} of {place}, {most.share:.0%} of the waiting" + (f": {most.code}" if most.code else "")


def subject_words(launch: LaunchDiagnosis, finding: Finding) -> str:
    """What a finding without lines is about: ``the launch: grid 256x256, block 32x8``."""
    if finding.about == "copies":
        return "the host's copies around the launch"
    return f"the launch: {launch_words(launch.grid, launch.block)}" if finding.about == "launch" else ""


def effects_words(finding: Finding) -> str:
    """What the prediction assumes: ``l1_wavefronts 6% left (l1_data); 12% of the latency goes away``."""
    return "; ".join(map(_effect_words, finding.effects))


def _effect_words(effect: Effect) -> str:
    units = f" ({', '.join(effect.units)})" if effect.units else ""
    if effect.added:
        return f"{effect.value:,.4g} {effect.name} added{units}"
    if effect.name == "latency_hidden":
        return f"{min(max(effect.value, 0.0), 1.0):.0%} of the latency goes away"
    if effect.name == "time_left":
        return f"{effect.value:.0%} of the time is left at least"
    return f"{effect.name} {effect.value:.0%} left{units}"


def excerpts(lines: tuple[SourceLine, ...]) -> list[list[SourceLine]]:
    """Groups of lines whose surroundings overlap, so that no code is shown twice; the worst line first."""
    found: list[list[SourceLine]] = []
    for line in lines:
        shown = {each.line for each in line.around}
        near = [
            excerpt
            for excerpt in found
            if excerpt[0].file == line.file and any(each.line in shown for other in excerpt for each in other.around)
        ]
        if near:
            near[0].extend([line, *(other for excerpt in near[1:] for other in excerpt)])
            found = [excerpt for excerpt in found if excerpt not in near[1:]]
        else:
            found.append([line])
    return found


def also_words(finding: Finding) -> str:
    """Advice that is not the first, with its gain instead of the first one's."""
    return f"{alternative(finding)}: {finding.message}"


def alternative(finding: Finding) -> str:
    """``unrolling 1.40x instead (WORK002)``; with the cause of the advice ``or unrolling 1.40x (WORK002)``."""
    gain = factor(finding.predicted_speedup.best)
    if finding.same_cause_as:
        return f"or {finding.optimization} {gain} ({_code(finding)})"
    return f"{finding.optimization} {gain} instead ({_code(finding)})"


def sequence_words(sequence: StepSequence) -> str:
    """``launch_configuration 1.22x (GRID001), then coalescing 4.90x (GMEM001; alone 1.16x)``."""
    *before, last = sequence.steps
    steps = [f"{step.optimization} {factor(step.gain)} ({step.rule.code})" for step in before]
    steps.append(f"{last.optimization} {factor(last.gain)} ({last.rule.code}; alone {factor(sequence.alone)})")
    return ", then ".join(steps)


def rejected_words(finding: Finding) -> str:
    """A finding that is not advice, and why."""
    return f"{finding.optimization} ({_code(finding)}), {finding.rejected}"


def rejected_line(finding: Finding) -> str:
    """A rejected finding on one line; for a draft rule with its message, so that its evidence can be verified."""
    return rejected_words(finding) + (f". {finding.message}." if finding.draft else "")


def passed_words(launch: LaunchDiagnosis) -> str:
    """The rules that passed, by name; where only a few were selected, what each measured and the conditions not met."""
    passed = [outcome for outcome in launch.outcomes if isinstance(outcome, Passed)]
    if len(launch.outcomes) > FEW_RULES:
        return ", ".join(outcome.rule.name for outcome in passed)
    return "; ".join(f"{outcome.rule.name}: {safe_text(outcome.message)}" for outcome in passed)


def skipped_words(launch: LaunchDiagnosis) -> str:
    """The rules with missing values, and the command that collects the metrics; empty where no rule was skipped."""
    skipped = [outcome for outcome in launch.outcomes if isinstance(outcome, Skipped)]
    without_values = [outcome.rule.name for outcome in skipped if outcome.missing]
    others: dict[str, list[str]] = {}
    for outcome in skipped:
        if not outcome.missing:
            others.setdefault(outcome.message, []).append(outcome.rule.name)
    unseen = [message for message in others if message.startswith(ONLY_CODE_SHOWS)]
    if len(unseen) > 1:
        rules = [name for message in unseen for name in others.pop(message)]
        others[f"{ONLY_CODE_SHOWS}what they look for"] = rules
    collect = f"{COLLECT}{_EXPORT_HINT if _is_export(launch.report) else ''}"
    missing = f"{_who(without_values, launch)}: metrics that they need have no value here. Collect them with: {collect}"
    parts = [missing] if without_values else []
    return "; ".join([*parts, *(f"{_who(who, launch)}: {why}" for why, who in others.items())])


def _who(names: list[str], launch: LaunchDiagnosis) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} of {len(launch.outcomes)} rules"


def idle_words(launch: LaunchDiagnosis) -> str:
    """The phrase for a launch in which no unit is used enough for a bar."""
    if launch.units:
        return "no unit above 5 %"
    summary = launch.metrics.get("dram_peak_share")
    shown = f"; by Nsight's summary device memory is at {summary.value:.0f}% of its peak" if summary else ""
    return f"the counters of the units were not collected{shown}"


def host_words(host: HostTimes) -> str:
    """The host's times of the copies around a kernel."""
    return (
        f"copies in {duration(host.to_device_ns)}, kernel {duration(host.kernel_ns)}, copies out"
        f" {duration(host.to_host_ns)}: {duration(host.whole_ns)} in all; gains refer to this time"
    )


def ladder_meaning(ladder: Ladder) -> str:
    """What the columns of a ladder mean, and those of its bottlenecks that are no units."""
    found = {step.diagnosis.bottleneck for step in ladder.steps}
    return " ".join(
        [_LADDER_MEANING, *(f"Bottleneck {name}: {what}." for name, what in NO_UNITS.items() if name in found)]
    )


def notes_title(ladder: Ladder) -> str:
    """What the notes of a ladder are, and the GPU that their speedups were measured on."""
    gpus = gpu_words([step.diagnosis for step in ladder.steps]) or "unknown GPU"
    return f"Steps of the documents that are not the first advice, with the speedup measured on {gpus}"


def textbook_notes(ladder: Ladder) -> list[str]:
    """The documents' steps that are not the first advice here: measured speedup, the first advice, and the reason."""
    numbers = {step.kernel: step.number for step in ladder.steps}
    return [
        f"#{step.number} to #{numbers[textbook.kernel]} by {textbook.applies}: {factor(textbook.measured_speedup)}"
        f" measured. Advised for #{step.number}: {_first_advice(step.diagnosis)}. {textbook.not_first}"
        for step in ladder.steps
        for textbook in step.textbook_steps
        if textbook.not_first
    ]


def _first_advice(launch: LaunchDiagnosis) -> str:
    return launch.findings[0].optimization if launch.findings else f"no change ({verdict_words(launch)})"


def _code(finding: Finding) -> str:
    """The code of a finding's rule, marked where the rule is a draft."""
    return f"{finding.rule.code}, a draft" if finding.draft else finding.rule.code
