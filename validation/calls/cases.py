"""Cases: what the author, the measurement, ncuview and a trivial predictor say of each recorded variant."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum, isfinite
from pathlib import Path
from typing import Any, Literal

from ncuview.profiling.hook.ncuview_kernel_trace import LONGEST_LAUNCH_GAP_NS
from ncuview.programs.advise import BETWEEN, advise
from ncuview.programs.calls import qualified_name
from ncuview.records.program import Call, KernelTrace, ProgramFinding, ProgramLaunch
from ncuview.speedup.attainable import program_figures
from validation.calls.labels import (
    IN_VIEW,
    Unit,
    gain,
    labels_of,
    programs_of,
    sources,
    texts_of,
    took_ms,
    unit_of,
)
from validation.calls.recorded import Recorded, Step
from validation.calls.syntax import code_of
from validation.cases import ADVICE, NOTHING

Where = Literal["line", "near", "elsewhere"]
"""A labelled line; another line of its function, or a line that calls it or that it calls; or neither."""


@dataclass(frozen=True)
class Advice:
    """One piece of advice of an adviser: the change, its gain in the unit of the case, and where it is made."""

    change: str
    gain: float
    where: Where


@dataclass(frozen=True)
class Label:
    """What the author and the measurement say of a variant; where they differ, the measurement decides.

    Attributes:
        right: Changes that are right, the one that was made first; empty where there is none.
        measured: What that change brought; NaN where that was not measured.
        finished: The variant is finished.
        negative_example: A change that brings nothing here; empty where there is none.
    """

    right: tuple[str, ...]
    measured: float
    finished: bool
    negative_example: str


@dataclass(frozen=True)
class Case:
    """A recorded variant: its label, and what ncuview and the trivial predictor advise, the best change first."""

    step: Step
    label: Label
    ours: tuple[Advice, ...]
    trivial: tuple[Advice, ...]


def case_of(recorded: Recorded, source: Path, written: Mapping[str, Any]) -> Case:
    """The case of a variant.

    Args:
        recorded: Its launches.
        source: The program.
        written: What the author says of the variant.
    """
    wall_ms = took_ms(source, recorded.variant, "wall_ms")
    kernel_ns = fsum(launch.duration_ns for launch in recorded.launches)
    unit = unit_of(written)
    whole_ns = max(kernel_ns, wall_ms * 1e6) if unit == "wall_ms" and isfinite(wall_ms) else kernel_ns
    places = _Places(source, written, recorded.launches)
    findings = advise(recorded.launches, _trace_of(source, recorded), program_figures(recorded.device))
    return Case(
        Step(recorded.program, recorded.variant),
        label_of(source, written),
        tuple(Advice(each.change, _gain(each, unit, whole_ns), places.of(each.calls)) for each in findings),
        (Advice("fuse", mean_gain(), places.of([*_costliest(recorded.launches)])),),
    )


def _trace_of(source: Path, recorded: Recorded) -> KernelTrace | None:
    """The time between the kernels of a step, of which only its sum was measured; None where it was not.

    A mean gap that launching cannot explain is that of a wait in each step, for a copy: copies were not traced.
    """
    wall_ns, busy_ns = (took_ms(source, recorded.variant, unit) * 1e6 for unit in ("wall_ms", "kernel_ms"))
    if not isfinite(wall_ns - busy_ns):
        return None
    count, idle_ns = len(recorded.launches), max(0.0, wall_ns - busy_ns)
    launching = idle_ns <= LONGEST_LAUNCH_GAP_NS * count
    return KernelTrace(
        launches=count,
        busy_ns=round(busy_ns),
        span_ns=round(wall_ns),
        launch_gap_ns=round(idle_ns / count) if launching else 0,
        waits=0 if launching else 1,
        waits_ns=0 if launching else round(idle_ns),
        copied_ns=0 if launching else round(idle_ns),
        once_ns=0,
    )


def label_of(source: Path, written: Mapping[str, Any]) -> Label:
    """The label of a variant, from what its author wrote and what was measured.

    As for kernels, a labelled change that brings less than 1.05x is a negative example, and a negative example of a
    finished variant that brings 1.10x is a change. What was not measured is as the author says.
    """
    variant, change, negative = written["name"], written.get("right", ""), written.get("negative_example", "")
    brought = gain(source, variant, written["after"], unit_of(written)) if change else 1.0
    in_vain = gain(source, variant, written["negative_after"], _unit_of_change(negative)) if negative else 1.0
    if change and not brought < ADVICE:
        return Label((change, *written.get("accepted", [])), brought, False, negative if in_vain < NOTHING else "")
    if change:
        return Label((), 1.0, False, change if brought < NOTHING else "")
    if negative and in_vain >= ADVICE:
        return Label((negative,), in_vain, False, "")
    return Label((), 1.0, bool(written.get("finished")), negative if in_vain < NOTHING else "")


def _unit_of_change(change: str) -> Unit:
    return "wall_ms" if change in BETWEEN else "kernel_ms"


@cache
def mean_gain() -> float:
    """The geometric mean of the measured gains of all pairs in view."""
    labels = (
        label_of(sources()[program], written)
        for program in programs_of(IN_VIEW)
        for written in labels_of(sources()[program]).values()
    )
    return statistics.geometric_mean(label.measured for label in labels if label.right and isfinite(label.measured))


def _gain(finding: ProgramFinding, unit: Unit, whole_ns: float) -> float:
    """What a finding predicts of the step's kernel time, or of its wall time."""
    if unit == "kernel_ms" and finding.change in BETWEEN:
        return 1.0
    return whole_ns / (whole_ns - finding.saved_ns.best)


