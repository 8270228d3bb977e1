"""Compare two ``Diagnosis`` objects -> ``Comparison``: launch pairs with times, changed metrics, rules and prediction.

``compare`` refuses different GPUs, ncu versions or settings unless forced; ``launch_words`` formats a grid and block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import fsum, isfinite, nan

from ncuview.base.errors import NotComparable, UnknownKernel
from ncuview.base.suggestion import did_you_mean
from ncuview.comparison.counters import MetricChange, RuleChange, metric_changes, rule_changes
from ncuview.comparison.pairing import Launches, pair_launches
from ncuview.comparison.prediction import PredictionCheck, check_prediction, spread
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.profile import NOWHERE, Extent, Failure

_MOST_NAMES = 12
"""An error message names no more kernels."""
_CAPABILITY = "compute capability"
"""It identifies the GPU where exports do not name it."""


@dataclass(frozen=True)
class Pair:
    """Launches of one kernel and configuration before and after, paired in the order of the launches."""

    before: Launches
    after: Launches
    """The partner of each launch in ``before``, in the same order."""
    before_ns: float
    after_ns: float
    """Total time of the launches, with their copies where the host timed them; NaN where one is unknown."""
    spread: float
    """The share by which these times differ from run to run; a smaller difference is noise."""
    changed: tuple[str, ...]
    """What differs in name, types, GPU, grid and block: ``grid 1 -> 256x256``."""
    metric_changes: tuple[MetricChange, ...]
    """Metrics that changed in the longest launch: repeatable counters first, then by the time that they explain."""
    rule_changes: tuple[RuleChange, ...]
    prediction: PredictionCheck | None
    """The advice that was taken from the longest launch; None where there was no advice, where all of its
    evidence is still there, or where a time is unknown."""

    @property
    def longest(self) -> tuple[LaunchDiagnosis, LaunchDiagnosis]:
        """The launch that took longest before, and its partner."""
        return _longest(self.before, self.after)

    @property
    def speedup(self) -> float:
        """Time before over time after; NaN where a time is unknown."""
        return self.before_ns / self.after_ns if self.after_ns else nan

    @property
    def is_noise(self) -> bool:
        """Whether the times differ by no more than they do from run to run."""
        return abs(self.after_ns - self.before_ns) <= self.spread * max(self.before_ns, self.after_ns)


@dataclass(frozen=True)
class Comparison:
    """What changed from one profile to another."""

    pairs: tuple[Pair, ...]
    """The largest change of time in ns first."""
    only_before: Launches
    only_after: Launches
    """Launches without a partner, in the order of the reports."""
    before: Diagnosis
    after: Diagnosis
    differences: tuple[str, ...]
    """Why the two profiles are not comparable; empty unless the comparison was forced."""
    unknown: tuple[str, ...]
    """Settings that could not be compared, since a report does not name them: ``clock control``."""

    @property
    def two_kernels(self) -> tuple[str, str] | None:
        """The names of the kernels, where one is compared with another one; None where each is compared with itself."""
        names = [dict.fromkeys(launch.kernel for launch in side.launches) for side in (self.before, self.after)]
        if any(len(each) != 1 for each in names) or names[0] == names[1]:
            return None
        (before,), (after,) = names
        return before, after

    @property
    def failure(self) -> Failure | None:
        """Why launches are missing on either side; None when both are complete."""
        lost = [side.failure for side in (self.before, self.after) if side.failure]
        return replace(lost[0], message="; ".join(each.message for each in lost)) if lost else None


def compare(
    before: Diagnosis,
    after: Diagnosis,
    *,
    settings: Mapping[str, Settings] | None = None,
    renamed: Mapping[str, str] | None = None,
    force: bool = False,
) -> Comparison:
    """Pair the launches of two diagnoses and compute what changed.

    Args:
        before: The diagnosis to compare with.
        after: The diagnosis of the changed program.
        settings: The settings of ncu by the path of the report; those of other reports are unknown.
        renamed: Old name -> new name of renamed kernels.
        force: Also compare profiles of different GPUs, ncu versions or settings.

    Raises:
        NotComparable: GPU, version of ncu, clock or cache control or replay mode differ, or no kernel is in both.
        UnknownKernel: ``renamed`` names a kernel that no launch has.
    """
    renamed = renamed or {}
    _checkkernel_list(renamed.keys(), before.launches, "before")
    _checkkernel_list(renamed.values(), after.launches, "after")
    differences, unknown = _conditions(before, after, settings or {})
    if differences and not force:
        raise NotComparable(
            f"the profiles cannot be compared: {'; '.join(differences)}",
            hint="Profile both in the same way on the same GPU; --force compares them in spite of it.",
        )
    pairing = pair_launches(before.launches, after.launches, renamed)
    if not pairing.pairs:
        raise NotComparable(
            f"no kernel is in both: {kernel_list(before.launches)} before, {kernel_list(after.launches)} after",
            hint="If a kernel was renamed, `ncuview diff --renamed OLD=NEW` pairs the two.",
        )
    pairs = [_pair(was, now) for was, now in pairing.pairs]
    return Comparison(
        pairs=tuple(sorted(pairs, key=lambda pair: -_known(abs(pair.after_ns - pair.before_ns)))),
        only_before=pairing.only_before,
        only_after=pairing.only_after,
        before=before,
        after=after,
        differences=differences,
        unknown=unknown,
    )


def _checkkernel_list(names: Iterable[str], launches: Launches, side: str) -> None:
    known = {launch.kernel for launch in launches}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, f"The kernels are {kernel_list(launches)}.")
            raise UnknownKernel(f"no kernel is called {name} {side}", hint=hint)


def _conditions(
    before: Diagnosis, after: Diagnosis, settings: Mapping[str, Settings]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What differs in how the two were profiled, and what could not be compared; one report has one setting."""
    of_one_report = bool(before.reports) and before.reports == after.reports
    differences: list[str] = []
    unknown: list[str] = []
    facts = zip(_facts(before, settings), _facts(after, settings), strict=True)
    for (what, was), (_, now) in facts:
        if what == _CAPABILITY and differences:  # the GPU's name has been reported already
            continue
        if was - {""} and now - {""} and was - {""} != now - {""}:
            differences.append(f"{what} {_listed(was)} before, {_listed(now)} after")
        elif "" in was | now and what != _CAPABILITY and not of_one_report:
            unknown.append(what)
    return tuple(differences), tuple(unknown)


