"""Try changes of one kernel, best first, and keep those that are verified and faster: ``search`` gives a ``Found``.

``Bench`` is what a kind of target can do: compile, judge, check and time versions of its source. The search asks for
the findings of the present version and the bounds that their ablations measure, makes the changes that they ask for,
keeps the first one that is verified and gains, and begins again with that version, until nothing gains or time is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from ncuview.patch import Edit, NoEdit, changes_for
from ncuview.records.diagnosis import Finding, Gain, LaunchDiagnosis
from ncuview.records.trial import Attempt, Bound
from ncuview.trial.timing import Timing
from ncuview.trial.verify import Verification

LEAST_GAIN = 1.02
"""The interval of the measured gain of a change must begin here: medians of two trials of one program differ by 1 %."""

_LEAST = 1e-6
"""Where there were too few rounds for an interval."""

V = TypeVar("V")


class NotBuilt(Exception):
    """A version does not compile, for the reason in the text."""


class NotTimed(Exception):
    """The times of two versions could not be taken, for the reason in the text."""


class Bench(Protocol[V]):
    """Compiles, judges, checks and times versions of one source."""

    path: str
    kernel: str

    def build(self, source: str) -> V:
        """Compile a version; several threads may do so at once.

        Raises:
            NotBuilt: The compiler refuses it.
        """

    def judge(self, version: V) -> LaunchDiagnosis | None:
        """The diagnosis of a version; None where counters cannot be read."""

    def bound(self, version: V, finding: Finding) -> Bound | None:
        """What a version gains without the waste of a finding; None where there is no ablation of it."""

    def time(self, before: V, after: V) -> Timing:
        """How many times as fast a version is as the one before it.

        Raises:
            NotTimed: A launch failed, or took too long.
        """

    def check(self, before: V, after: V, edit: Edit) -> Verification:
        """Whether a version computes what the one before the edit does."""

    def end_to_end(self, before: V, after: V) -> Gain | None:
        """How many times as fast a program is from start to end; None where the target is none."""


@dataclass
class Found(Generic[V]):
    """What a search found so far: it is complete, or ``stopped`` says why not."""

    source: str
    """The source that is kept."""
    version: V
    """The same, compiled."""
    diagnosis: LaunchDiagnosis | None = None
    """Of the kept source."""
    first: LaunchDiagnosis | None = None
    """Of the original."""
    attempts: list[Attempt] = field(default_factory=list)
    kept: int = 0
    stopped: str = ""


@dataclass(frozen=True)
class Candidate:
    """A change to try, or why it cannot be written, with the finding that asks for it."""

    optimization: str
    change: Edit | NoEdit
    finding: Finding | None
    bound: Bound | None

    @property
    def source(self) -> str:
        """The version to compile; empty where there is nothing to try."""
        withdrawn = self.bound is not None and self.bound.withdrawn
        return self.change.edited if isinstance(self.change, Edit) and not withdrawn else ""

    def attempt(self, step: int, path: str) -> Attempt:
        """The candidate before it is tried."""
        written = isinstance(self.change, Edit)
        return Attempt(
            title=self.change.title if isinstance(self.change, Edit) else self.optimization.replace("_", " "),
            optimization=self.optimization,
            rule=self.finding.rule.code if self.finding else "",
            step=step,
            decision="not tried" if written else "not written",
            reason=self.change.reason if isinstance(self.change, NoEdit) else "",
            predicted=self.finding.predicted_speedup if self.finding else None,
            bound=self.bound,
            measured=None,
            assumes=self.change.assumes if isinstance(self.change, Edit) else "",
            checks=(),
            diff=self.change.diff(path) if isinstance(self.change, Edit) else "",
        )


def search(
    bench: Bench[V], found: Found[V], time_is_up: Callable[[], bool], say: Callable[[str], None], jobs: int = 1
) -> None:
    """Try changes until none gains, or time is up. What is known so far stands in ``found`` at any moment.

    Args:
        bench: The target.
        found: The original; the search writes its results there, so that an interrupted one leaves them.
        time_is_up: Whether no further change may be tried.
        say: Told what is tried next.
        jobs: How many versions may be compiled at once. With more than one, all changes of a step are compiled before
            the first is timed, so that no compiler runs beside a launch that is timed.

    Raises:
        NcuviewError: GPU or compiler failed.
    """
    tried = {found.source}
    while not found.stopped and _step(bench, found, tried, time_is_up, say, jobs):
        pass


def _step(
    bench: Bench[V],
    found: Found[V],
    tried: set[str],
    time_is_up: Callable[[], bool],
    say: Callable[[str], None],
    jobs: int,
) -> bool:
    """Try the changes of the present version; whether one was kept."""
    say("profile")
    found.diagnosis = bench.judge(found.version)
    found.first = found.first or found.diagnosis
    candidates = list(_candidates(bench, found, say))
    built: Mapping[str, Future[V]] = {}
    if jobs > 1 and not time_is_up():
        say("compile all changes")
        built = _built(bench, (each.source for each in candidates if each.source not in tried), jobs)
    for candidate in candidates:
        attempt = candidate.attempt(found.kept, bench.path)
        if candidate.bound and candidate.bound.withdrawn:
            found.attempts.append(replace(attempt, decision="withdrawn", reason=candidate.bound.withdrawn))
            continue
        if isinstance(candidate.change, NoEdit):
            if (attempt.optimization, attempt.reason) not in {
                (each.optimization, each.reason) for each in found.attempts
            }:
                found.attempts.append(attempt)
            continue
        source = candidate.change.edited
        if source in tried:
            continue
        tried.add(source)
        if time_is_up():
            found.stopped = "the time is up"
            found.attempts.append(replace(attempt, reason=found.stopped))
            continue
        say(attempt.title)
        made = _tried(bench, found, attempt, candidate.change, built.get(source))
        found.attempts.append(made)
        if made.decision == "kept":
            return True
    return False


def _candidates(bench: Bench[V], found: Found[V], say: Callable[[str], None]) -> Iterator[Candidate]:
    """The changes of the present version: those of its findings, most gain first, then all others that apply.

    A version that is near its peak has nothing to gain from others.
    """
    findings = [each for each in found.diagnosis.outcomes if isinstance(each, Finding)] if found.diagnosis else []
    bounds = {}
    for finding in findings:
        say(f"ablation of {finding.rule.code}")
        bounds[finding.rule.code] = bench.bound(found.version, finding)
    findings.sort(key=lambda each: -_expected(each, bounds[each.rule.code]))
    asking: list[Finding | None] = [*findings]
    if found.diagnosis is None or found.diagnosis.verdict != "near-peak":
        asking.append(None)
    for each in asking:
        for optimization, change in changes_for(found.source, bench.path, bench.kernel, each):
            yield Candidate(optimization, change, each, bounds[each.rule.code] if each else None)


def _expected(finding: Finding, bound: Bound | None) -> float:
    """The gain that a finding is tried for: at most what its ablation measured, where that bounds the cure."""
    best = finding.predicted_speedup.best
    return min(best, bound.gain.best) if bound and bound.is_bound else best


def _built(bench: Bench[V], sources: Iterable[str], jobs: int) -> Mapping[str, Future[V]]:
    """Versions by their sources, all of them compiled, so many at a time, or refused."""
    with ThreadPoolExecutor(jobs) as pool:
        return {source: pool.submit(bench.build, source) for source in dict.fromkeys(sources) if source}


def _tried(bench: Bench[V], found: Found[V], attempt: Attempt, edit: Edit, built: Future[V] | None) -> Attempt:
    """Compile, time and check a change, and keep it in ``found`` if it gains. The cheapest steps come first."""
    before, source = found.version, edit.edited
    try:
        after = built.result() if built else bench.build(source)
    except NotBuilt as refused:
        return replace(attempt, decision="not built", reason=str(refused))
    try:
        timing = bench.time(before, after)
    except NotTimed as failed:
        return _checked(attempt, bench.check(before, after, edit)) or replace(
            attempt, decision="unproven", reason=str(failed)
        )
    attempt = replace(attempt, measured=gain_of(timing))
    if timing.outcome == "impossible":
        return replace(attempt, decision="refuted", reason=timing.reason)
    if timing.outcome != "faster" or timing.ratio.low < LEAST_GAIN:
        return replace(attempt, decision="no gain", reason=timing.reason or "it is hardly faster")
    verification = bench.check(before, after, edit)
    if (rejected := _checked(attempt, verification)) is not None:
        return rejected
    found.source, found.version, found.kept = source, after, found.kept + 1
    return replace(attempt, decision="kept", checks=verification.passed)


def _checked(attempt: Attempt, verification: Verification) -> Attempt | None:
    """The attempt if a check objects, or could not be made; None where all passed."""
    if verification.verdict == "verified":
        return None
    return replace(attempt, decision=verification.verdict, reason=verification.reason, checks=verification.passed)


def gain_of(timing: Timing) -> Gain:
    """The measured gain with its interval; without enough rounds for one, any gain is possible."""
    return Gain(max(timing.ratio.low, _LEAST), timing.ratio.median, min(timing.ratio.high, 1 / _LEAST))
