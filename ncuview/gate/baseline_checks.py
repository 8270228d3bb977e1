"""Compare a ``Diagnosis`` with a ``Baseline`` -> checks for longer times, worse counters, new and missing kernels.

``baseline_checks`` pairs launches by kernel, grid and block, and compares times with the spread of their repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import median

from ncuview.base.errors import NotComparable
from ncuview.comparison.compare import Comparison, compare, kernel_list
from ncuview.comparison.counters import metric_changes
from ncuview.comparison.launch_groups import LaunchGroup, group_launches, merged
from ncuview.comparison.pairing import pair_launches
from ncuview.comparison.repeats import Repeats, Slowdown, slowdown
from ncuview.gate.baseline import Baseline, KernelBaseline, Metric
from ncuview.gate.budget import BaselineLimits
from ncuview.gate.formatting import quantity, times
from ncuview.gate.metric_values import MetricValues, finding_lines
from ncuview.gate.spread import Spreads
from ncuview.metrics.repeatability import DURATION, NEAR_TOLERANCE
from ncuview.metrics.textbook import metric_names
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, SourceLine
from ncuview.records.gate import Check, CheckResult, Level
from ncuview.records.profile import Configuration

COUNTERS: Mapping[str, bool] = {
    **dict.fromkeys(
        (
            "gld_transactions_per_request",
            "gst_transactions_per_request",
            "gld_transactions",
            "gst_transactions",
            "inst_executed",
            "inst_executed_global_loads",
            "inst_executed_global_stores",
            "inst_executed_shared_loads",
            "inst_executed_shared_stores",
            "inst_executed_local_loads",
            "inst_executed_local_stores",
            "inst_executed_global_atomics",
            "inst_executed_global_reductions",
            "inst_executed_shared_atomics",
            "shared_bank_conflict_ways",
            "shared_load_transactions",
            "shared_store_transactions",
            "inst_fp_64",
            "dram_read_bytes",
        ),
        True,
    ),
    **dict.fromkeys(
        (
            "gld_efficiency",
            "gst_efficiency",
            "shared_efficiency",
            "branch_efficiency",
            "warp_execution_efficiency",
            "warp_nonpred_execution_efficiency",
            "theoretical_occupancy",
        ),
        False,
    ),
}
"""The textbook metrics that are compared with a baseline, and whether a larger value is worse. All are causes of lost
time that repeat from run to run; their consequences, such as rates and use, show in the time."""

_SAME = 1e-9
_SPREAD_NOT_COMPARED = 0.10
"""Counters with a larger spread between repeats are not compared."""
_MOST_CHANGES = 2
"""A message about the time names no more changed counters."""
_SHOWN = 0.05
"""A smaller change in percent is shown as no change."""


@dataclass(frozen=True)
class BaselineResult:
    """The checks of a diagnosis against a baseline."""

    checks: tuple[Check, ...]
    remark: str
    """Which conditions differ, where the comparison was forced; else empty."""
    unrecorded: str
    """Which conditions are unknown; empty where all are known."""
    unlaunched: int
    """Kernels and configurations without a launch, where not all launches were profiled."""


def baseline_checks(
    baseline: Baseline,
    name: str,
    diagnosis: Diagnosis,
    values: MetricValues,
    *,
    settings: Mapping[str, Settings],
    limits: BaselineLimits,
    spreads: Spreads,
    force: bool = False,
    complete: bool = True,
) -> BaselineResult:
    """Check a diagnosis against a baseline.

    Args:
        baseline: The saved measurement.
        name: The path of its file, as the user gave it.
        diagnosis: The new measurement.
        values: The metric values of the new measurement.
        settings: The settings of ncu, by the path of the report.
        limits: How much may change, and the level of each failure.
        spreads: The user's measured spreads.
        force: Compare also what was measured under other conditions.
        complete: Whether all launches were profiled; else a kernel without a launch is not one that went missing.

    Raises:
        NotComparable: GPU, version of ncu, clock or cache control or replay mode differ, or no kernel is in both.
    """
    now = group_launches(diagnosis.launches)
    shown = replace(diagnosis, launches=tuple(group.middle for groups in now.values() for group in groups))
    before, settings_before = baseline.as_diagnosis(name)
    if not pair_launches(before.launches, shown.launches, {}).pairs:
        raise NotComparable(
            f"no kernel is in both: {kernel_list(before.launches)} in the baseline, {kernel_list(shown.launches)} now",
            hint="If kernels were renamed, save the baseline again: ncuview check TARGET --save-baseline FILE.",
        )
    compared = compare(before, shown, settings={**settings_before, **settings}, force=force)
    was: dict[Configuration, list[KernelBaseline]] = {}
    for entry in baseline.kernels:
        was.setdefault(entry.configuration, []).append(entry)
    pairs = [pair for key, groups in now.items() if key in was for pair in _pairs(was[key], groups)]
    timed = sum(1 for entry, group in pairs if entry.times.count and group.times.count)
    judge = _Judge(f"baseline {name}", values, limits, spreads, max(1, timed))
    checks = [check for entry, group in pairs for check in judge.pair(entry, group)]
    new, gone = judge.unpaired(was, now, compared)
    checks += [*new, *gone] if complete else new
    forced = f"compared by force: {'; '.join(compared.differences)}" if compared.differences else ""
    return BaselineResult(tuple(checks), forced, _unrecorded(compared.unknown), 0 if complete else len(gone))


def _unrecorded(unknown: Sequence[str]) -> str:
    if not unknown:
        return ""
    return f"the baseline or these reports do not record {', '.join(unknown)}; they are compared as they are"


def _pairs(
    entries: Sequence[KernelBaseline], groups: Sequence[LaunchGroup]
) -> Iterator[tuple[KernelBaseline, LaunchGroup]]:
    """Launch groups of one configuration in their order; merged where their number differs from the baseline's."""
    if len(entries) == len(groups):
        yield from zip(entries, groups, strict=True)
    else:
        yield _pooled(entries), merged(groups)


