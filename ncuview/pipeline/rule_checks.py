"""Check rules on recorded launches: each example's expected outcome, and what a shipped rule must show.

``check_rules`` takes ``Rule`` objects and returns a ``RuleCheck`` for each: what is wrong, and what a draft needs.

A shipped rule fires on the launch that its fix shows as ``before`` and not on ``after``, and the measured speedup
between the two lies within the predicted bounds. A draft may leave these out, and what its examples predict. Each cited
document is listed in rules/documents.toml, or in a ``documents.toml`` in the folder above the rule's category.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ncuview.base.errors import NcuviewError, QuantityError, RuleFileError, UnknownKernel
from ncuview.base.files import toml_of
from ncuview.base.paths import shipped
from ncuview.base.suggestion import suggestion
from ncuview.catalogue.kernels import find_kernel
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import Rule
from ncuview.engine.rule_schema import Example, FixRegions
from ncuview.pipeline.ladders import ladder
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, NotApplicable, Outcome, Passed, Skipped

SPREAD = 1.05
"""The ratio of two measured times varies by this factor: times of a kernel differ by up to 5 % on an H200."""
_OF_USERS = re.compile(r"9(?:0[1-9]|[1-9]\d)$")
"""The end of codes that are reserved for users' rules."""
_DOCUMENTS = "documents.toml"
_A_PAIR = (
    "two kernels of the catalogue, where the rule fires on the first and is silent on the second, and the measured"
    " speedup between them lies within the predicted bounds"
)
_NAMES = {Passed: "passed", NotApplicable: "not_applicable", Skipped: "skipped", Broken: "broken", Finding: "finding"}


@dataclass(frozen=True)
class RuleCheck:
    """The result of checking one rule.

    Attributes:
        rule: The rule.
        wrong: The errors, one sentence each; empty for a rule that may be used.
        to_ship: What a draft needs before it may ship; empty for a complete rule.
        notes: Further notes on a rule that is not ncuview's own.
    """

    rule: Rule
    wrong: tuple[str, ...]
    to_ship: tuple[str, ...]
    notes: tuple[str, ...]


def check_rules(rules: Sequence[Rule]) -> list[RuleCheck]:
    """Check each rule; every report is read once."""
    launches = _Launches(rules)
    return [_checked(rule, launches) for rule in rules]


def _checked(rule: Rule, launches: _Launches) -> RuleCheck:
    examples = [_judged(rule, example, launches) for example in rule.text.example]
    wrong = [*(each.wrong for each in examples if each.wrong), *_unknown_units(rule)]
    unstated = [each.unstated for each in examples if each.unstated]
    to_ship = [*unstated, *_unknown_documents(rule), *_unproven_numbers(rule), *_unshown(rule, launches)]
    notes = () if _ships(rule) else tuple(_notes(rule))
    if rule.text.status == "shipped":
        return RuleCheck(rule, (*wrong, *to_ship), (), notes)
    return RuleCheck(rule, tuple(wrong), tuple(to_ship), notes)


class _Launches:
    """Diagnosed launches by their report; each report is read once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._known: dict[str | Path, dict[str, LaunchDiagnosis]] = {}

    def of(self, example: Example, rule_file: Path) -> LaunchDiagnosis:
        """The launch that an example names.

        Raises:
            NcuviewError: There is no such launch, or its report cannot be read.
        """
        if example.report is None:
            return self.of_catalogue(example.launch)
        report = rule_file.parent / example.report
        if report not in self._known:
            diagnosis = diagnose(read([report]), self._rules)
            self._known[report] = {launch.kernel: launch for launch in diagnosis.launches}
        if example.launch not in self._known[report]:
            raise UnknownKernel(f"{report} has no launch of {example.launch!r}")
        return self._known[report][example.launch]

    def of_catalogue(self, name: str) -> LaunchDiagnosis:
        """The recorded launch of a catalogue kernel."""
        family = find_kernel(name).text.family
        if family not in self._known:
            steps = ladder(family, self._rules, live=False).steps
            self._known[family] = {step.kernel: step.diagnosis for step in steps}
        return self._known[family][name]


@dataclass(frozen=True)
class _Judged:
    """A wrong statement of an example, and what it does not state yet; empty where there is nothing to report."""

    wrong: str = ""
    unstated: str = ""


def _judged(rule: Rule, example: Example, launches: _Launches) -> _Judged:
    try:
        found = _outcome(rule, launches.of(example, rule.path))
    except QuantityError:
        raise  # of a function, which every example would repeat
    except NcuviewError as error:
        return _Judged(f"example {example.launch}: {error}")
    if (name := _NAMES[type(found)]) != example.expect:
        return _Judged(f"example {example.launch} gives {name}, not {example.expect}: {found.message}")
    if isinstance(found, Finding):
        best = f"{found.predicted_speedup.best:.3g}"
        if example.predicted is None:
            return _Judged(unstated=f"example {example.launch}: add predicted = {best}")
        if float(best) != example.predicted:
            return _Judged(f"example {example.launch} predicts {best}, not {example.predicted:g}")
    return _Judged()


def _outcome(rule: Rule, launch: LaunchDiagnosis) -> Outcome:
    return next(each for each in launch.outcomes if each.rule.code == rule.text.code)


def _ships(rule: Rule) -> bool:
    """Whether the file is one of ncuview's own, whatever its status is."""
    return rule.path.resolve().is_relative_to(shipped("rules").resolve())


