"""``KernelResult``: metrics, time, findings and advice of profiled launches, for assertions in a user's tests.

It is made from a ``Profile`` and its ``Diagnosis``; its numbers are ``Measured``, floats that explain an assertion.
Launches are chosen by kernel, grid and block. ``with_note`` adds the hint of an error to its traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from math import isfinite, nan
from statistics import median
from typing import TYPE_CHECKING, Self, TypeVar

from ncuview.base.errors import NcuviewError, UnknownKernel, UnknownMetric, UsageError
from ncuview.base.figures import duration
from ncuview.base.suggestion import did_you_mean

if TYPE_CHECKING:
    from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis, Verdict
    from ncuview.records.profile import Extent, Profile


_MOST_NAMES = 12
_MOST_LINES = 3
_AXES = 3


class Measured(float):
    """A number that shows its name, kernel and next step in a failed assertion."""

    what: str
    """``shared_bank_conflict_ways``."""
    unit: str
    of: KernelResult

    def __new__(cls, value: float, what: str, unit: str, of: KernelResult) -> Self:
        """Make a number with its name and unit."""
        made = super().__new__(cls, value)
        made.what, made.unit, made.of = what, unit, of
        return made

    def __repr__(self) -> str:
        number = float.__repr__(self)
        return f"<{self.what} {number} {self.unit}>" if self.unit else f"<{self.what} {number}>"

    def __str__(self) -> str:
        return float.__repr__(self)

    def explanation(self) -> list[str]:
        """The kernel that was measured and the next step for it, one string per line."""
        return self.of.explanation()


class KernelResult:
    """The launches of one kernel, grid and block, or of several, from which ``kernel`` chooses."""

    def __init__(self, profile: Profile, diagnosis: Diagnosis, positions: tuple[int, ...] | None = None) -> None:
        """Choose some launches of a profile.

        Args:
            profile: The launches with all metrics.
            diagnosis: The diagnosis of the same launches, in the same order.
            positions: The chosen launches; None for all.
        """
        self._profile, self._diagnosis = profile, diagnosis
        self._positions = tuple(range(len(diagnosis.launches))) if positions is None else positions

    @property
    def launches(self) -> tuple[LaunchDiagnosis, ...]:
        """The diagnosis of each launch, in their order."""
        return tuple(self._diagnosis.launches[at] for at in self._positions)

    @property
    def kernels(self) -> tuple[KernelResult, ...]:
        """One result for each kernel, grid and block, in the order of their first launch."""
        groups: dict[object, list[int]] = {}
        for at, launch in zip(self._positions, self.launches, strict=True):
            groups.setdefault((launch.demangled, launch.kernel, launch.grid, launch.block, launch.device), []).append(
                at
            )
        return tuple(self._some(positions) for positions in groups.values())

    @property
    def launch_groups(self) -> tuple[KernelResult, ...]:
        """One result per launch group: launches of one kernel, grid and block that repeat each other."""
        from ncuview.comparison.launch_groups import group_launches

        places = {id(launch): at for at, launch in enumerate(self._diagnosis.launches)}
        every = [group for groups in group_launches(self.launches).values() for group in groups]
        return tuple(self._some([places[id(launch)] for launch in group.launches]) for group in every)

    works = launch_groups
    """The name of ``launch_groups`` in 0.1."""

    def kernel(
        self, name: str, *, grid: tuple[int, ...] | None = None, block: tuple[int, ...] | None = None
    ) -> KernelResult:
        """The launches of one kernel.

        Args:
            name: Its bare or demangled name, or a pattern with ``*`` and ``?`` for either.
            grid: Only launches of this grid; omitted trailing dimensions are 1.
            block: Only launches of this block.

        Raises:
            UnknownKernel: There is no such kernel; the hint names the existing ones.
        """
        __tracebackhide__ = True
        wanted = [
            at
            for at, launch in zip(self._positions, self.launches, strict=True)
            if _is_called(launch, name) and _has(launch.grid, grid) and _has(launch.block, block)
        ]
        if not wanted:
            with_extent = "".join(f", {what} {size}" for what, size in (("grid", grid), ("block", block)) if size)
            unknown = UnknownKernel(f"no kernel {name}{with_extent} was profiled", hint=f"There are {self._names()}.")
            raise with_note(unknown)
        return self._some(wanted)

    def __getitem__(self, metric: str) -> float:
        """The median of a metric over the launches, by its textbook name or Nsight Compute's.

        Raises:
            UnknownMetric: The launches have no value of this name.
            UsageError: There are several kernels, or a count that repeats differs between launches, because they do
                different things.
        """
        from ncuview.metrics.repeatability import NEAR_TOLERANCE, MetricClass, best_class

        __tracebackhide__ = True
        self._only()
        values = [value for at in self._positions if isfinite(value := self._value(at, metric))]
        if not values:
            raise with_note(self._no(metric))
        repeats = best_class(metric) in {MetricClass.EXACT, MetricClass.NEAR}
        if repeats and max(values) - min(values) > NEAR_TOLERANCE * max(map(abs, values)):
            error = UsageError(
                f"{metric} is {min(values):g} to {max(values):g} over {len(values)} launches of"
                f" {_launch_name(self.launches[0])}: they do different things",
                hint="Choose one of .launch_groups, which has a result for each of these things.",
            )
            raise with_note(error)
        return Measured(median(values), metric, self._unit(metric), self)

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, str) and any(isfinite(self._value(at, metric)) for at in self._positions)

    @property
    def duration_ns(self) -> float:
        """The median duration of the launches in ns.

        Raises:
            UsageError: There are several kernels, or no duration was measured.
        """
        __tracebackhide__ = True
        self._only()
        known = [launch.duration_ns for launch in self.launches if isfinite(launch.duration_ns)]
        if not known:
            raise with_note(UsageError("no duration was measured", hint="Collect gpu__time_duration.sum."))
        return Measured(median(known), "duration", "ns", self)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The advice for the launch of median duration, best first; empty without advice."""
        __tracebackhide__ = True
        return self._typical().findings

    @property
    def advice(self) -> str:
        """The first advised optimization, one word such as ``shared_memory_padding``; empty without advice."""
        __tracebackhide__ = True
        return self.findings[0].optimization if self.findings else ""

    @property
    def predicted(self) -> float:
        """The predicted speedup of the first advice; 1.0 without advice."""
        __tracebackhide__ = True
        best = self.findings[0].predicted_speedup.best if self.findings else 1.0
        return Measured(best, "predicted speedup", "x", self)

    promised = predicted
    """The name of ``predicted`` in 0.1."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the launch of median duration; see ``ncuview.records.diagnosis.Verdict``."""
        __tracebackhide__ = True
        return self._typical().verdict

    def __repr__(self) -> str:
        from ncuview.render.text import safe_text

        if len(self.kernels) != 1:
            return f"<{len(self.kernels)} kernels: {safe_text(self._names())}>"
        from ncuview.render.words import bottleneck_words, step_words

        launch, count = self._typical(), len(self._positions)
        times = f" (median of {count} launches)" if count > 1 else ""
        words = f"{duration(self._duration())}{times}, {bottleneck_words(launch)}, {step_words(launch)}"
        return safe_text(f"<{_launch_name(launch)}: {words}>")

    def explanation(self) -> list[str]:
        """The kernel, its next step, the reason and the source lines, one string per line."""
        return list(self._explained())

    def _explained(self) -> Iterator[str]:
        from ncuview.render.text import safe_text
        from ncuview.render.words import advice_headline, advice_reason, place_words, verdict_headline, verdict_reason

        yield repr(self)
        launch = self._typical()
        if not launch.findings:
            yield safe_text(f"{verdict_headline(launch)} {verdict_reason(launch)}")
            return
        first = launch.findings[0]
        yield safe_text(f"Next: {advice_headline(first)}. {advice_reason(launch, first)}")
        for line in first.where[:_MOST_LINES]:
            yield safe_text(f"Where: {place_words(line)}  {line.code}".rstrip())

    def _some(self, positions: list[int]) -> KernelResult:
        return KernelResult(self._profile, self._diagnosis, tuple(positions))

    def _only(self) -> None:
        """Refuse to compute a number over several kernels."""
        __tracebackhide__ = True
        if len(self.kernels) != 1:
            error = UsageError(
                f"{len(self.kernels)} kernels were profiled, and this needs one: {self._names()}",
                hint='Choose one with .kernel("NAME"), with grid= and block= where it was launched in several ways.',
            )
            raise with_note(error)

    def _typical(self) -> LaunchDiagnosis:
        """The launch of median duration."""
        __tracebackhide__ = True
        self._only()
        timed = (launch for launch in self.launches if isfinite(launch.duration_ns))
        known = sorted(timed, key=lambda launch: launch.duration_ns)
        return known[(len(known) - 1) // 2] if known else self.launches[0]

    def _duration(self) -> float:
        known = [launch.duration_ns for launch in self.launches if isfinite(launch.duration_ns)]
        return median(known) if known else nan

    def _value(self, at: int, metric: str) -> float:
        """The value of a launch; NaN where it has none."""
        textbook = self._diagnosis.launches[at].metrics.get(metric)
        if textbook is not None:
            return textbook.value
        metrics = self._profile.metrics
        return float(metrics[metric].iloc[at]) if metric in metrics.columns else nan

    def _unit(self, metric: str) -> str:
        textbook = self.launches[0].metrics.get(metric)
        return textbook.unit if textbook else self._profile.units.get(metric, "")

    def _no(self, metric: str) -> UnknownMetric:
        from ncuview.metrics.textbook import definitions

        kernel = self.launches[0].kernel
        if metric in definitions():
            return UnknownMetric(
                f"{kernel} has no {metric}: it was not collected, or the kernel has no subject for it",
                hint=f"`ncuview metrics {metric}` shows what it needs.",
            )
        names = {*definitions(), *self._profile.metrics.columns}
        if metric in names:
            return UnknownMetric(f"{kernel} has no value of {metric}", hint="It was collected for other launches only.")
        return UnknownMetric(
            f"no metric {metric!r} was collected, and no textbook metric has this name",
            hint=did_you_mean(metric, names, "`ncuview metrics` lists the textbooks' names."),
        )

    def _names(self) -> str:
        names = list(dict.fromkeys(_launch_name(result.launches[0]) for result in self.kernels))
        more = [f"and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        return "; ".join([*names[:_MOST_NAMES], *more])


_Error = TypeVar("_Error", bound=NcuviewError)


def with_note(error: _Error) -> _Error:
    """The same error, with its hint as a note that a traceback shows."""
    if error.hint:
        error.add_note(error.hint)
    return error


def _is_called(launch: LaunchDiagnosis, name: str) -> bool:
    names = (launch.kernel, launch.demangled)
    return name in names or any(fnmatchcase(each, name) for each in names)


def _has(extent: Extent, wanted: tuple[int, ...] | None) -> bool:
    return wanted is None or extent == (*wanted, 1, 1, 1)[:_AXES]


def _launch_name(launch: LaunchDiagnosis) -> str:
    from ncuview.comparison.compare import launch_words

    return f"{launch.kernel}, {launch_words(launch.grid, launch.block)}"