def _pooled(entries: Sequence[KernelBaseline]) -> KernelBaseline:
    """Several entries as one: the launch group of the longest time, with the bounds of all counters."""
    longest = max(entries, key=lambda entry: entry.times.median_ns if entry.times.count else -1.0)
    if len(entries) == 1:
        return longest
    metrics = {}
    for name, metric in longest.metrics.items():
        bounds = [entry.metrics[name].bounds for entry in entries if name in entry.metrics]
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        metrics[name] = metric.model_copy(update={"low": low, "high": high})
    return longest.model_copy(update={"metrics": metrics})


@dataclass(frozen=True)
class _Judge:
    """The inputs that all checks against one baseline share."""

    origin: str
    values: MetricValues
    limits: BaselineLimits
    spreads: Spreads
    comparisons: int

    def pair(self, entry: KernelBaseline, group: LaunchGroup) -> Iterator[Check]:
        """The time, each worse counter, and one check for the other counters."""
        counted = list(self._counters(entry, group)) if self.limits.counters != "off" else []
        if self.limits.time != "off":
            timed = self._time(entry, group)
            if timed.result == "inconclusive" and any(check.result == "failed" for check in counted):
                timed = replace(timed, level="warn")  # a counter that repeats shows already that it is worse
            yield timed
        yield from counted

    def unpaired(
        self,
        was: Mapping[Configuration, Sequence[KernelBaseline]],
        now: Mapping[Configuration, Sequence[LaunchGroup]],
        compared: Comparison,
    ) -> tuple[list[Check], list[Check]]:
        """Kernels and configurations of one side only: the new ones, and those that are gone."""
        new: list[Check] = []
        if self.limits.kernels == "off":
            return new, []
        changed = {}
        for pair in compared.pairs:
            before, after = pair.longest
            if pair.changed:
                key = (after.demangled or after.kernel, after.grid, after.block)
                changed[key] = f"its launch differs from the baseline ({'; '.join(pair.changed)})"
                changed[before.demangled or before.kernel, before.grid, before.block] = ""
        for key, groups in now.items():
            if key not in was:
                message = changed.get(key, "it is not in the baseline")
                message = f"{message}; save the baseline again to compare it"
                new.append(self._unpaired(key, groups[0].middle, message))
        missing = [key for key in was if key not in now and changed.get(key) != ""]
        gone = [self._unpaired(key, None, "it is in the baseline and was not launched now") for key in missing]
        return new, gone

    def _unpaired(self, key: Configuration, launch: LaunchDiagnosis | None, message: str) -> Check:
        kernel, grid, block = key
        return Check(
            kernel=kernel,
            grid=grid,
            block=block,
            subject="launches",
            condition="as in the baseline",
            result="failed",
            level=self.limits.kernels,
            measured=None,
            limit=None,
            unit="",
            message=message,
            origin=self.origin,
            where=launch.findings[0].where if launch and launch.findings else (),
        )

    def _time(self, entry: KernelBaseline, group: LaunchGroup) -> Check:
        before, after = entry.times, group.times
        if not before.count or not after.count:
            side = "the baseline" if not before.count else "the report"
            return self._check(group, DURATION, "not judged", f"{side} has no time of it", unit="ns")
        durations = (self.values.of(launch, DURATION) for launch in group.launches)
        unknown = [each for each in durations if each.value is None]
        if unknown:
            message = f"{len(unknown)} of {times(len(group.launches), 'launch')} have no duration"
            why = next((f": {each.why}" for each in unknown if each.why), "")
            return self._check(group, DURATION, "not judged", f"{message}{why}", unit="ns")
        launch = group.middle
        spread = self.spreads.time(launch.device.name, launch.demangled or launch.kernel)
        if spread is None and entry.duration_ns is not None:
            spread = entry.duration_ns.spread
        found = slowdown(
            before,
            after,
            tolerance=self.limits.tolerance,
            floor_ns=self.limits.floor_ns,
            spread=spread,
            comparisons=self.comparisons,
        )
        failed = found.result == "failed"
        counters = _changed_counters(entry, launch) if found.result in {"failed", "inconclusive"} else ""
        message = f"{_median(after)}, {_change(found)} {_median(before)} in the baseline; {found.why}{counters}"
        where = launch.findings[0].where if failed and launch.findings else ()
        return self._check(
            group,
            DURATION,
            found.result,
            message,
            measured=after.median_ns,
            limit=before.median_ns,
            unit="ns",
            where=where,
        )

    def _counters(self, entry: KernelBaseline, group: LaunchGroup) -> Iterator[Check]:
        better, same, unknown = [], 0, []
        launch = group.middle
        for name, more_is_worse in COUNTERS.items():
            metric = entry.metrics.get(name)
            if metric is None:
                continue
            values = group.values(name)
            if len(values) < len(group.launches):
                found = [self.values.of(each, name) for each in group.launches]
                if any(each.value is None and each.has_subject for each in found):
                    unknown.append(name)
                continue  # a launch without a subject cannot be worse
            tolerance = self._tolerance(launch, name, metric)
            if tolerance is None:
                continue
            worse = _worse(metric, values, more_is_worse=more_is_worse, tolerance=tolerance)
            if worse > 0:
                yield self._worse_counter(entry, group, name, values, more_is_worse=more_is_worse)
            elif worse < 0:
                better.append(
                    f"{name} {quantity(metric.median, metric.unit)} -> {quantity(median(values), metric.unit)}"
                )
            else:
                same += 1
        if unknown:
            message = f"{', '.join(unknown)}: in the baseline, and without a value now"
            yield self._check(group, "counters", "not judged", message)
        if same or better:
            message = f"{same} are unchanged"
            message += f"; better: {', '.join(better)}: save the baseline again to keep the gain" if better else ""
            yield self._check(group, "counters", "passed", message)

    def _tolerance(self, launch: LaunchDiagnosis, name: str, metric: Metric) -> float | None:
        """The share by which a counter may differ; None where it spreads too much to be compared."""
        kernel = launch.demangled or launch.kernel
        spread = self.spreads.metric(launch.device.name, kernel, name)
        low, high = metric.bounds
        if low < high and metric.median:
            spread = max(spread, (high - low) / abs(metric.median))
        if spread > _SPREAD_NOT_COMPARED:
            return None
        if spread > 0:
            return max(NEAR_TOLERANCE, 1.5 * spread)
        return 0.0 if metric.exact else NEAR_TOLERANCE

    def _worse_counter(
        self, entry: KernelBaseline, group: LaunchGroup, name: str, values: Sequence[float], *, more_is_worse: bool
    ) -> Check:
        metric = entry.metrics[name]
        worst = max(values) if more_is_worse else min(values)
        launch = next(each for each in group.launches if each.metrics[name].value == worst)
        words = {change.metric: change.words for change in metric_changes(entry.as_launch(""), launch)}
        meaning = f" ({words[name]})" if name in words else ""
        message = (
            f"{name}{meaning} is {quantity(worst, metric.unit)}, {quantity(metric.median, metric.unit)} in the baseline"
        )
        return self._check(
            group,
            name,
            "failed",
            message,
            measured=worst,
            limit=metric.median,
            unit=metric.unit,
            where=finding_lines(launch, metric_names(launch.metrics[name].source)),
        )

    def _check(
        self,
        group: LaunchGroup,
        subject: str,
        result: CheckResult,
        message: str,
        *,
        measured: float | None = None,
        limit: float | None = None,
        unit: str = "",
        where: tuple[SourceLine, ...] = (),
    ) -> Check:
        kernel, grid, block = group.configuration
        level: Level = self.limits.time if subject == DURATION else self.limits.counters
        condition = "as in the baseline"
        if subject == DURATION:
            condition = f"at most {100 * self.limits.tolerance:.3g} % more than in the baseline"
        if limit is not None:
            condition += f", {quantity(limit, unit)}"
        return Check(
            kernel, grid, block, subject, condition, result, level, measured, limit, unit, message, self.origin, where
        )