def _facts(diagnosis: Diagnosis, settings: Mapping[str, Settings]) -> Iterator[tuple[str, set[str]]]:
    """What must be the same on both sides; an empty string where it is unknown."""
    yield "GPU", {launch.device.name for launch in diagnosis.launches}
    yield _CAPABILITY, {launch.device.compute_capability for launch in diagnosis.launches}
    # The first two parts of a version decide what its counters mean: 2025.3 of 2025.3.1.
    yield "ncu", {".".join(report.ncu_version.split(".")[:2]) for report in diagnosis.reports}
    known = [settings.get(report.path, Settings()) for report in diagnosis.reports]
    for field in fields(Settings):
        yield field.name.replace("_", " "), {getattr(each, field.name) for each in known}


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(word or "unknown" for word in words))


def kernel_list(launches: Launches) -> str:
    """The names of the first kernels, and the number of further ones."""
    names = list(dict.fromkeys(launch.kernel for launch in launches))
    more = [f"and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*names[:_MOST_NAMES], *more]) or "none"


def _pair(before: Launches, after: Launches) -> Pair:
    was, now = _longest(before, after)
    before_ns, after_ns = (fsum(launch.whole_ns for launch in side) for side in (before, after))
    timed = isfinite(before_ns) and isfinite(after_ns) and after_ns > 0
    return Pair(
        before=before,
        after=after,
        before_ns=before_ns,
        after_ns=after_ns,
        spread=spread(min(was.whole_ns, now.whole_ns)),
        changed=tuple(_changed(was, now)),
        metric_changes=metric_changes(was, now),
        rule_changes=rule_changes(was, now),
        prediction=check_prediction(was, now, was.whole_ns / now.whole_ns) if timed else None,
    )


def _longest(before: Launches, after: Launches) -> tuple[LaunchDiagnosis, LaunchDiagnosis]:
    return max(zip(before, after, strict=True), key=lambda both: _known(both[0].whole_ns))


def _known(number: float) -> float:
    """The number to sort by; 0 where it is unknown."""
    return number if isfinite(number) else 0.0


def _changed(before: LaunchDiagnosis, after: LaunchDiagnosis) -> Iterator[str]:
    if before.kernel != after.kernel:
        yield f"kernel {before.kernel} -> {after.kernel}"
    elif before.demangled != after.demangled:
        yield f"types {before.demangled} -> {after.demangled}"
    if before.device != after.device:
        gpus = (side.device.name or side.device.compute_capability or "unknown" for side in (before, after))
        yield f"GPU {' -> '.join(gpus)}"
    for what, was, now in (("grid", before.grid, after.grid), ("block", before.block, after.block)):
        if was != now:
            yield f"{what} {extent_words(was)} -> {extent_words(now)}"


def launch_words(grid: Extent, block: Extent) -> str:
    """``grid 256x256, block 32x8``; empty where both are ``NOWHERE``."""
    return "" if grid == block == NOWHERE else f"grid {extent_words(grid)}, block {extent_words(block)}"


def extent_words(extent: Extent) -> str:
    """``256x256``: a grid or block without trailing dimensions of 1; ``unknown`` where a dimension is 0."""
    if not all(extent):
        return "unknown"
    used = max((place for place, size in enumerate(extent, start=1) if size != 1), default=1)
    return "x".join(map(str, extent[:used]))
