"""Classify the loops of a ``Code``: those with independent iterations, and serial chains.

``independent_iterations`` marks the instructions of loops whose iterations could be executed in any order, or by other
threads; ``serial_iterations`` those of the remaining loops, such as recurrences, scans, wavefronts and pointer chains.

An iteration may get three things from the one before without depending on its order: an index, to which each iteration
adds the same; a sum, a product, a minimum or a maximum that nothing else in the loop reads; and memory that it writes
at an address from which it read before. Everything else that it gets makes the loop a chain.
"""

from __future__ import annotations

from collections.abc import Iterable

from ncuview.sass.address import address_registers
from ncuview.sass.cfg import Loop, cycles, loops
from ncuview.sass.code import Code, Weights, analysis, weights_at
from ncuview.sass.dataflow import def_use, use_def
from ncuview.sass.global_loads import pointer_arguments
from ncuview.sass.instruction import Instruction, register
from ncuview.sass.slices import is_invariant

_COPIES = frozenset({"MOV", "UMOV", "R2UR"})
_INDEX_STEPS = frozenset({"IADD3", "UIADD3", "IADD", "UIADD", "VIADD", "LEA", "ULEA", "IMAD", "UIMAD"}) | _COPIES
_ANY_ORDER = (
    _INDEX_STEPS
    | frozenset({"FADD", "FADD2", "FMUL", "FMUL2", "DADD", "DMUL", "HADD2", "HMUL2", "FMNMX", "IMNMX", "UIMNMX"})
    | frozenset({"VIMNMX", "VIMNMX3", "FMNMX3", "DMNMX", "HMNMX2", "LOP3", "ULOP3", "LOP", "IDP", "IDP4A"})
    | frozenset({"SEL", "USEL", "FSEL", "FSETP", "ISETP", "UISETP", "DSETP", "HSETP2", "PLOP3", "UPLOP3", "VIADDMNMX"})
)
"""Opcodes that combine numbers in a way whose result does not depend on their order, rounding aside; comparisons and
selections are those of minima, maxima and their places."""
_ADDS_PRODUCT = frozenset({"FFMA", "FFMA2", "DFMA", "HFMA2", "IMAD", "UIMAD", "HMMA", "IMMA", "DMMA", "BMMA", "QGMMA"})
"""The same where what is carried is the last operand, the sum; as a factor it makes the loop a recurrence."""
_CARRYING = frozenset({"shared", "global", "generic"})
"""The memory by which iterations may pass on results; words of local memory are carried like registers."""


@analysis
def independent_iterations(code: Code) -> Weights:
    """1 at each instruction of a loop whose iterations do not depend on one another."""
    found = [loop.body for loop in loops(code) if _is_independent(code, loop)]
    return weights_at(code, frozenset().union(*found))


@analysis
def serial_iterations(code: Code) -> Weights:
    """1 at each instruction in loops of which none has independent iterations."""
    looped = frozenset[int]().union(*(loop.body for loop in loops(code)))
    return weights_at(code, looped) * (1 - independent_iterations(code))


def _is_independent(code: Code, loop: Loop) -> bool:
    return loop.reducible and _registers_allow(code, loop) and _memory_allows(code, loop)


def _registers_allow(code: Code, loop: Loop) -> bool:
    """Whether all that registers carry from iteration to iteration is an index or a sum that nothing else reads."""
    for cycle in cycles(_users_in(code, loop), loop.body):
        if not _is_carried(code, loop, cycle) or _is_index(code, loop, cycle):
            continue
        if not all(_in_any_order(code, cycle, at) for at in cycle) or _is_read(code, loop, cycle):
            return False
    return True


@analysis
def _users(code: Code) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple({at for users in each.values() for at in users}) for each in def_use(code))


def _users_in(code: Code, loop: Loop) -> tuple[tuple[int, ...], ...]:
    return tuple(users if at in loop.body else () for at, users in enumerate(_users(code)))


def _is_carried(code: Code, loop: Loop, cycle: frozenset[int]) -> bool:
    """Whether a cycle of definitions starts with a value from before the loop; else an inner loop carries it."""
    return any(
        not cycle.isdisjoint(definitions) and not loop.body.issuperset(definitions)
        for at in cycle
        for definitions in use_def(code)[at].values()
    )


def _is_index(code: Code, loop: Loop, cycle: frozenset[int]) -> bool:
    """Whether each iteration adds the same to it."""
    return all(
        code.instructions[at].base_opcode in _INDEX_STEPS
        and _in_any_order(code, cycle, at)
        and all(
            not cycle.isdisjoint(definitions)
            or _is_carry(code, name, definitions)
            or is_invariant(code, loop, at, name)
            for name, definitions in use_def(code)[at].items()
        )
        for at in cycle
    )


def _is_carry(code: Code, name: str, definitions: Iterable[int]) -> bool:
    """Whether a predicate is the carry from the low half of a 64-bit index to its high half."""
    return name.startswith(("P", "UP")) and all(code.instructions[at].base_opcode in _INDEX_STEPS for at in definitions)


def _in_any_order(code: Code, cycle: frozenset[int], at: int) -> bool:
    each = code.instructions[at]
    if each.base_opcode in _ADDS_PRODUCT:
        carried = {name for name, definitions in use_def(code)[at].items() if not cycle.isdisjoint(definitions)}
        return carried.isdisjoint(map(register, each.operands[1:-1]))
    return each.base_opcode in _ANY_ORDER


def _is_read(code: Code, loop: Loop, cycle: frozenset[int]) -> bool:
    """Whether memory accesses or decisions of the loop depend on an intermediate value, as in a scan."""
    reached = _reached(code, loop, cycle)
    return any(code.instructions[at].memory or code.instructions[at].base_opcode in {"BRA", "SHFL"} for at in reached)


def _reached(code: Code, loop: Loop, start: Iterable[int]) -> frozenset[int]:
    found, waiting = set(start), list(start)
    while waiting:
        new = {at for at in _users(code)[waiting.pop()] if at in loop.body} - found
        found |= new
        waiting.extend(new)
    return frozenset(found)


def _memory_allows(code: Code, loop: Loop) -> bool:
    """Whether no iteration loads what an earlier one stored: stored values come from no other place of that memory."""
    found = {
        kind: [at for at in sorted(loop.body) if _is_access(code.instructions[at], kind)] for kind in ("load", "store")
    }
    return not any(
        store in reached and _may_meet(code, load, store)
        for load in found["load"]
        if found["store"]
        for reached in [_reached(code, loop, [load])]
        for store in found["store"]
    )


def _is_access(each: Instruction, kind: str) -> bool:
    return each.memory is not None and each.memory.access == kind and each.memory.space in _CARRYING


def _may_meet(code: Code, load: int, store: int) -> bool:
    """Whether a load may read what a store of another iteration has written."""
    if _same_place(code, load, store):
        return False
    spaces = {memory.space for at in (load, store) if (memory := code.instructions[at].memory)}
    if spaces == {"global"}:
        arguments = pointer_arguments(code)
        return not arguments[load] or not arguments[store] or not arguments[load].isdisjoint(arguments[store])
    return len(spaces) == 1 or "generic" in spaces


def _same_place(code: Code, load: int, store: int) -> bool:
    """Whether both use the same address, computed by the same instructions."""
    one, other = code.instructions[load], code.instructions[store]
    names = address_registers(one)
    return (
        names == address_registers(other)
        and {one.memory and one.memory.offset} == {other.memory and other.memory.offset}
        and all(use_def(code)[load][name] == use_def(code)[store][name] for name in names)
    )