def _worse(metric: Metric, values: Sequence[float], *, more_is_worse: bool, tolerance: float) -> int:
    """1 where a launch is worse than the baseline's worst, -1 where all are better than its best, else 0."""
    low, high = metric.bounds
    margin = max(tolerance, _SAME)
    above = max(values) > high + abs(high) * margin
    below = min(values) < low - abs(low) * margin
    if more_is_worse:
        return 1 if above else -int(max(values) < low - abs(low) * margin)
    return 1 if below else -int(min(values) > high + abs(high) * margin)


def _change(found: Slowdown) -> str:
    share = 100 * abs(found.change)
    if found.change > 1:
        return f"{1 + found.change:.3g} times the"
    return f"{share:.3g} % {'more' if found.change > 0 else 'less'} than" if share >= _SHOWN else "as much as"


def _median(times: Repeats) -> str:
    """``327.6 us (median of 5)``."""
    middle = f" (median of {times.count:,})" if times.count > 1 else ""
    return f"{quantity(times.median_ns, 'ns')}{middle}"


def _changed_counters(entry: KernelBaseline, launch: LaunchDiagnosis) -> str:
    """The metrics that explain the longer time, in words; empty where there are none."""
    metrics = [change for change in metric_changes(entry.as_launch(""), launch) if change.saves_ns < 0][:_MOST_CHANGES]
    shown = [f"{each.words} {_amount(each.before, each.unit)} -> {_amount(each.after, each.unit)}" for each in metrics]
    return f"; what changed: {', '.join(shown)}" if shown else ""


def _amount(value: float | None, unit: str) -> str:
    return "none" if value is None or not isfinite(value) else quantity(value, unit)
