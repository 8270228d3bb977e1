"""JSON document of a ``Diagnosis``, ``Ladder`` or ``Comparison``, with a gate's checks where there is one.

``as_json`` returns it as text, ``json_parts`` in parts; ``ladder_document`` returns a ladder's dataclass.

The forms are the dataclasses of ``records.documents``, from which ``render.schemas`` makes JSON Schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from ncuview.base.paths import shown_path
from ncuview.comparison.compare import Comparison, Pair
from ncuview.comparison.prediction import PredictionCheck
from ncuview.engine.priority import Priorities, Priority, priorities
from ncuview.gate.verdict import nothing_checked
from ncuview.records.diagnosis import (
    Awaited,
    Broken,
    Diagnosis,
    Finding,
    Gain,
    LaunchDiagnosis,
    NotApplicable,
    Outcome,
    Saved,
    Skipped,
    SourceLine,
    StepSequence,
)
from ncuview.records.documents import Place, Report
from ncuview.records.documents import comparison as comparisons
from ncuview.records.documents import diagnosis as diagnoses
from ncuview.records.gate import Check, Gate
from ncuview.records.ladder import Ladder, LadderStep
from ncuview.records.profile import ReportInfo
from ncuview.records.program import Call, ChangeAt, Process, ProgramDiagnosis, ProgramFinding
from ncuview.records.schema import plain
from ncuview.render.change_words import change_sentence
from ncuview.render.gate_words import closes, is_closed
from ncuview.render.text import json_text, known
from ncuview.render.words import coverage_sentence


def as_json(answer: Diagnosis | Ladder | Comparison, gate: Gate | None = None) -> str:
    """One JSON document, without NaN or infinity.

    Args:
        answer: The result to write.
        gate: The result of a budget and a baseline; without it the document has no part ``gate``.
    """
    return "".join(json_parts(answer, gate))


def json_parts(answer: Diagnosis | Ladder | Comparison, gate: Gate | None = None) -> Iterator[str]:
    """The same text in parts, with one part per launch of a diagnosis: the text of 10,000 launches has 440 MB."""
    content = _content(answer)
    if gate:
        content["gate"] = plain(_gate(gate))
    before = "{"
    for name, value in content.items():
        yield f"{before}\n  {_indented(name, 1)}: "
        if isinstance(value, Iterator):
            yield from _listed(value)
        else:
            yield _indented(value, 1)
        before = ","
    yield "\n}\n"


def _listed(entries: Iterator[Any]) -> Iterator[str]:
    before = "["
    for entry in entries:
        yield f"{before}\n    {_indented(entry, 2)}"
        before = ","
    yield "[]" if before == "[" else "\n  ]"


def _indented(value: Any, depth: int) -> str:
    """The JSON of a value, indented for its depth in a document. JSON escapes line breaks inside strings."""
    return json_text(value).rstrip("\n").replace("\n", "\n" + "  " * depth)


def _content(answer: Diagnosis | Ladder | Comparison) -> dict[str, Any]:
    """The keys and values of a document; the launches of a diagnosis are converted one by one."""
    if isinstance(answer, Diagnosis):
        launches = (plain(launch_document(launch)) for launch in answer.launches)
        return {**plain(_diagnosis(answer)), "launches": launches}
    content: dict[str, Any] = plain(ladder_document(answer) if isinstance(answer, Ladder) else _comparison(answer))
    return content


def _diagnosis(diagnosis: Diagnosis) -> diagnoses.DiagnosisDocument:
    """The document without its launches."""
    return diagnoses.DiagnosisDocument(
        schema="ncuview.diagnosis/2",
        remark=diagnosis.remark,
        error=diagnosis.failure,
        reports=_reports(diagnosis.reports),
        judged=_judged(diagnosis),
        priorities=_priorities(priorities(diagnosis)),
        program=_program(diagnosis.program),
        launches=(),
    )


def _program(program: ProgramDiagnosis | None) -> diagnoses.Program | None:
    if program is None:
        return None
    calls = (
        diagnoses.CallTime(call_document(each.call), each.launches, each.time_ns, each.share, each.times_ns)
        for each in program.calls
    )
    return diagnoses.Program(
        time_ns=program.time_ns,
        calls=tuple(calls),
        findings=tuple(map(_program_finding, program.findings)),
        processes=tuple(map(_process, program.processes)),
    )


def _process(each: Process) -> diagnoses.Process:
    report = shown_path(each.report)
    return diagnoses.Process(each.name, each.number, each.program, report, each.launches, each.time_ns, each.share)


def _program_finding(finding: ProgramFinding) -> diagnoses.ProgramFinding:
    return diagnoses.ProgramFinding(
        rule=finding.code,
        name=finding.name,
        change=finding.change,
        message=finding.message,
        advice=finding.advice,
        link=finding.link,
        predicted_speedup=Gain(*finding.gain),
        saved_ns=Saved(*finding.saved_ns),
        calls=tuple(map(call_document, finding.calls)),
        launches=finding.launches,
        processes=finding.processes,
    )


def _change(change: ChangeAt) -> ChangeAt:
    return replace(change, file=shown_path(change.file) if change.file else "")


def call_document(call: Call) -> diagnoses.Call:
    """The line of a program."""
    file = shown_path(call.file) if call.file else ""
    of = call.forward
    forward = diagnoses.ForwardLine(shown_path(of.file), of.line, of.function) if of else None
    return diagnoses.Call(file, call.line, call.function, call.operator, call.backward, call.library, forward)


def _judged(diagnosis: Diagnosis) -> diagnoses.Judged:
    return diagnoses.Judged(
        launches=len(diagnosis.launches),
        not_judged=sum(launch.unexamined for launch in diagnosis.launches),
        not_yours=sum(launch.verdict == "not-yours" for launch in diagnosis.launches),
        why=coverage_sentence(diagnosis.launches),
    )


def _gate(gate: Gate) -> diagnoses.GateResult:
    return diagnoses.GateResult(
        closed=is_closed(gate),
        nothing_checked=nothing_checked(gate),
        fail_on=gate.fail_on,
        remark=gate.notes,
        checks=tuple(_check(check, gate) for check in gate.checks),
    )


def _check(check: Check, gate: Gate) -> diagnoses.GateCheck:
    return diagnoses.GateCheck(
        kernel=check.kernel,
        grid=check.grid,
        block=check.block,
        subject=check.subject,
        condition=check.condition,
        result=check.result,
        level=check.level,
        closes=closes(check, gate),
        measured=None if check.measured is None else known(check.measured),
        limit=None if check.limit is None else known(check.limit),
        unit=check.unit,
        message=check.message,
        origin=check.origin,
        where=_places(check.where),
    )


def _priorities(ranked: Priorities) -> diagnoses.Priorities:
    return diagnoses.Priorities(
        total_ns=ranked.total_ns,
        left_ns=ranked.left_ns,
        saved_ns=ranked.saved,
        speedup=ranked.speedup,
        untimed=ranked.untimed,
        unprofiled=ranked.unprofiled,
        groups=tuple(_priority(rank, group) for rank, group in enumerate(ranked.groups, start=1)),
    )


def _priority(rank: int, group: Priority) -> diagnoses.Priority:
    return diagnoses.Priority(
        rank=rank,
        kernel=group.kernel,
        demangled=group.demangled,
        grid=group.grid,
        block=group.block,
        device=group.device,
        launches=group.launches,
        profiled=group.profiled,
        time_ns=group.time_ns,
        share=group.share,
        shortest_ns=known(group.shortest_ns),
        longest_ns=known(group.longest_ns),
        optimization=group.advice.optimization if group.advice else None,
        rule=group.advice.rule.code if group.advice else None,
        agreed=group.agreed,
        predicted_speedup=group.predicted_speedup,
        saved_ns=group.saved,
        example=Place(shown_path(group.example.report), group.example.index),
    )


def _comparison(comparison: Comparison) -> comparisons.ComparisonDocument:
    return comparisons.ComparisonDocument(
        schema="ncuview.comparison/2",
        error=comparison.failure,
        before=_reports(comparison.before.reports),
        after=_reports(comparison.after.reports),
        differences=comparison.differences,
        unknown=comparison.unknown,
        pairs=tuple(_pair(pair) for pair in comparison.pairs),
        only_before=tuple(_side(launch) for launch in comparison.only_before),
        only_after=tuple(_side(launch) for launch in comparison.only_after),
    )


def _pair(pair: Pair) -> comparisons.ComparedPair:
    return comparisons.ComparedPair(
        sentence=change_sentence(pair),
        changed=pair.changed,
        before_ns=known(pair.before_ns),
        after_ns=known(pair.after_ns),
        speedup=known(pair.speedup),
        spread=pair.spread,
        unchanged=pair.is_noise,
        moved=tuple(comparisons.MovedNumber(**vars(change)) for change in pair.metric_changes),
        rules=tuple(comparisons.MovedRule(**_with_rule(change)) for change in pair.rule_changes),
        promise=_prediction(pair.prediction) if pair.prediction else None,
        launches=tuple(
            comparisons.Partners(_side(was), _side(now)) for was, now in zip(pair.before, pair.after, strict=True)
        ),
    )


def _prediction(check: PredictionCheck) -> comparisons.Prediction:
    return comparisons.Prediction(
        rule=check.rule.code,
        optimization=check.optimization,
        promised=check.predicted,
        got=check.measured,
        verdict=check.verdict,
        evidence=check.evidence,
        now=check.now,
        name=check.rule.name,
    )


def _with_rule(part: Any) -> dict[str, Any]:
    """The fields of a record about a rule, with the rule's code and name under two keys."""
    return {**vars(part), "rule": part.rule.code, "name": part.rule.name}


