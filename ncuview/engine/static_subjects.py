"""Search a kernel's ``Code`` for subjects of rules; ``SUBJECTS`` maps the name in a rule's ``[static]`` to the search.

A search returns ``Shown`` (positions and numbers) or None; ``spilled_bytes`` counts spilled registers per thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ncuview.sass import instruction_mix
from ncuview.sass.address import (
    bank_conflict,
    consecutive_accesses,
    is_executed_uniformly,
    lane_stride,
    structure_loads,
)
from ncuview.sass.cfg import innermost_loop, loops
from ncuview.sass.code import Code, Weights, of_class
from ncuview.sass.global_loads import chased_loads, load_batches, regathered_loads, reloads, uniform_loads
from ncuview.sass.idioms import division, math_functions, memory_patterns
from ncuview.sass.instruction import Access
from ncuview.sass.loaded_values import float_coordinates
from ncuview.sass.opcode_classes import Class, is_global_load, is_global_store
from ncuview.sass.repeated_passes import Place

COUNT, IN_LOOP = "count", "in_loop"
"""Values of every subject: how many there are, and 1 where one of them is in a loop."""
BYTES_IN_FLIGHT = "gpu.bytes_in_flight"
"""The only GPU figure that conditions may read; without a GPU, that of the GPU that needs the most."""
_WIDEST = 16
"""Bytes of the widest access of one thread."""
_SECTOR = 32


@dataclass(frozen=True)
class Shown:
    """What machine code shows of a subject.

    Attributes:
        positions: The instructions.
        values: Numbers for the rule's conditions and text; ``count`` and ``in_loop`` are always there.
    """

    positions: tuple[int, ...]
    values: Mapping[str, float]


Find = Callable[[Code, Sequence[Place]], Shown | None]


@dataclass(frozen=True)
class Subject:
    """A search of machine code.

    Attributes:
        find: The search.
        further: The names of the values that it gives besides ``count`` and ``in_loop``.
        is_loop: Whether it finds loops themselves, so that pages do not add that they are in a loop.
    """

    find: Find
    further: tuple[str, ...] = ()
    is_loop: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The names that conditions of a rule may read."""
        return frozenset({COUNT, IN_LOOP, *self.further})


def spilled_bytes(code: Code) -> tuple[int, int] | None:
    """The bytes per thread that spilled registers are stored to and loaded from local memory with.

    Each instruction counts once, as ptxas counts them. None where there are arrays in local memory, whose elements at
    known offsets look the same.
    """
    if memory_patterns.local_array_accesses(code).any():
        return None
    return _spilled(code, "store"), _spilled(code, "load")


def _spilled(code: Code, access: Access) -> int:
    accesses = (code.instructions[at].memory for at in np.flatnonzero(memory_patterns.spill_accesses(code)))
    return sum(memory.bytes for memory in accesses if memory and memory.access == access)


def _shown(code: Code, positions: Sequence[int], count: float | None = None, **further: float) -> Shown:
    in_loop = float(any(innermost_loop(code, at) is not None for at in positions))
    number = len(positions) if count is None else count
    return Shown(tuple(positions), {COUNT: number, IN_LOOP: in_loop, **further})


def _weighted(of: Callable[[Code], Weights], of_one: float = 1.0) -> Find:
    """The instructions that an analysis gives a weight.

    Args:
        of: One weight per instruction.
        of_one: The weights of one case together.
    """

    def find(code: Code, _places: Sequence[Place]) -> Shown | None:
        weights = of(code)
        if not weights.any():
            return None
        return _shown(code, np.flatnonzero(weights > 0).tolist(), round(float(weights.sum()) / of_one))

    return find


def _spilled_registers(code: Code, _places: Sequence[Place]) -> Shown | None:
    stored, loaded = spilled_bytes(code) or (0, 0)
    if not stored and not loaded:
        return None
    return _shown(code, np.flatnonzero(memory_patterns.spill_accesses(code)).tolist(), stored=stored, loaded=loaded)


