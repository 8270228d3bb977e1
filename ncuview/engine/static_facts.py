"""Find in a kernel's decoded machine code the instructions that rules judge: spills, divisions, narrow loads etc.

``code_facts`` returns for each such rule a phrase and the instructions; ``spilled_bytes`` the spilled bytes per thread.

They are the subject of a rule, without its verdict or a predicted gain: a rule judges by how often instructions were
executed and by what the GPU waited for, which only counters say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ncuview.gpus import shipped_tables
from ncuview.sass import instruction_mix
from ncuview.sass.address import bank_conflict, by_whole_warps, consecutive_accesses, lane_stride, structure_loads
from ncuview.sass.cfg import innermost_loop, loops
from ncuview.sass.code import Code
from ncuview.sass.columns import Weights, of_class
from ncuview.sass.idioms import compare_and_swap, division, precise_math, shared_sums, spills
from ncuview.sass.idioms.pow import power_instructions
from ncuview.sass.instruction import Access
from ncuview.sass.load_batches import load_batches
from ncuview.sass.load_indices import gathered_again
from ncuview.sass.loaded_values import float_coordinates
from ncuview.sass.loops import chased_loads, reloads, uniform_loads
from ncuview.sass.opcode_classes import Class, is_global_load, is_global_store
from ncuview.sass.repeated_passes import Place

_ROLLED = 15
"""Instructions of a loop whose turns are nothing else: of more, the three that count, compare and jump are less than
the fifth from which on the rule loop-overhead speaks."""
_IN_FLIGHT = max(table.get("bytes_in_flight", 0.0) for table in shipped_tables().values())
"""Bytes per thread below which little-work-per-thread and serialized-loads look, on the GPU that needs the most."""
_FEW_LOADS = 4
"""Loads of a thread from which on serialized-loads speaks, and not little-work-per-thread."""
_WIDEST = 16
_SECTOR = 32


@dataclass(frozen=True)
class CodeFact:
    """The subject of one rule in a kernel's code.

    Attributes:
        rule: The name of the rule which judges it once there are counters.
        says: What there is, and whether it is in a loop, as words without a full stop.
        in_loop: Whether some of it is in a loop, where it counts.
        positions: The instructions.
    """

    rule: str
    says: str
    in_loop: bool
    positions: tuple[int, ...]


def code_facts(code: Code, places: Sequence[Place]) -> tuple[CodeFact, ...]:
    """What the code shows; what is in a loop comes first.

    Args:
        code: The kernel's instructions.
        places: The source line of each, 0 where it is unknown.
    """
    found = [*_rolled(code, places), *(fact for look in _LOOKS for fact in look(code))]
    return tuple(sorted(found, key=lambda fact: not fact.in_loop))


def spilled_bytes(code: Code) -> tuple[int, int] | None:
    """The bytes per thread that spilled registers are stored to and loaded from local memory with.

    Each instruction counts once, as ptxas counts them. None where there are arrays in local memory, whose elements at
    known places look the same.
    """
    if spills.local_array_accesses(code).any():
        return None
    return _moved_by_spills(code, "store"), _moved_by_spills(code, "load")


def _moved_by_spills(code: Code, access: Access) -> int:
    accesses = (code.instructions[at].memory for at in np.flatnonzero(spills.spill_accesses(code)))
    return sum(memory.bytes for memory in accesses if memory and memory.access == access)


def _fact(code: Code, rule: str, says: str, positions: tuple[int, ...]) -> CodeFact:
    in_loop = any(innermost_loop(code, at) is not None for at in positions)
    return CodeFact(rule, says + (", in a loop" if in_loop else ""), in_loop, positions)


def _counted(
    rule: str, of: Callable[[Code], Weights], noun: str, says: str = "{n}", each: float = 1.0
) -> Callable[[Code], Iterator[CodeFact]]:
    """A fact where the weights of the code's instructions are not all zero.

    Args:
        rule: The rule's name.
        of: What each instruction weighs.
        noun: What is counted.
        says: The words, with ``n`` for the count and its noun.
        each: The weight of one case.
    """

    def look(code: Code) -> Iterator[CodeFact]:
        weights = of(code)
        if weights.any():
            positions = tuple(np.flatnonzero(weights > 0).tolist())
            yield _fact(code, rule, says.format(n=_count(round(float(weights.sum()) / each), noun)), positions)

    return look


def _count(count: int, noun: str) -> str:
    """``1 load``, ``12 loads``, ``2 accesses``."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{count:,} {noun if count == 1 else plural}"