def _side(launch: LaunchDiagnosis) -> comparisons.ComparedLaunch:
    """The launch and its result in short; the diagnosis of its report has the rest."""
    return comparisons.ComparedLaunch(
        report=shown_path(launch.report),
        index=launch.index,
        kernel=launch.kernel,
        demangled=launch.demangled,
        grid=launch.grid,
        block=launch.block,
        device=launch.device,
        time_ns=known(launch.whole_ns),
        bottleneck=launch.bottleneck,
        verdict=launch.verdict,
        first_advice=launch.findings[0].optimization if launch.findings else None,
    )


def _reports(reports: tuple[ReportInfo, ...]) -> tuple[Report, ...]:
    return tuple(Report(shown_path(each.path), each.ncu_version, each.created, each.damage) for each in reports)


def _places(lines: Sequence[SourceLine]) -> tuple[SourceLine, ...]:
    """The lines with files as outputs show them."""
    return tuple(
        replace(
            line,
            file=shown_path(line.file),
            called_from=tuple(replace(call, file=shown_path(call.file)) for call in line.called_from),
        )
        for line in lines
    )


def _awaited(instructions: Sequence[Awaited]) -> tuple[Awaited, ...]:
    return tuple(replace(each, file=shown_path(each.file) if each.file else "") for each in instructions)


