"""OpenMetrics text from a ``Diagnosis`` and a ``Gate`` (``openmetrics``), for Prometheus and GitLab's metrics reports.

It has times, use of units, metrics and first advice of each kernel. A series is a kernel with its grid, block and GPU.
For several launches, also in several reports, a series has their median, so that no two samples have the same labels;
times have the shortest and longest launch too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import fsum, isfinite
from statistics import median

from ncuview.comparison.compare import extent_words
from ncuview.engine.priority import Priority, priorities
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.gate import Check, CheckResult, Gate
from ncuview.records.profile import Device, Extent
from ncuview.render.gate_words import is_closed
from ncuview.render.text import safe_text

_Labels = tuple[tuple[str, str], ...]
_RESULTS: tuple[CheckResult, ...] = ("passed", "failed", "inconclusive", "not judged")


@dataclass(frozen=True)
class _Family:
    """Samples of one name, by their labels; several values of the same labels come from several launches.

    Labels are made safe first, because two different names may have the same safe text.
    """

    name: str
    about: str
    unit: str = ""
    samples: defaultdict[_Labels, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, labels: _Labels, value: float) -> None:
        """Add a value; NaN and infinity are left out."""
        if isfinite(value):
            self.samples[labels].append(value)

    def lines(self) -> Iterator[str]:
        """The family as text; nothing where it has no sample."""
        if not self.samples:
            return
        yield f"# TYPE {self.name} gauge"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {self.about}"
        for labels, values in self.samples.items():
            shown = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels)
            value = float(median(values))
            yield f"{self.name}{{{shown}}} {value!r}" if shown else f"{self.name} {value!r}"


def openmetrics(diagnosis: Diagnosis, gate: Gate | None) -> str:
    """All families, ending in ``# EOF``."""
    families = [*_of_failure(diagnosis), *_of_launches(diagnosis), *_of_groups(diagnosis)]
    families += _of_gate(gate) if gate else ()
    return "".join(f"{line}\n" for family in families for line in family.lines()) + "# EOF\n"


def _of_failure(diagnosis: Diagnosis) -> list[_Family]:
    failed = _Family("ncuview_incomplete", "1 where launches are missing, for the reason that JSON names.")
    if diagnosis.failure:
        failed.add((("reason", safe_text(diagnosis.failure.id)),), 1)
    return [failed]


def _of_launches(diagnosis: Diagnosis) -> list[_Family]:
    time = _Family("ncuview_duration_seconds", "Median duration of a launch.", "seconds")
    use = _Family("ncuview_unit_use_ratio", "Use of a hardware unit as a share of its peak, median.", "ratio")
    attained = _Family("ncuview_attained_ratio", "Share of what a good kernel attains on the busiest unit.", "ratio")
    textbook = _Family("ncuview_textbook_metric", "A metric by its textbook name, median; the label gives the unit.")
    labels: dict[tuple[str, Extent, Extent, Device], _Labels] = {}
    for launch in diagnosis.launches:
        key = (launch.demangled, launch.grid, launch.block, launch.device)
        own = labels.setdefault(key, _labels(*key))
        time.add(own, launch.duration_ns / 1e9)
        attained.add(own, launch.attained)
        for unit, share in launch.units.items():
            use.add((*own, ("unit", safe_text(unit))), share)
        for name, metric in launch.metrics.items():
            textbook.add((*own, ("metric", safe_text(name)), ("unit", safe_text(metric.unit))), metric.value)
    owned = _Family("ncuview_owner_seconds", "Time of each kind of owner, without waits for peers.", "seconds")
    for launch in diagnosis.launches:
        if not launch.waits_for_peers:
            owned.add((("owner_kind", launch.owner_kind),), launch.duration_ns / 1e9)
    owned.samples.update({labels: [fsum(times)] for labels, times in owned.samples.items()})
    shortest = _Family("ncuview_duration_min_seconds", "Duration of the shortest launch.", "seconds")
    longest = _Family("ncuview_duration_max_seconds", "Duration of the longest launch.", "seconds")
    for each, values in time.samples.items():
        shortest.add(each, min(values))
        longest.add(each, max(values))
    return [time, shortest, longest, use, attained, textbook, owned]


def _of_groups(diagnosis: Diagnosis) -> list[_Family]:
    launches = _Family("ncuview_launches", "Number of launches of the kernel.")
    total = _Family("ncuview_total_seconds", "Total time of all launches.", "seconds")
    predicted = _Family("ncuview_promised_speedup_ratio", "Predicted gain of first advice; 1 without advice.", "ratio")
    saved = _Family("ncuview_saved_seconds", "Time that the first advice saves over all launches.", "seconds")
    blind = _Family("ncuview_not_judged_launches", "Launches that most rules could not judge.")
    if diagnosis.launches:
        blind.add((), sum(launch.unexamined for launch in diagnosis.launches))
    state = _Family("ncuview_verdict", "1 for the verdict, bottleneck (wall) and first advice of a kernel.")
    for group in priorities(diagnosis).groups:
        own = _labels(group.demangled, group.grid, group.block, group.device)
        launches.add(own, group.launches)
        total.add(own, group.time_ns / 1e9)
        predicted.add(own, group.predicted_speedup.best)
        saved.add(own, group.saved.best / 1e9)
        state.add((*own, *_state(group)), 1)
    return [launches, total, predicted, saved, blind, state]


def _state(group: Priority) -> _Labels:
    launch: LaunchDiagnosis = group.example
    advice = group.advice.optimization if group.advice else ""
    return (("verdict", launch.verdict), ("wall", safe_text(launch.bottleneck)), ("advice", safe_text(advice)))


def _of_gate(gate: Gate) -> list[_Family]:
    closed = _Family("ncuview_gate_closed", "1 where a budget or baseline closes the gate.")
    closed.add((), int(is_closed(gate)))
    counts = _Family("ncuview_gate_checks", "Number of checks with each result.")
    for result in _RESULTS:
        counts.add((("result", result),), sum(check.result == result for check in gate.checks))
    measured = _Family("ncuview_check_measured", "The measured value of a check, in the unit of its label.")
    failed = _Family("ncuview_check_failed_ratio", "1 where a check failed.", "ratio")
    for check in gate.checks:
        failed.add(_check_labels(check), int(check.result == "failed"))
        if check.measured is not None:
            measured.add((*_check_labels(check), ("unit", safe_text(check.unit))), check.measured)
    return [closed, counts, failed, measured]


def _check_labels(check: Check) -> _Labels:
    own = _labels(check.kernel, check.grid, check.block, None)
    about = (("subject", check.subject), ("condition", check.condition), ("origin", check.origin))
    return (*own, *((name, safe_text(text)) for name, text in about))


def _labels(demangled: str, grid: Extent, block: Extent, device: Device | None) -> _Labels:
    own = (("kernel", safe_text(demangled)), ("grid", extent_words(grid)), ("block", extent_words(block)))
    return (*own, ("device", safe_text(device.name))) if device else own


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
