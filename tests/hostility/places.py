"""Where text from outside can stand in what is shown, and answers that hold a hostile text in just one such place.

Each answer holds all texts at once, every one in a launch of its own, so that one output shows all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ncuview.comparison.compare import Comparison, compare
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import (
    Broken,
    Diagnosis,
    Evidence,
    Finding,
    LaunchDiagnosis,
    NotApplicable,
    Outcome,
    Passed,
    RuleId,
    Skipped,
    SourceEdit,
    TextbookMetric,
)
from ncuview.records.gate import Check, Gate
from ncuview.records.ladder import Ladder, LadderStep
from ncuview.records.profile import Device, Failure, ReportInfo
from ncuview.trends import DiagnosedReport, History, history_of
from tests.hostile import poisoned
from tests.render.gate_sample import failed_error, failed_warning
from tests.render.sample import (
    advice_finding,
    ladder,
    launch_with_advice,
    rejected_finding,
    second_finding,
)

CREATED = datetime(2026, 11, 21, tzinfo=UTC)
EDIT = SourceEdit("Pad the tile", "--- a/x.cu\n+++ b/x.cu\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n", "n is even")
RULE = RuleId("SMEM001", "shared-bank-conflict")


@dataclass(frozen=True)
class Content:
    """What is shown of one launch."""

    launch: LaunchDiagnosis
    report: ReportInfo
    checks: tuple[Check, ...]
    step: LadderStep
    remark: str = "as asked for with --recorded"
    family: str = "transpose"
    point: str = "main"
    failure: Failure | None = None


Poison = Callable[[Content, str], Content]


def harmless(number: int) -> Content:
    """A launch with everything that can be shown, unlike all others by its name and grid."""
    outcomes: tuple[Outcome, ...] = (
        replace(advice_finding(), edit=EDIT),
        replace(second_finding(), edit=SourceEdit(reason="the tile has no name")),
        rejected_finding(),
        Passed(RULE, "no bank conflicts"),
        NotApplicable(RULE, "The kernel has no branch."),
        Skipped(RULE, "it cannot be judged: not collected", ("dram__bytes.sum",)),
        Broken(RULE, "share is not a number"),
    )
    launch = replace(
        launch_with_advice(),
        report=f"runs/{number}.ncu-rep",
        kernel=f"kernel{number}",
        demangled=f"kernel{number}(float *)",
        grid=(256 + number, 1, 1),
        outcomes=outcomes,
        textbook=("The documents tile it first.",),
    )
    of_kernel = {"kernel": launch.demangled, "grid": launch.grid, "block": launch.block}
    return Content(
        launch=launch,
        report=ReportInfo(launch.report, "2025.3.1", CREATED),
        checks=(replace(failed_error(), **of_kernel), replace(failed_warning(), **of_kernel)),  # type: ignore[arg-type]
        step=replace(
            ladder().steps[0], kernel=launch.kernel, number=number, better="", textbook_steps=(), diagnosis=launch
        ),
    )


def _launch(**changes: Callable[[LaunchDiagnosis, str], object]) -> Poison:
    """Changes of a launch, and of its ladder step and checks."""

    def poison(content: Content, text: str) -> Content:
        made = {name: change(content.launch, text) for name, change in changes.items()}
        launch = replace(content.launch, **made)  # type: ignore[arg-type]
        checks = tuple(replace(check, kernel=launch.demangled) for check in content.checks)
        return replace(content, launch=launch, checks=checks, step=replace(content.step, diagnosis=launch))

    return poison


def _findings(change: Callable[[Finding, str], Finding]) -> Poison:
    def poison(content: Content, text: str) -> Content:
        outcomes = tuple(change(each, text) if isinstance(each, Finding) else each for each in content.launch.outcomes)
        launch = replace(content.launch, outcomes=outcomes)
        return replace(content, launch=launch, step=replace(content.step, diagnosis=launch))

    return poison


def _outcomes(content: Content, text: str) -> Content:
    def change(outcome: Outcome) -> Outcome:
        if isinstance(outcome, Skipped):
            return Skipped(RULE, text, (text,))
        return outcome if isinstance(outcome, Finding) else replace(outcome, message=text)

    return _launch(outcomes=lambda launch, _: tuple(map(change, launch.outcomes)))(content, text)


def _report(content: Content, text: str) -> Content:
    made = _launch(report=lambda _, path: path)(content, text)
    return replace(made, report=replace(content.report, path=text))


def _checks(**changes: str) -> Poison:
    """Texts of both checks; ``TEXT`` stands for the hostile one."""
    return lambda content, text: replace(
        content,
        checks=tuple(replace(check, **dict.fromkeys(changes, text)) for check in content.checks),  # type: ignore[arg-type]
    )


def _sources(content: Content, text: str) -> Content:
    def line(finding: Finding) -> Finding:
        where = tuple(
            replace(
                each,
                code=text,
                around=tuple(replace(code, text=text) for code in each.around),
                called_from=tuple(replace(call, code=text) for call in each.called_from),
            )
            for each in finding.where
        )
        diff = f"--- a/x.cu\n+++ b/x.cu\n@@ -1,2 +1,2 @@\n-{text}\n+b\n {text}\n"
        edit = replace(finding.edit, diff=diff) if finding.edit and finding.edit.diff else finding.edit
        awaited = tuple(replace(each, code=text) for each in finding.waits_for)
        return replace(
            finding,
            where=where,
            waits_for=awaited,
            edit=edit,
            fix=replace(finding.fix, before=text, after=f"{text}\nb"),
        )

    made = _findings(lambda finding, _: line(finding))(content, text)
    return replace(made, checks=tuple(replace(check, where=poisoned(check.where, text)) for check in content.checks))


def _source_paths(content: Content, text: str) -> Content:
    def line(finding: Finding) -> Finding:
        where = tuple(
            replace(each, file=text, called_from=tuple(replace(call, file=text) for call in each.called_from))
            for each in finding.where
        )
        return replace(finding, where=where, waits_for=tuple(replace(each, file=text) for each in finding.waits_for))

    made = _findings(lambda finding, _: line(finding))(content, text)
    checks = tuple(
        replace(check, where=tuple(replace(line, file=text) for line in check.where)) for check in content.checks
    )
    return replace(made, checks=checks)


PLACES: Mapping[str, Poison] = {
    "function name": lambda content, text: replace(
        _launch(kernel=lambda _, name: name)(content, text), step=replace(content.step, kernel=text)
    ),
    "demangled name": _launch(demangled=lambda _, name: name),
    "device name": _launch(device=lambda _, name: Device(name, name)),
    "report path": _report,
    "version of ncu": lambda content, text: replace(content, report=replace(content.report, ncu_version=text)),
    "damage of a report": lambda content, text: replace(content, report=replace(content.report, damage=text)),
    "source path": _source_paths,
    "source text": _sources,
    "remark on a source": _findings(
        lambda finding, text: replace(finding, where=tuple(replace(line, remark=text) for line in finding.where))
    ),
    "machine code": _findings(
        lambda finding, text: replace(
            finding,
            instructions=tuple(replace(each, sass=text) for each in finding.instructions),
            waits_for=tuple(replace(each, sass=text, opcode=text) for each in finding.waits_for),
            lines_wanted=text,
        )
    ),
    "rule's code and name": _findings(lambda finding, text: replace(finding, rule=RuleId(text, text))),
    "rule's optimization": _findings(lambda finding, text: replace(finding, optimization=text)),
    "rule's message": _findings(
        lambda finding, text: replace(
            finding, message=text, check=text, assumes=text, rejected=text if finding.rejected else ""
        )
    ),
    "rule's evidence": _findings(
        lambda finding, text: replace(finding, evidence=(Evidence(text, 1.0, text, (text,)),), bottleneck_after=text)
    ),
    "rule's fix": _findings(
        lambda finding, text: replace(
            finding, fix=replace(finding.fix, title=text, before_from=text, after_from=text), edit=None
        )
    ),
    "rule's citation": _findings(
        lambda finding, text: replace(finding, cite=tuple(poisoned(cite, text) for cite in finding.cite))
    ),
    "change of the source": _findings(
        lambda finding, text: replace(finding, edit=poisoned(finding.edit, text) if finding.edit else None)
    ),
    "reasons of other outcomes": _outcomes,
    "unit's name": _launch(bottleneck=lambda _, name: name, units=lambda launch, name: {**launch.units, name: 0.9}),
    "textbook metric": _launch(metrics=lambda launch, name: {**launch.metrics, name: TextbookMetric(1.0, name, name)}),
    "textbook remark": _launch(textbook=lambda _, text: (text,)),
    "budget's name": _checks(origin="TEXT"),
    "budget's condition": _checks(subject="TEXT", condition="TEXT", unit="TEXT"),
    "reason of a check": _checks(message="TEXT"),
    "baseline's kernel": _checks(kernel="TEXT"),
    "remark": lambda content, text: replace(content, remark=text),
    "failure": lambda content, text: replace(content, failure=Failure("NCU-PERM", text, text, 5)),
    "ladder's figures": lambda content, text: replace(content, family=text, step=replace(content.step, reported=text)),
    "point of a history": lambda content, text: replace(content, point=text),
}
"""Name of a place -> how a launch gets a text there."""


OF_ALL_LAUNCHES = frozenset({"remark", "failure", "ladder's figures", "point of a history"})
"""Places that an answer has once, so that each text needs an answer of its own."""


@dataclass(frozen=True)
class Answers:
    """The same launches as everything that is ever shown."""

    diagnosis: Diagnosis
    gate: Gate
    ladder: Ladder
    comparison: Comparison
    history: History


def answers_in(place: str, texts: Iterable[str]) -> list[Answers]:
    """Answers that have all texts in a place: one for all where they fit."""
    content = [PLACES[place](harmless(number), text) for number, text in enumerate(texts)]
    return [_answers(group) for group in ([[each] for each in content] if place in OF_ALL_LAUNCHES else [content])]


def _answers(content: Sequence[Content]) -> Answers:
    first = content[0]
    reports = tuple(each.report for each in content)
    made = Diagnosis(tuple(each.launch for each in content), reports, first.remark, failure=first.failure)
    gate = Gate(tuple(check for each in content for check in each.checks), "error", first.remark)
    steps = tuple(each.step for each in content)
    return Answers(
        diagnosis=made,
        gate=gate,
        ladder=Ladder(first.family, steps, reports, first.remark),
        comparison=compare(made, made),
        history=history_of(_reported(each) for each in content),
    )


def _reported(content: Content) -> DiagnosedReport:
    made = Diagnosis((content.launch,), (content.report,), content.remark, failure=content.failure)
    return DiagnosedReport(content.point, "", made, Settings())