def _sequence(sequence: StepSequence | None) -> diagnoses.StepSequence | None:
    if sequence is None:
        return None
    steps = (
        diagnoses.Step(each.rule.code, each.rule.name, each.optimization, each.title, each.gain)
        for each in sequence.steps
    )
    return diagnoses.StepSequence(tuple(steps), sequence.alone)


def launch_document(launch: LaunchDiagnosis) -> diagnoses.Launch:
    """A launch in the words of the JSON documents."""
    return diagnoses.Launch(
        report=shown_path(launch.report),
        index=launch.index,
        kernel=launch.kernel,
        demangled=launch.demangled,
        grid=launch.grid,
        block=launch.block,
        duration_ns=known(launch.duration_ns),
        device=launch.device,
        source=launch.origin,
        bottleneck=launch.bottleneck,
        units={unit: share for unit, share in launch.units.items() if isfinite(share)},
        unit_names=launch.unit_names,
        not_judged=launch.not_judged,
        waits_for_peers=launch.waits_for_peers,
        time_share=launch.time_share,
        changed_by=_change(launch.changed_by) if launch.changed_by else None,
        attained=known(launch.attained),
        verdict=launch.verdict,
        owner=launch.owner,
        owner_kind=launch.owner_kind,
        call=call_document(launch.call) if launch.call else None,
        host=launch.host,
        textbook=launch.textbook,
        waits_for=_awaited(launch.waits_for),
        sequence=_sequence(launch.sequence),
        metrics={
            name: diagnoses.Metric(metric.value, metric.unit, metric.source)
            for name, metric in sorted(launch.metrics.items())
            if isfinite(metric.value)
        },
        findings=tuple(_advice(rank, finding) for rank, finding in enumerate(launch.findings, start=1)),
        outcomes=tuple(_outcome(outcome) for outcome in launch.outcomes),
    )


def _advice(rank: int, finding: Finding) -> diagnoses.Advice:
    return diagnoses.Advice(
        rank=rank,
        rule=finding.rule.code,
        name=finding.rule.name,
        optimization=finding.optimization,
        message=finding.message,
        predicted_speedup=finding.predicted_speedup,
        grade=finding.grade,
        draft=finding.draft,
        bottleneck_after=finding.bottleneck_after,
        assumes=finding.assumes,
        open_condition=finding.open_condition,
        check=finding.check,
        evidence=finding.evidence,
        where=_places(finding.where),
        instructions=finding.instructions,
        lines_wanted=finding.lines_wanted,
        about=finding.about,
        waits_for=_awaited(finding.waits_for),
        cite=finding.cite,
        fix=finding.fix,
    )


def _outcome(outcome: Outcome) -> diagnoses.Outcome:
    code, name, message = outcome.rule.code, outcome.rule.name, outcome.message
    if isinstance(outcome, Finding):
        gain, grade, rejected = outcome.predicted_speedup, outcome.grade, outcome.rejected
        return diagnoses.OutcomeFinding(code, name, "finding", message, gain, grade, rejected)
    if isinstance(outcome, Skipped):
        return diagnoses.OutcomeSkipped(code, name, "skipped", message, outcome.missing)
    if isinstance(outcome, NotApplicable):
        return diagnoses.OutcomeOther(code, name, "not_applicable", message)
    if isinstance(outcome, Broken):
        return diagnoses.OutcomeOther(code, name, "broken", message)
    return diagnoses.OutcomePassed(code, name, "passed", message, outcome.unmet)


def ladder_document(ladder: Ladder) -> comparisons.LadderDocument:
    """The document of a ladder."""
    return comparisons.LadderDocument(
        schema="ncuview.ladder/2",
        family=ladder.family,
        remark=ladder.remark,
        reports=_reports(ladder.reports),
        steps=tuple(_ladder_step(step) for step in ladder.steps),
    )


def _ladder_step(step: LadderStep) -> comparisons.LadderStep:
    return comparisons.LadderStep(
        kernel=step.kernel,
        number=step.number,
        useful_rate=known(step.useful_rate),
        rate_unit=step.rate_unit,
        reported=step.reported or None,
        better=step.better or None,
        better_sizes=step.better_sizes,
        measured_speedup=step.measured_speedup,
        textbook_steps=step.textbook_steps,
        launch=launch_document(step.diagnosis),
    )
