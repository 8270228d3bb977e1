"""Compare two diagnoses -> ``Comparison``: paired launches with times, changed counters, findings and predictions.

Profiles of different GPUs, ncu versions or settings are refused unless forced; ``launch_words`` formats grid and block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import fsum, isfinite, nan

from ncuview.base.errors import NotComparable, UnknownKernel
from ncuview.comparison.counters import RuleShift, Shift, rule_shifts, shifts
from ncuview.comparison.pairing import Launches, paired
from ncuview.comparison.prediction import PromiseKept, promise_kept, spread
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.failure import Failure
from ncuview.records.profile import NOWHERE, Extent

_NAMED = 12
_KIND = "compute capability"
"""Tells GPUs apart where exports do not name them."""
"""An error names no more kernels."""


@dataclass(frozen=True)
class Pair:
    """Launches of one kernel and configuration on either side that belong together, in the order of the launches."""

    before: Launches
    after: Launches
    """As many as ``before``."""
    before_ns: float
    after_ns: float
    """Time of the launches together, with their copies where the host timed them; NaN where one is unknown."""
    spread: float
    """The share by which these times differ from run to run; a smaller change is none."""
    changed: tuple[str, ...]
    """What is no longer the same of name, types, GPU, grid and block: ``grid 1 -> 256x256``."""
    shifts: tuple[Shift, ...]
    """What moved in the longest launch: counters that repeat first, and what explains the most time first."""
    rules: tuple[RuleShift, ...]
    promise: PromiseKept | None
    """Of the first advice for the longest launch; None where there was none, or a time is unknown."""

    @property
    def longest(self) -> tuple[LaunchDiagnosis, LaunchDiagnosis]:
        """The launch that took longest before, and the one that belongs to it."""
        return _longest(self.before, self.after)

    @property
    def speedup(self) -> float:
        """Time before over time after; NaN where a time is unknown."""
        return self.before_ns / self.after_ns if self.after_ns else nan

    @property
    def is_noise(self) -> bool:
        """Whether the time differs by no more than it does from run to run."""
        return abs(self.after_ns - self.before_ns) <= self.spread * max(self.before_ns, self.after_ns)


@dataclass(frozen=True)
class Comparison:
    """What changed from one profile to another."""

    pairs: tuple[Pair, ...]
    """Those whose time changed most, in ns, first."""
    only_before: Launches
    only_after: Launches
    """Launches without a partner, in the order of the reports."""
    before: Diagnosis
    after: Diagnosis
    differences: tuple[str, ...]
    """Why the two cannot really be compared; empty unless it was forced."""
    unknown: tuple[str, ...]
    """What could not be checked, since a report does not say it: ``clock control``."""

    @property
    def failure(self) -> Failure | None:
        """Why launches are missing on a side, or on both; None when both are whole."""
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
    """Set the launches of two diagnoses beside each other.

    Args:
        before: What the other is compared with.
        after: What has changed.
        settings: What ncu was told, by the path of the report; what is not in it is unknown.
        renamed: Kernels that bear another name afterwards: the name before to the name after.
        force: Compare also what comes from different GPUs, versions of ncu or settings.

    Raises:
        NotComparable: GPU, version of ncu, clock or cache control or replay mode differ, or no kernel is in both.
        UnknownKernel: ``renamed`` names a kernel that is not there.
    """
    renamed = renamed or {}
    _check_names(renamed.keys(), before.launches, "before")
    _check_names(renamed.values(), after.launches, "after")
    differences, unknown = _conditions(before, after, settings or {})
    if differences and not force:
        raise NotComparable(
            f"the profiles cannot be compared: {'; '.join(differences)}",
            hint="Profile both in the same way on the same GPU; --force compares them all the same.",
        )
    pairing = paired(before.launches, after.launches, renamed)
    if not pairing.pairs:
        raise NotComparable(
            f"no kernel is in both: {_names(before.launches)} before, {_names(after.launches)} after",
            hint="If a kernel was renamed, --renamed OLD=NEW says so.",
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


def _check_names(names: Iterable[str], launches: Launches, side: str) -> None:
    known = {launch.kernel for launch in launches}
    for name in names:
        if name not in known:
            raise UnknownKernel(f"no kernel is called {name} {side}", hint=f"There are: {_names(launches)}.")


def _conditions(
    before: Diagnosis, after: Diagnosis, settings: Mapping[str, Settings]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What differs in how the two were profiled, and what cannot be told."""
    differences: list[str] = []
    unknown: list[str] = []
    facts = zip(_facts(before, settings), _facts(after, settings), strict=True)
    for (what, was), (_, now) in facts:
        if what == _KIND and differences:  # the GPU's name says it
            continue
        if was - {""} and now - {""} and was - {""} != now - {""}:
            differences.append(f"{what} {_listed(was)} before, {_listed(now)} after")
        elif "" in was | now and what != _KIND:
            unknown.append(what)
    return tuple(differences), tuple(unknown)


def _facts(diagnosis: Diagnosis, settings: Mapping[str, Settings]) -> Iterator[tuple[str, set[str]]]:
    """What must be the same on both sides; empty words where it is unknown."""
    yield "GPU", {launch.device.name for launch in diagnosis.launches}
    yield _KIND, {launch.device.compute_capability for launch in diagnosis.launches}
    # The first two parts of a version decide what its counters mean: 2025.3 of 2025.3.1.
    yield "ncu", {".".join(report.ncu_version.split(".")[:2]) for report in diagnosis.reports}
    told = [settings.get(report.path, Settings()) for report in diagnosis.reports]
    for field in fields(Settings):
        yield field.name.replace("_", " "), {getattr(each, field.name) for each in told}


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(word or "unknown" for word in words))


def _names(launches: Launches) -> str:
    names = list(dict.fromkeys(launch.kernel for launch in launches))
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more]) or "none"


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
        shifts=shifts(was, now),
        rules=rule_shifts(was, now),
        promise=promise_kept(was, now, was.whole_ns / now.whole_ns) if timed else None,
    )


def _longest(before: Launches, after: Launches) -> tuple[LaunchDiagnosis, LaunchDiagnosis]:
    return max(zip(before, after, strict=True), key=lambda both: _known(both[0].whole_ns))


def _known(number: float) -> float:
    """A number to sort by, 0 where it is unknown."""
    return number if isfinite(number) else 0.0


def _changed(before: LaunchDiagnosis, after: LaunchDiagnosis) -> Iterator[str]:
    if before.kernel != after.kernel:
        yield f"renamed {before.kernel} -> {after.kernel}"
    elif before.demangled != after.demangled:
        yield f"types {before.demangled} -> {after.demangled}"
    if before.device != after.device:
        gpus = (side.device.name or side.device.compute_capability or "unknown" for side in (before, after))
        yield f"GPU {' -> '.join(gpus)}"
    for what, was, now in (("grid", before.grid, after.grid), ("block", before.block, after.block)):
        if was != now:
            yield f"{what} {extent_words(was)} -> {extent_words(now)}"


def launch_words(grid: Extent, block: Extent) -> str:
    """``grid 256x256, block 32x8``; empty of what is about no launch."""
    return "" if grid == block == NOWHERE else f"grid {extent_words(grid)}, block {extent_words(block)}"


def extent_words(extent: Extent) -> str:
    """A grid or block without the dimensions at its end that are 1, ``256x256``; of a size that is not known, so."""
    if not all(extent):
        return "unknown"
    used = max((place for place, size in enumerate(extent, start=1) if size != 1), default=1)
    return "x".join(map(str, extent[:used]))
