"""The points of a kernel's parameters that may gain, by the diagnosis and the registers: ``space_of`` -> ``Space``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ncuview.patch.parameters import Parameter, Parameters
from ncuview.patch.tile_shapes import Shapes
from ncuview.records.diagnosis import LaunchDiagnosis

REGISTERS = 65_536
"""Of a multiprocessor, and the most that one block may have, on every GPU since Kepler."""
_THREADS = 2048
"""Of a multiprocessor; some GPUs have fewer."""
_FEWEST_REGISTERS = 24
"""With fewer per thread, kernels spill."""
_MOST_REGISTERS = 255
"""Of a thread."""
_SHARED = 227 * 1024
"""Bytes of a multiprocessor for blocks, on the GPU with most."""
_FEWEST_THREADS = 512
"""Threads of a multiprocessor that tiles must leave room for, or one block: four warps for each scheduler. Assumed:
fewer do not hide the latency of loads and barriers."""
_BUSY = 0.9
"""Of what a unit attains: what only hides latency gains nothing more."""
_FULL = 0.99
_MEMORY = {"dram", "l2"}
_LATENCY_ONLY = {"tile_depth"}
"""The numbers of a tile that change nothing but how much is loaded at once; the others change what is loaded."""


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
    if parameters.shapes and not parameters.shapes.present.keys().isdisjoint(kept):
        restrictions.append(_room_for_tiles(parameters.shapes, kept))
    return Space({name: values[name] for name in kept}, kept, restrictions)


def _room_for_tiles(shapes: Shapes, kept: Mapping[str, int]) -> str:
    """That a multiprocessor has shared memory and registers for enough threads with tiles of a shape.

    A number of the shape that has one value stands as it is; the present shape is always allowed.
    """
    blocks = -(-_FEWEST_THREADS // shapes.threads)
    registers = f"({shapes.registers} + {_FEWEST_REGISTERS})"
    fits = f"({shapes.shared}) * {blocks} <= {_SHARED} and {registers} <= {_MOST_REGISTERS}"
    fits = f"{fits} and {registers} * {max(shapes.threads, _FEWEST_THREADS)} <= {REGISTERS}"
    for name, value in shapes.present.items():
        fits = fits if name in kept else re.sub(rf"\b{name}\b", str(value), fits)
    present = " and ".join(f"{name} == {value}" for name, value in shapes.present.items() if name in kept)
    return f"({present}) or ({fits})"


def _worth(parameter: Parameter, diagnosis: LaunchDiagnosis | None, registers: int | None) -> tuple[int, ...]:
    """The values of a parameter that may gain, with the present one."""
    busy = diagnosis is not None and diagnosis.attained >= _BUSY and diagnosis.bottleneck in _MEMORY
    if parameter.kind == "block":
        return tuple(each for each in parameter.values if each >= parameter.present or not _is_full(diagnosis))
    if parameter.kind == "tile" and parameter.name not in _LATENCY_ONLY:
        return parameter.values
    if busy or (parameter.kind == "minimum_blocks" and (registers is None or _is_full(diagnosis))):
        return (parameter.present,)
    return parameter.values


def _is_full(diagnosis: LaunchDiagnosis | None) -> bool:
    """Whether the warp slots of the multiprocessors are full, so that no other block fills them better."""
    fits = diagnosis.metrics.get("theoretical_occupancy") if diagnosis else None
    return fits is not None and fits.value >= _FULL