def _unknown_units(rule: Rule) -> Iterator[str]:
    """The units of names that the rule does not compute, which are typing errors."""
    known = {*rule.text.evidence.values, *rule.inputs}
    for name in rule.text.evidence.units:
        if name not in known:
            yield f"evidence.units: {name!r} is no value of the rule{suggestion(name, known)}"


def _notes(rule: Rule) -> Iterator[str]:
    if not _OF_USERS.search(rule.text.code):
        yield f"{rule.text.code} may become the code of a shipped rule: codes of your own end in 901 to 999"
    if missing := [name for name in rule.text.evidence.values if name not in rule.text.evidence.units]:
        yield f"evidence.units has no unit of {', '.join(missing)}"


def _unknown_documents(rule: Rule) -> Iterator[str]:
    ours, own = shipped("rules") / _DOCUMENTS, rule.path.parent.parent / _DOCUMENTS
    known = _documents(ours) | (_documents(own) if own.is_file() else frozenset())
    for cite in rule.text.cite:
        if cite.document not in known:
            yield f"cite: {cite.document!r} is no document of {ours} or {own}{suggestion(cite.document, known)}"


@cache
def _documents(path: Path) -> frozenset[str]:
    """The names of documents that a table lists."""
    try:
        return frozenset(toml_of(path))
    except (OSError, ValueError) as error:
        raise RuleFileError(f"{path}: {error}", hint="A list of documents is TOML in UTF-8.") from error


def _unproven_numbers(rule: Rule) -> Iterator[str]:
    """Numbers without a source. A threshold may be assumed, since no gain is computed from it."""
    for number in rule.unnamed_numbers:
        yield f"the number {number} is written in an expression: name it as a threshold or a parameter, with its source"
    for name, parameter in rule.text.prediction.items():
        if parameter.kind == "assumed":
            yield f"prediction.{name} is assumed: measure it, derive it, or cite a source"


def _unshown(rule: Rule, launches: _Launches) -> Iterator[str]:
    """What recorded launches do not show: a finding before the fix, no finding after it, and the speedup between."""
    expected = {example.expect for example in rule.text.example}
    if "finding" not in expected and not rule.text.overtaken:
        yield "no example expects a finding"
    if not expected - {"finding"}:
        yield "no example is a launch on which the rule is silent"
    for fix in rule.text.fix:
        if fix.before and fix.after:
            yield from _fix_problems(rule, fix, launches)
        else:
            yield f"fix {fix.title!r} names no kernel before and after it: {_A_PAIR}"


def _fix_problems(rule: Rule, fix: FixRegions, launches: _Launches) -> Iterator[str]:
    try:
        before, after = (launches.of_catalogue(name) for name in fix.launches)
    except NcuviewError as error:
        yield f"fix: {error}"
        return
    if rule.text.overtaken:
        return
    found, still = _outcome(rule, before), _outcome(rule, after)
    if isinstance(still, Finding) and not still.rejected:
        yield f"fix: the rule still fires on {fix.launches[1]}"
    if not isinstance(found, Finding):
        yield f"fix: the rule does not fire on {fix.launches[0]}"
        return
    measured, predicted = before.whole_ns / after.whole_ns, found.predicted_speedup
    if not predicted.low / SPREAD <= measured <= predicted.high * SPREAD:
        bounds = f"{predicted.low:.2f} to {predicted.high:.2f}"
        yield f"fix: from {fix.launches[0]} to {fix.launches[1]}, {measured:.2f}x was measured; {bounds} is predicted"
