"""Try changes of one kernel, best first, and keep those that are verified and faster: ``search`` gives a ``Found``.

``Bench`` is what a kind of target can do: compile, judge, check and time versions of its source. The search asks for
the findings of the present version and the bounds that their ablations measure, makes the changes that they ask for,
keeps the first one that is verified and gains, and begins again with that version. Where no change gains, it looks for
better values of the parameters, keeps the best that are verified, and begins again, until nothing gains or time is up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Generic, Protocol, TypeVar

from ncuview.base.at_once import IN_TURN, Together
from ncuview.base.errors import TunerNotFound
from ncuview.comparison.metric_words import explained
from ncuview.patch import Edit, NoEdit, changes_for, lines_in
from ncuview.patch.parameters import parameters_of
from ncuview.patch.tile_shapes import shapes_of
from ncuview.records.diagnosis import FINISHED_SHARE, OPEN_BELOW, Finding, Gain, LaunchDiagnosis
from ncuview.records.trial import Attempt, Bound
from ncuview.trial.space import REGISTERS, space_of
from ncuview.trial.timing import LEAST_GAIN, Timing
from ncuview.trial.tuning import tune
from ncuview.trial.verify import Verification

_LEAST_GAIN_NEAR_PEAK = 1 / FINISHED_SHARE
"""What a change of a version near its peak must gain: more than is left there with the same work for the bottleneck.
Every change has a cost; reports advise nothing there that predicts less than ``WORTH_DOING_NEAR_PEAK``."""

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

    def time(self, before: V, after: V, least: float = LEAST_GAIN, /) -> Timing:
        """How many times as fast a version is as the one before it.

        Args:
            before: A version.
            after: Another one.
            least: The gain that matters: once it is reached for sure, or cannot be, no more needs to be measured.

        Raises:
            NotTimed: A launch failed, or took too long.
        """

    def check(self, before: V, after: V, edit: Edit) -> Verification:
        """Whether a version computes what the one before the edit does."""

    def registers(self, version: V) -> int | None:
        """The registers per thread of a version; None where they are unknown."""

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
    last: tuple[str, tuple[int, ...]] | None = None
    """The source before the last change that was kept, and the lines that it was made for; None after values of
    parameters."""


@dataclass(frozen=True)
class Candidate:
    """A change to try, or why it cannot be written, with the finding that asks for it."""

    optimization: str
    change: Edit | NoEdit
    finding: Finding | None
    bound: Bound | None

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


class _Versions(Generic[V]):
    """Compiles versions ahead, so many at once, so that no compiler runs beside a launch that is timed."""

    def __init__(self, bench: Bench[V], together: Together) -> None:
        self._bench, self._together = bench, together
        self._made: dict[str, V | NotBuilt] = {}

    def of(self, source: str, coming: Iterable[str]) -> V:
        """The version of a source, which is compiled together with the first of those that will be asked for next.

        Raises:
            NotBuilt: The compiler refuses it.
        """
        if source not in self._made:
            asked = (each for each in chain([source], coming) if each not in self._made)
            self._together([partial(self._make, each) for each in dict.fromkeys(islice(asked, self._together.most))])
        made = self._made[source]
        if isinstance(made, NotBuilt):
            raise made
        return made

    def _make(self, source: str) -> None:
        try:
            self._made[source] = self._bench.build(source)
        except NotBuilt as refused:
            self._made[source] = refused


def search(
    bench: Bench[V],
    found: Found[V],
    time_is_up: Callable[[], bool],
    say: Callable[[str], None],
    together: Together = IN_TURN,
) -> None:
    """Try changes until none gains, or time is up. What is known so far stands in ``found`` at any moment.

    Args:
        bench: The target.
        found: The original; the search writes its results there, so that an interrupted one leaves them.
        time_is_up: Whether no further change may be tried.
        say: Called with what is tried next.
        together: Compiles so many versions at once, before the first of them is timed.

    Raises:
        NcuviewError: GPU or compiler failed, or the original while it was profiled.
    """
    tried, untuned, versions = {found.source}, True, _Versions(bench, together)
    _judge(bench, found, say)
    while not found.stopped:
        before, tunes = found.diagnosis, False
        if not _step(bench, found, tried, time_is_up, say, versions):
            if found.stopped or not untuned or (before and before.is_near_floor):
                return
            tunes = True
            if not _tune(bench, found, tried, time_is_up, say, versions):
                return
        untuned = not tunes
        _judge(bench, found, say)
        if tunes:
            _explain(found, before)


def _judge(bench: Bench[V], found: Found[V], say: Callable[[str], None]) -> None:
    say("profile")
    found.diagnosis = bench.judge(found.version)
    found.first = found.first or found.diagnosis


def _least_gain(present: LaunchDiagnosis | None) -> float:
    """What a change of the present version must gain."""
    is_near = present is not None and present.verdict == "near-peak" and present.attained >= FINISHED_SHARE
    return _LEAST_GAIN_NEAR_PEAK if is_near else LEAST_GAIN


def _step(
    bench: Bench[V],
    found: Found[V],
    tried: set[str],
    time_is_up: Callable[[], bool],
    say: Callable[[str], None],
    versions: _Versions[V],
) -> bool:
    """Try the changes of the present version; whether one was kept."""
    candidates = list(_candidates(bench, found, say))
    for number, candidate in enumerate(candidates):
        attempt = candidate.attempt(found.kept, bench.path)
        if candidate.bound and candidate.bound.withdrawn:
            found.attempts.append(replace(attempt, decision="withdrawn", reason=candidate.bound.withdrawn))
            continue
        if isinstance(candidate.change, NoEdit):
            _note(found, attempt)
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
        coming = (each.change for each in candidates[number:] if not (each.bound and each.bound.withdrawn))
        made = _tried(
            bench,
            found.version,
            attempt,
            candidate.change,
            partial(versions.of, source, _untried(coming, tried)),
            least_gain=_least_gain(found.diagnosis),
        )
        found.attempts.append(made.attempt)
        if made.version is not None:
            asked = candidate.finding
            lines = lines_in(found.source, bench.path, bench.kernel, asked) if asked else ()
            found.last = found.source, lines
            found.source, found.version, found.kept = source, made.version, found.kept + 1
            return True
    return False


def _untried(changes: Iterable[Edit | NoEdit], tried: Collection[str]) -> Iterator[str]:
    """The versions that changes write, without those that were tried."""
    return (each.edited for each in changes if isinstance(each, Edit) and each.edited not in tried)


def _note(found: Found[V], attempt: Attempt) -> None:
    """Say once why a change was not made."""
    if (attempt.optimization, attempt.reason) not in {(each.optimization, each.reason) for each in found.attempts}:
        found.attempts.append(attempt)


def _tune(
    bench: Bench[V],
    found: Found[V],
    tried: set[str],
    time_is_up: Callable[[], bool],
    say: Callable[[str], None],
    versions: _Versions[V],
) -> bool:
    """Look for better values of the parameters; whether some were kept: the best ones, at each moment."""
    base, version, step = found.source, found.version, found.kept
    last = found.last
    shapes = shapes_of(last[0], base, bench.path, bench.kernel, last[1]) if last else None
    parameters = parameters_of(base, bench.path, bench.kernel, shapes)
    if parameters.refused:
        refused = NoEdit(parameters.refused)
        _note(found, Candidate("launch_configuration", refused, None, None).attempt(step, bench.path))
    space = space_of(parameters, found.diagnosis, bench.registers(version))
    best = 1.0
    place: int | None = None

    def cost_of(values: Mapping[str, int], coming: Iterable[Mapping[str, int]]) -> float | None:
        nonlocal best, place
        edit = parameters.edit(values)
        if all(values[name] == space.present[name] for name in values):
            return 1.0
        if isinstance(edit, NoEdit) or edit.edited in tried:
            return None
        tried.add(edit.edited)
        say(edit.title)
        attempt = Candidate(parameters.optimization(values), edit, None, None).attempt(step, bench.path)
        made = _tried(
            bench,
            version,
            attempt,
            edit,
            partial(versions.of, edit.edited, _untried(map(parameters.edit, coming), tried)),
            least_gain=_least_gain(found.diagnosis),
            better_than=best,
            threads=parameters.threads(values),
        )
        found.attempts.append(made.attempt)
        measured = made.attempt.measured
        if made.version is not None and measured is not None:
            if place is not None:
                reason = f"{edit.title[:1].lower()}{edit.title[1:]} gains more"
                found.attempts[place] = replace(found.attempts[place], decision="no gain", reason=reason)
            best, place = measured.best, len(found.attempts) - 1
            found.source, found.version, found.kept = edit.edited, made.version, step + 1
            found.last = None
        if measured is None or made.attempt.decision in {"refuted", "unproven"}:
            return None
        return 1 / measured.best

    def is_over() -> bool:
        if time_is_up():
            found.stopped = "the time is up"
        return bool(found.stopped)

    try:
        if space.values:
            tune(space.values, space.present, space.restrictions, cost_of, is_over)
    except TunerNotFound as missing:
        reason = f"{missing}: {missing.hint}"
        attempt = Candidate("launch_configuration", NoEdit(reason), None, None).attempt(step, bench.path)
        _note(found, replace(attempt, decision="not tried"))
    return place is not None


def _explain(found: Found[V], before: LaunchDiagnosis | None) -> None:
    """Say of the values that were kept last what counters explain."""
    if before and found.diagnosis:
        said = explained(before, found.diagnosis) or "no counter explains it"
    else:
        said = "counters could not be read"
    place = max(number for number, each in enumerate(found.attempts) if each.decision == "kept")
    found.attempts[place] = replace(found.attempts[place], explained=said)


def _candidates(bench: Bench[V], found: Found[V], say: Callable[[str], None]) -> Iterator[Candidate]:
    """The changes of the present version: those of its findings, most gain first, then all others that apply.

    A version that is near the peak of device memory has nothing to gain from others.
    """
    findings = [each for each in found.diagnosis.outcomes if isinstance(each, Finding)] if found.diagnosis else []
    bounds = {}
    for finding in findings:
        say(f"ablation of {finding.rule.code}")
        bounds[finding.rule.code] = bench.bound(found.version, finding)
    findings.sort(key=lambda each: -_expected(each, bounds[each.rule.code]))
    asking: list[Finding | None] = [*findings]
    if found.diagnosis is None or not found.diagnosis.is_near_floor:
        asking.append(None)
    for each in asking:
        for optimization, change in changes_for(found.source, bench.path, bench.kernel, each):
            yield Candidate(optimization, change, each, bounds[each.rule.code] if each else None)


def _expected(finding: Finding, bound: Bound | None) -> float:
    """The gain that a finding is tried for: at most, or at least, what its ablation measured."""
    best = finding.predicted_speedup.best
    if bound is None or bound.bounds == "nothing":
        return best
    return (min if bound.bounds == "at most" else max)(best, bound.gain.best)


@dataclass(frozen=True)
class _Tried(Generic[V]):
    """What became of a change, and the version where it is verified and gains."""

    attempt: Attempt
    version: V | None = None


def _tried(
    bench: Bench[V],
    before: V,
    attempt: Attempt,
    edit: Edit,
    build: Callable[[], V],
    *,
    least_gain: float,
    better_than: float = 1.0,
    threads: int | None = None,
) -> _Tried[V]:
    """Compile, time and check a change, the cheapest first -> what became of it.

    Args:
        bench: The target.
        before: The version that it changes.
        attempt: The change, before it is tried.
        edit: The same.
        build: Compiles it.
        least_gain: Where the interval of its gain must begin, or above.
        better_than: What the median of its gain must exceed.
        threads: The threads of its blocks, where they are a parameter.
    """
    try:
        after = build()
    except NotBuilt as refused:
        return _Tried(replace(attempt, decision="not built", reason=str(refused)))
    if threads and (registers := bench.registers(after)) and (threads * registers > REGISTERS):
        words = f"blocks of {threads} threads with {registers} registers each do not fit a multiprocessor"
        return _Tried(replace(attempt, decision="not built", reason=words))
    try:
        timing = bench.time(before, after, max(least_gain, better_than))
    except NotTimed as failed:
        rejected = _checked(attempt, bench.check(before, after, edit))
        return _Tried(rejected or replace(attempt, decision="unproven", reason=str(failed)))
    attempt = replace(attempt, measured=gain_of(timing))
    if timing.outcome == "impossible":
        return _Tried(replace(attempt, decision="refuted", reason=timing.reason))
    if timing.outcome != "faster" or timing.ratio.low < least_gain:
        words = timing.reason or "it is hardly faster"
        if least_gain > LEAST_GAIN and timing.ratio.high >= LEAST_GAIN:
            words = f"near the peak a gain of less than {least_gain:.2f}x is not worth the change"
        return _Tried(replace(attempt, decision="no gain", reason=words))
    if timing.ratio.median <= better_than:
        return _Tried(replace(attempt, decision="no gain", reason="other values gain more"))
    verification = bench.check(before, after, edit)
    if (rejected := _checked(attempt, verification)) is not None:
        return _Tried(rejected)
    return _Tried(replace(attempt, decision="kept", checks=verification.passed), after)


def _checked(attempt: Attempt, verification: Verification) -> Attempt | None:
    """The attempt if a check objects, or could not be made; None where all passed."""
    if verification.verdict == "verified":
        return None
    return replace(attempt, decision=verification.verdict, reason=verification.reason, checks=verification.passed)


def gain_of(timing: Timing) -> Gain:
    """The measured gain with its interval; without enough rounds for one, any gain is possible."""
    return Gain(max(timing.ratio.low, OPEN_BELOW), timing.ratio.median, min(timing.ratio.high, 1 / OPEN_BELOW))
