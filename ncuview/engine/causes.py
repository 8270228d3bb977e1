"""Name the instructions that warps wait for, with their lines and shares of the waiting samples.

``Causes(analysis, places)`` answers for a launch (``of_launch``) or for the stall reasons that a rule reads
(``of_rule``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ncuview.metrics.names import OF_INSTRUCTIONS, OF_SAMPLES, SAMPLES
from ncuview.metrics.quantities import QUANTITIES
from ncuview.records.diagnosis import Awaited
from ncuview.sass.waiting import REASONS, awaited_samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.engine.locate import Places
    from ncuview.engine.rule_file import Rule
    from ncuview.metrics.analysis import Analysis
    from ncuview.metrics.instruction_table import Executed

_SHOWN = 3
_SHARE_SHOWN = 0.05
_OF_LAUNCH = "stall_"


class Causes:
    """What the stalled instructions of the launches under analysis wait for."""

    def __init__(self, analysis: Analysis, places: Places) -> None:
        self._analysis = analysis
        self._places = places
        self._found: dict[int, Mapping[str, Sequence[_Line]]] = {}

    def of_launch(self, launch: int) -> tuple[Awaited, ...]:
        """What most samples of a launch wait for, of all reasons that have producers."""
        return self._named(launch, REASONS)

    def of_rule(self, rule: Rule, launch: int) -> tuple[Awaited, ...]:
        """What most samples wait for whose stall reasons the rule's conditions or its waste read."""
        reasons = stall_reasons(rule)
        return self._named(launch, reasons) if reasons else ()

    def _named(self, launch: int, reasons: Collection[str]) -> tuple[Awaited, ...]:
        executed = self._analysis.instructions.get(launch)
        if executed is None:
            return ()
        if launch not in self._found:
            self._found[launch] = {
                reason: tuple(_by_line(executed, reason, samples)) for reason, samples in _awaited(executed).items()
            }
        awaited = {reason: lines for reason, lines in self._found[launch].items() if reason in reasons}
        total = sum(float(np.nansum(executed[SAMPLES[reason]])) for reason in awaited)
        found = [each for lines in awaited.values() for each in lines]
        shown = sorted((each for each in found if each.samples >= _SHARE_SHOWN * total), key=lambda each: -each.samples)
        return tuple(self._instruction(launch, executed, each, total) for each in shown[:_SHOWN])

    def _instruction(self, launch: int, executed: Executed, most: _Line, total: float) -> Awaited:
        line = int(executed.lines[most.at])
        file = executed.files[most.at] if line else ""
        return Awaited(
            reason=most.reason,
            opcode=executed.code.instructions[most.at].base_opcode,
            address=int(executed.addresses[most.at]),
            sass=executed.code.texts[most.at],
            file=file,
            line=line,
            code=self._places.text(launch, file, line) if line else "",
            share=most.samples / total,
        )


class _Line(NamedTuple):
    """The samples that wait for the instructions of one opcode on a line, and the position of the one with most."""

    samples: float
    reason: str
    at: int


def _by_line(executed: Executed, reason: str, samples: NDArray[np.float64]) -> Iterator[_Line]:
    """Unrolled code has a line's load several times; where no line is known, each instruction is apart."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    for at in np.flatnonzero(samples > 0).tolist():
        line = int(executed.lines[at])
        place = (executed.files[at], line) if line else ("", -at)
        groups.setdefault((*place, executed.code.instructions[at].base_opcode), []).append(at)
    for positions in groups.values():
        yield _Line(float(samples[positions].sum()), reason, max(positions, key=lambda at: samples[at]))


def _awaited(executed: Executed) -> Mapping[str, NDArray[np.float64]]:
    """For each reason that was sampled the samples at the instructions that are waited for."""
    times = OF_INSTRUCTIONS["executions"]
    executions = np.nan_to_num(executed[times]) if times in executed else np.ones(len(executed))
    return {
        reason: awaited_samples(executed.code, reason, np.nan_to_num(executed[SAMPLES[reason]]), executions)
        for reason in REASONS
        if SAMPLES[reason] in executed
    }


def stall_reasons(rule: Rule) -> frozenset[str]:
    """The stall reasons that a rule's conditions or its waste read and that have producers."""
    read = {name.removeprefix(OF_SAMPLES) for name in (rule.waste.names if rule.waste else ())}
    waiting = [name for condition in rule.when.values() for name in condition.names]
    seen = set[str]()
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        if name in rule.let:
            waiting.extend(rule.let[name].names)
        elif name.removeprefix(_OF_LAUNCH) in SAMPLES:
            read.add(name.removeprefix(_OF_LAUNCH))
        elif name.startswith(_OF_LAUNCH) and name in QUANTITIES:
            waiting.extend(QUANTITIES[name].inputs)
    return frozenset(read & set(REASONS))