def _neighbouring_fields(code: Code, _places: Sequence[Place]) -> Shown | None:
    """Loads of neighbouring fields of one element, which fewer wide loads could replace."""
    fields = structure_loads(code)
    runs = [
        (run, size)
        for run, size in consecutive_accesses(code, is_global_load)
        if len(run) > 1 and size < _WIDEST and fields[run].all()
    ]
    if not runs:
        return None
    wide = sum(max(1, len(run) * size // _WIDEST) for run, size in runs)
    return _shown(code, sorted(at for run, _ in runs for at in run), wide=wide)


def _innermost_loops(code: Code, places: Sequence[Place]) -> Shown | None:
    """Innermost loops, with the length of the shortest.

    Loops of atomics, which repeat until one succeeds, are left out, and so are remainders of unrolled loops, which have
    the longer loop's source line.
    """
    outer = {loop.parent for loop in loops(code)}
    inner = [loop for loop in loops(code) if loop not in outer]
    line = {loop: places[loop.latches[-1]] for loop in inner}
    rolled = [
        loop
        for loop in inner
        if not any(line[loop] == line[other] and line[loop][1] and len(loop.body) < len(other.body) for other in inner)
        and not any(code.instructions[at].base_opcode.startswith("ATOM") for at in loop.body)
    ]
    if not rolled:
        return None
    shortest = min(len(loop.body) for loop in rolled)
    return _shown(code, [loop.latches[-1] for loop in rolled if len(loop.body) == shortest], instructions=shortest)


def _load_batches(code: Code, _places: Sequence[Place]) -> Shown | None:
    """Batches of loads between two waits, with the bytes of the largest and the number of all loads.

    Loads whose address was loaded, or computed in floating point, are other rules' subjects.
    """
    batches = load_batches(code)
    if not batches or chased_loads(code).any() or float_coordinates(code).any():
        return None
    loads = np.count_nonzero(of_class(code, is_global_load))
    most = max(batch.size for batch in batches)
    return _shown(code, [batch.start for batch in batches], loads=float(loads), bytes=float(most))


def _double_conversions(code: Code, _places: Sequence[Place]) -> Shown | None:
    conversions = instruction_mix.double_conversions(code)
    if not conversions.any():
        return None
    arithmetic = float(instruction_mix.double_arithmetic(code).sum())
    return _shown(code, np.flatnonzero(conversions).tolist(), arithmetic=arithmetic)


def _apart(asked: Class) -> Find:
    """Global accesses whose lanes are known to be a sector or more apart, so that each touches its own sector."""

    def find(code: Code, _places: Sequence[Place]) -> Shown | None:
        strides = {
            at: abs(stride)
            for at, each in enumerate(code.instructions)
            if asked(each) and (stride := lane_stride(code, at)) and abs(stride) >= _SECTOR
        }
        return _shown(code, list(strides), least=min(strides.values())) if strides else None

    return find


def _bank_conflicts(code: Code, _places: Sequence[Place]) -> Shown | None:
    """Accesses to shared memory that no thread index guards, at a known stride from lane to lane."""
    ways = {
        at: bank_conflict(stride, each.memory.bytes)
        for at, each in enumerate(code.instructions)
        if each.base_opcode in {"LDS", "STS"} and each.memory
        if (stride := lane_stride(code, at)) and is_executed_uniformly(code, at)
    }
    conflicts = [at for at, count in ways.items() if count > 1]
    return _shown(code, conflicts, ways=float(max(ways.values()))) if conflicts else None


def _shared_updates(code: Code, _places: Sequence[Place]) -> Shown | None:
    """Updates of sums in shared memory, in a kernel without shuffles."""
    updates = memory_patterns.shared_updates(code)
    if not updates.any() or instruction_mix.shuffles(code).any():
        return None
    return _shown(code, np.flatnonzero(updates).tolist())


SUBJECTS: Mapping[str, Subject] = {
    "spilled_registers": Subject(_spilled_registers, ("stored", "loaded")),
    "local_array_accesses": Subject(_weighted(memory_patterns.local_array_accesses)),
    "double_conversions": Subject(_double_conversions, ("arithmetic",)),
    "integer_divisions": Subject(_weighted(division.division_leaves, of_one=2.0)),
    "precise_instructions": Subject(_weighted(math_functions.precise_instructions)),
    "power_instructions": Subject(_weighted(math_functions.power_instructions)),
    "neighbouring_fields": Subject(_neighbouring_fields, ("wide",)),
    "innermost_loops": Subject(_innermost_loops, ("instructions",), is_loop=True),
    "load_batches": Subject(_load_batches, ("loads", "bytes")),
    "reloads": Subject(_weighted(reloads)),
    "uniform_loads": Subject(_weighted(uniform_loads)),
    "structure_loads": Subject(_weighted(structure_loads)),
    "regathered_loads": Subject(_weighted(regathered_loads)),
    "narrow_loads": Subject(_weighted(instruction_mix.narrow_loads)),
    "float_coordinates": Subject(_weighted(float_coordinates)),
    "indexed_constants": Subject(_weighted(instruction_mix.indexed_constants)),
    "masks_to_24_bits": Subject(_weighted(instruction_mix.masks_to_24_bits)),
    "swap_loops": Subject(_weighted(memory_patterns.swap_loops)),
    "shared_updates": Subject(_shared_updates),
    "loads_apart": Subject(_apart(is_global_load), ("least",)),
    "stores_apart": Subject(_apart(is_global_store), ("least",)),
    "bank_conflicts": Subject(_bank_conflicts, ("ways",)),
}