def _costliest(launches: Sequence[ProgramLaunch]) -> Iterator[Call]:
    """A call at the costliest line of the user; none where no launch has one."""
    took: dict[tuple[str, int, str], float] = defaultdict(float)
    calls: dict[tuple[str, int, str], Call] = {}
    for launch in launches:
        if launch.call and launch.call.function:
            line = launch.call.file, launch.call.line, launch.call.function
            took[line] += launch.duration_ns
            calls.setdefault(line, launch.call)
    if took:
        yield calls[max(took, key=lambda line: took[line])]


class _Places:
    """The labelled lines of a program, and what is near to them."""

    def __init__(self, source: Path, written: Mapping[str, Any], launches: Sequence[ProgramLaunch]) -> None:
        self._code = code_of(source)
        # Of a native call without a source file, and of any in the recordings of q227 to q230, the program is named.
        self._files = {source.name, source.stem}
        found = [place for text in texts_of(written) for place in self._code.statements_with(text)]
        calls = {launch.call for launch in launches if launch.call}
        ran = {line for call in calls for line in self._lines(call)}
        # A text may stand in functions of several variants: those count that ran.
        self._labelled = [place for place in found if any(line in place for line in ran)] or found
        firsts = [place.first for place in self._labelled]
        functions = [function.place for function in self._code.functions]
        self._near = [around for around in functions if any(first in around for first in firsts)]
        self._callers = {line for call in calls if self._is_labelled(self._lines(call)) for line in self._lines(call)}
        self._callers |= {line for first in firsts for line in self._code.calls_of_function_with(first)}

    def of(self, calls: Collection[Call]) -> Where:
        """Where the calls of a piece of advice are: at the nearest of them."""
        own = {call.line for call in calls if call.file in self._files}
        if self._is_labelled(own):
            return "line"
        around = {line for call in calls for line in self._lines(call)}
        in_function = any(line in function for line in own for function in self._near)
        near = in_function or self._is_labelled(around) or own & self._callers
        return "near" if near or any(map(self._is_near, calls)) else "elsewhere"

    def _is_near(self, call: Call) -> bool:
        """Whether a call of which the function alone is known is near: by the same function, or one calls the other."""
        if call.line or call.file not in self._files:
            return False
        name = qualified_name(call.function).rpartition("::")[2]
        functions = [each.place for each in self._code.functions if each.name == name]
        calling = {line for place in functions for line in self._code.calls_of_function_with(place.first)}
        inside = any(line in place for place in functions for line in self._callers)
        return inside or any(place in self._near for place in functions) or self._is_labelled(calling)

    def _is_labelled(self, lines: Collection[int]) -> bool:
        return any(line in place for line in lines for place in self._labelled)

    def _lines(self, call: Call) -> list[int]:
        """The known lines of the program that a call and its callers are at."""
        frames = [(call.file, call.line), *((frame.file, frame.line) for frame in call.callers)]
        return [line for name, line in frames if name in self._files and line]
