"""The points of a kernel's parameters that may gain, by the diagnosis and the registers: ``space_of`` -> ``Space``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ncuview.patch.parameters import Parameter, Parameters
from ncuview.records.diagnosis import LaunchDiagnosis

REGISTERS = 65_536
"""Of a multiprocessor, and the most that one block may have, on every GPU since Kepler."""
_THREADS = 2048
"""Of a multiprocessor; some GPUs have fewer."""
_FEWEST_REGISTERS = 24
"""With fewer per thread, kernels spill."""
_BUSY = 0.9
"""Of what a unit attains: what only hides latency gains nothing more."""
_FULL = 0.99
_MEMORY = {"dram", "l2"}


@dataclass(frozen=True)
class Space:
    """Values of parameters by their names, in the form of ``tuning.tune``."""

    values: Mapping[str, Sequence[int]]
    present: Mapping[str, int]
    restrictions: Sequence[str]


def space_of(parameters: Parameters, diagnosis: LaunchDiagnosis | None, registers: int | None) -> Space:
    """The values that may gain; none where each parameter has one value.

    Without a diagnosis nothing that can be proven is left out, but room for more blocks where registers are unknown.

    Args:
        parameters: The parameters with the values that can be proven.
        diagnosis: Of the present version.
        registers: Its registers per thread.
    """
    values = {each.name: _worth(each, diagnosis, registers) for each in parameters.found}
    kept = {each.name: each.present for each in parameters.found if len(values[each.name]) > 1}
    restrictions = []
    if "minimum_blocks" in kept:
        threads = "block" if "block" in kept else str(parameters.threads({}) or 1)
        blocks = f"minimum_blocks * {threads}"
        fits = f"({blocks} <= {_THREADS} and {blocks} * {_FEWEST_REGISTERS} <= {REGISTERS})"
        needed = f"{blocks} * {registers} > {REGISTERS}"
        restrictions.append(f"minimum_blocks == {kept['minimum_blocks']} or ({fits} and {needed})")
    return Space({name: values[name] for name in kept}, kept, restrictions)


def _worth(parameter: Parameter, diagnosis: LaunchDiagnosis | None, registers: int | None) -> tuple[int, ...]:
    """The values of a parameter that may gain, with the present one."""
    busy = diagnosis is not None and diagnosis.attained >= _BUSY and diagnosis.bottleneck in _MEMORY
    if parameter.kind == "block":
        return tuple(each for each in parameter.values if each >= parameter.present or not _is_full(diagnosis))
    if busy or (parameter.kind == "minimum_blocks" and (registers is None or _is_full(diagnosis))):
        return (parameter.present,)
    return parameter.values


def _is_full(diagnosis: LaunchDiagnosis | None) -> bool:
    """Whether the warp slots of the multiprocessors are full, so that no other block fills them better."""
    fits = diagnosis.metrics.get("theoretical_occupancy") if diagnosis else None
    return fits is not None and fits.value >= _FULL
