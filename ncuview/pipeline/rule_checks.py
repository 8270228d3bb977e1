"""Check rules on recorded launches: their examples, and whether a shipped rule keeps what it claims.

A shipped rule fires on the launch that its fix shows as ``before`` and not on ``after``, and the speedup between the
two lies within the predicted bounds. A draft may not have that yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import NcuviewError, UnknownKernel
from ncuview.catalogue.kernels import find_kernel
from ncuview.engine.rank import diagnose
from ncuview.engine.regions import region
from ncuview.engine.rule_file import Example, FixRegions, Rule
from ncuview.pipeline.ladders import ladder
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, NotApplicable, Outcome, Passed, Skipped

TOLERANCE = 0.02
"""How far a predicted speedup may be from what an example states, as a share; examples give three digits."""
SPREAD = 1.05
"""How far the ratio of two measured times may be from run to run: times of a kernel differ by up to 5 % on an H200."""
_NAMES = {Passed: "passed", NotApplicable: "not_applicable", Skipped: "skipped", Broken: "broken", Finding: "finding"}


@dataclass(frozen=True)
class RuleCheck:
    """What a check of one rule found.

    Attributes:
        rule: The rule.
        wrong: What is wrong, one sentence each; empty for a rule that may be used.
        to_ship: What a draft needs before it may ship; empty for a rule that has it all.
    """

    rule: Rule
    wrong: tuple[str, ...]
    to_ship: tuple[str, ...]


def check_rules(rules: Sequence[Rule]) -> list[RuleCheck]:
    """Check each rule; every report is read once."""
    launches = _Launches(rules)
    return [_checked(rule, launches) for rule in rules]


def _checked(rule: Rule, launches: _Launches) -> RuleCheck:
    wrong = [problem for example in rule.text.example if (problem := _problem(rule, example, launches))]
    to_ship = [*_unproven_numbers(rule), *_unshown(rule, launches)]
    if rule.text.status == "shipped":
        return RuleCheck(rule, (*wrong, *to_ship), ())
    return RuleCheck(rule, tuple(wrong), tuple(to_ship))


class _Launches:
    """Diagnosed launches by the reports that they are from; each report is read once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._known: dict[str | Path, dict[str, LaunchDiagnosis]] = {}

    def of(self, example: Example, beside: Path) -> LaunchDiagnosis:
        """The launch that an example names.

        Raises:
            NcuviewError: There is no such launch, or its report cannot be read.
        """
        if example.report is None:
            return self.of_catalogue(example.launch)
        report = beside.parent / example.report
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
            rungs = ladder(family, self._rules, live=False).rungs
            self._known[family] = {rung.kernel: rung.diagnosis for rung in rungs}
        return self._known[family][name]


def _problem(rule: Rule, example: Example, launches: _Launches) -> str:
    """What an example states that is not so; empty where all is."""
    try:
        found = _outcome(rule, launches.of(example, rule.path))
    except NcuviewError as error:
        return f"example {example.launch}: {error}"
    if (name := _NAMES[type(found)]) != example.expect:
        return f"example {example.launch} gives {name}, not {example.expect}: {found.message}"
    if isinstance(found, Finding):
        best = found.predicted_speedup.best
        if example.predicted is None:
            return f"example {example.launch} does not state what is predicted: {best:.3g}"
        if abs(best - example.predicted) > TOLERANCE * best:
            return f"example {example.launch} predicts {best:.3g}, not {example.predicted:g}"
    return ""


def _outcome(rule: Rule, launch: LaunchDiagnosis) -> Outcome:
    return next(each for each in launch.outcomes if each.rule.code == rule.text.code)


def _unproven_numbers(rule: Rule) -> Iterator[str]:
    """Numbers without a source. A threshold may be assumed, since no gain is made of it."""
    for number in rule.unnamed_numbers:
        yield f"the number {number} stands in an expression: name it as a threshold or a parameter, with its source"
    for name, parameter in rule.text.prediction.items():
        if parameter.kind == "assumed":
            yield f"prediction.{name} is assumed: measure it, derive it, or cite who did"


def _unshown(rule: Rule, launches: _Launches) -> Iterator[str]:
    """What a rule does not show on recorded launches: a finding before its fix, none after, and the speedup between."""
    expected = {example.expect for example in rule.text.example}
    if "finding" not in expected and not rule.text.overtaken:
        yield "no example expects a finding"
    if not expected - {"finding"}:
        yield "no example is a launch that the rule is silent on"
    for fix in rule.text.fix:
        if fix.before and fix.after:
            yield from _fix_problems(rule, fix, launches)
        else:
            yield f"fix {fix.title!r} names no kernel before and after it"


def _fix_problems(rule: Rule, fix: FixRegions, launches: _Launches) -> Iterator[str]:
    try:
        for shown in (fix.before, fix.after):
            region(shown or "", rule.path)
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
        yield f"fix: from {fix.launches[0]} to {fix.launches[1]} is {measured:.2f}x, predicted are {bounds}"