def _spills(code: Code) -> Iterator[CodeFact]:
    spilled = spilled_bytes(code)
    if spilled and any(spilled):
        says = f"spilled registers: {spilled[0]:,} bytes of stores and {spilled[1]:,} of loads per thread"
        yield _fact(code, "register-spill", says, tuple(np.flatnonzero(spills.spill_accesses(code)).tolist()))


def _saving(rule: str, of: Callable[[Code], Weights], says: str) -> Callable[[Code], Iterator[CodeFact]]:
    """A look at what a cheaper form would save, of which ``says`` names the instructions, ``{n}``."""

    def look(code: Code) -> Iterator[CodeFact]:
        saved = of(code)
        if saved.any():
            positions = tuple(np.flatnonzero(saved).tolist())
            yield _fact(code, rule, says.format(n=f"{saved.sum():,.0f} instructions"), positions)

    return look


def _split(code: Code) -> Iterator[CodeFact]:
    """Loads of neighbouring fields of one element: there the code says that lanes step over one another."""
    fields = structure_loads(code)
    runs = [
        (run, size)
        for run, size in consecutive_accesses(code, is_global_load)
        if len(run) > 1 and size < _WIDEST and fields[run].all()
    ]
    if runs:
        positions = tuple(sorted(at for run, _ in runs for at in run))
        fewer = sum(max(1, len(run) * size // _WIDEST) for run, size in runs)
        says = f"{_count(len(positions), 'load')} of neighbouring fields, where {fewer:,} wider would do if aligned"
        yield _fact(code, "split-access", says, positions)


def _rolled(code: Code, places: Sequence[Place]) -> Iterator[CodeFact]:
    """Loops of few instructions; the rest of an unrolled loop, which has the longer one's source line, is none."""
    outer = {loop.parent for loop in loops(code)}
    inner = [loop for loop in loops(code) if loop not in outer]
    last = {loop: loop.latches[-1] for loop in inner}
    unrolled = {places[last[loop]] for loop in inner if len(loop.body) > _ROLLED and places[last[loop]][1]}
    short = [
        loop
        for loop in inner
        if len(loop.body) <= _ROLLED
        and places[last[loop]] not in unrolled
        # what repeats until it succeeds has nothing to unroll
        and not any(code.instructions[at].base_opcode.startswith("ATOM") for at in loop.body)
    ]
    if short:
        least = min(len(loop.body) for loop in short)
        says = f"a loop of {least} instructions a turn, three of which count, compare and jump"
        yield CodeFact("loop-overhead", says, in_loop=True, positions=tuple(last[loop] for loop in short))


def _few_bytes(code: Code) -> Iterator[CodeFact]:
    """What a thread asks global memory for before it waits, where that is less than memory needs in flight."""
    batches = load_batches(code)
    chased, coordinates = chased_loads(code), float_coordinates(code)
    if not batches or max(size for _, size in batches) >= _IN_FLIGHT or chased.any() or coordinates.any():
        return
    loads = np.count_nonzero(of_class(code, is_global_load))
    positions = tuple(at for at, _ in batches)
    turns = any(innermost_loop(code, at) is not None for at in positions)
    rule = "serialized-loads" if turns or loads >= _FEW_LOADS else "little-work-per-thread"
    most = max(size for _, size in batches)
    yield _fact(code, rule, f"a thread asks global memory for {most} bytes at most before it waits for them", positions)


def _double_in_float(code: Code) -> Iterator[CodeFact]:
    conversions = instruction_mix.double_conversions(code)
    if conversions.any():
        arithmetic = int(instruction_mix.double_arithmetic(code).sum())
        positions = tuple(np.flatnonzero(conversions).tolist())
        says = f"{_count(len(positions), 'conversion')} between single and double precision"
        says += f", {_count(arithmetic, 'instruction')} of double arithmetic" if arithmetic else ""
        yield _fact(code, "double-in-float-code", says, positions)


def _apart(rule: str, asked: Class, noun: str) -> Callable[[Code], Iterator[CodeFact]]:
    """Global accesses whose lanes are known to lie a sector or more apart: each touches one of its own."""

    def look(code: Code) -> Iterator[CodeFact]:
        strides = {
            at: abs(stride)
            for at, each in enumerate(code.instructions)
            if asked(each) and (stride := lane_stride(code, at)) and abs(stride) >= _SECTOR
        }
        if strides:
            least, most = min(strides.values()), max(strides.values())
            apart = f"{most:,}" if least == most else f"{least:,} to {most:,}"
            says = f"{_count(len(strides), noun)} by neighbouring threads that are {apart} bytes apart"
            yield _fact(code, rule, says, tuple(strides))

    return look


def _bank_conflicts(code: Code) -> Iterator[CodeFact]:
    """Accesses to shared memory that no thread index guards, at a known stride from lane to lane."""
    ways = {
        at: bank_conflict(stride, each.memory.bytes)
        for at, each in enumerate(code.instructions)
        if each.base_opcode in {"LDS", "STS"} and each.memory
        if (stride := lane_stride(code, at)) and by_whole_warps(code, at)
    }
    conflicts = tuple(at for at, count in ways.items() if count > 1)
    if conflicts:
        says = f"{_count(len(conflicts), 'access')} to shared memory with up to {max(ways.values())}-way bank conflicts"
        yield _fact(code, "shared-bank-conflict", says + " in blocks 32 threads wide", conflicts)


def _exchange(code: Code) -> Iterator[CodeFact]:
    updates = shared_sums.shared_updates(code)
    if updates.any() and not instruction_mix.shuffles(code).any():
        positions = tuple(np.flatnonzero(updates).tolist())
        says = f"{_count(len(positions), 'update')} of sums in shared memory, and no exchange between lanes"
        yield _fact(code, "shared-memory-exchange", says, positions)


_LOOKS: tuple[Callable[[Code], Iterator[CodeFact]], ...] = (
    _spills,
    _counted(
        "local-array",
        spills.local_array_accesses,
        "access",
        "{n} to arrays in local memory whose index the compiler does not know",
    ),
    _double_in_float,
    _counted(
        "integer-division",
        division.division_leaves,
        "integer division",
        "{n} by a number known at run time",
        each=2.0,
    ),
    _saving(
        "precise-function",
        precise_math.precise_instructions,
        "precise functions of single precision: {n} more than their fast forms take",
    ),
    _saving("power-function", power_instructions, "powers that products or roots give: {n} more than those take"),
    _split,
    _few_bytes,
    _counted("reload-after-store", reloads, "load", "{n} from an address that stays the same, beside stores"),
    _counted("uniform-global-load", uniform_loads, "load", "{n} from an address that is the same for all threads"),
    _counted("array-of-structures", structure_loads, "load", "{n} of one field of larger elements"),
    _counted("gathered-fields", gathered_again, "load", "{n} through an index that served a load before"),
    _counted("narrow-global-access", instruction_mix.tiny_loads, "load", "{n} of one or two bytes per thread"),
    _counted(
        "scattered-image-load",
        float_coordinates,
        "load",
        "{n} at coordinates that were computed as floats",
    ),
    _counted(
        "divergent-constant-access",
        instruction_mix.indexed_constants,
        "load",
        "{n} of constant memory at an index of each lane's own",
    ),
    _counted(
        "short-integer-masks",
        instruction_mix.masks_to_24_bits,
        "mask",
        "{n} of the low 24 bits, as __mul24 has them",
    ),
    _counted("swap-loop", compare_and_swap.swap_loops, "compare-and-swap", "{n} repeated until nobody came between"),
    _exchange,
    _apart("uncoalesced-global-load", is_global_load, "load"),
    _apart("uncoalesced-global-store", is_global_store, "store"),
    _bank_conflicts,
)
