"""Find the instructions that a stalled instruction waits for: ``producers`` -> their positions, by the stall reason.

``REASONS`` are the stall reasons that have producers; ``scoreboards`` decodes the control codes of an instruction.

An instruction of variable latency sets a scoreboard, for its result (write) or for its operands (read), and those that
need one or the other wait for it: the control codes of the machine code hold both. ncu's listing has no control codes;
without them, all results of variable latency that reach the stalled instruction count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ncuview.sass import isa
from ncuview.sass.cfg import control_flow
from ncuview.sass.code import Code, Weights, analysis, of_class
from ncuview.sass.dataflow import Chains, Effect, chains, effects, last_touches, use_def
from ncuview.sass.instruction import Guard, Instruction
from ncuview.sass.opcode_classes import Class, is_barrier

_SCOREBOARDS = 6
_NONE = 7
"""The number that names no scoreboard."""
_WRITE_AT, _READ_AT, _WAITS_AT = 5, 8, 11
"""Where the fields begin in the control codes: after stall cycles and yield, before the marks of reused operands."""
_L1TEX = frozenset({"global", "generic", "local", "texture", "surface"})
_OF_THE_QUEUE = frozenset({"lsu", "xu", "adu"})
"""Pipes whose instructions go through the queue for shared memory and special functions (MIO)."""
_VARIABLE_UNIFORM = frozenset({"S2UR", "R2UR", "REDUX", "CREDUX"})


class Scoreboards(NamedTuple):
    """The scoreboards that an instruction sets, and waits for before it is issued; each is 0 to 5."""

    write: int | None
    """It is released when the result is there."""
    read: int | None
    """It is released when the operands were read."""
    waits: tuple[int, ...]


def scoreboards(control: int) -> Scoreboards:
    """Decode control codes: the 21 bits from bit 105 on of an instruction of 128 bits, from Volta to Blackwell."""
    write, read = control >> _WRITE_AT & _NONE, control >> _READ_AT & _NONE
    waits = tuple(each for each in range(_SCOREBOARDS) if control >> _WAITS_AT + each & 1)
    return Scoreboards(None if write == _NONE else write, None if read == _NONE else read, waits)


def _sets(control: int, scoreboard: str) -> bool:
    each = scoreboards(control)
    return scoreboard in {f"SB{each.write}", f"SB{each.read}"}


def is_l1tex(each: Instruction) -> bool:
    """An access to global, local, texture or surface memory, whose result a long scoreboard waits for."""
    return isa.operation(each.opcode).space in _L1TEX


def is_short(each: Instruction) -> bool:
    """Another instruction of variable latency: shared memory, constants, special functions, exchanges of lanes."""
    if is_l1tex(each) or is_barrier(each):
        return False
    return (
        isa.operation(each.opcode).pipe in _OF_THE_QUEUE
        or each.base_opcode in _VARIABLE_UNIFORM
        or (_is_constant(each) and each.base_opcode != "ULDC")
    )


def _of_lsu(each: Instruction) -> bool:
    return is_l1tex(each) and isa.operation(each.opcode).pipe == "lsu"


def _of_tex(each: Instruction) -> bool:
    return isa.operation(each.opcode).pipe == "tex"


def _is_store(each: Instruction) -> bool:
    return isa.operation(each.opcode).access in {"store", "reduction", "atomic"}


def _is_copy(each: Instruction) -> bool:
    return each.base_opcode == "LDGSTS"


def _is_constant(each: Instruction) -> bool:
    return isa.operation(each.opcode).space == "constant"


_AWAITED: Mapping[str, Class] = {"long_scoreboard": is_l1tex, "short_scoreboard": is_short}
"""Reason -> the instructions whose result or operands it waits for."""
_COPIES = "copies"
"""What DEPBAR waits for: copies from global to shared memory."""
_BEFORE: Mapping[str, Class] = {
    "barrier": is_barrier,
    "drain": _is_store,
    "lg_throttle": _of_lsu,
    "mio_throttle": is_short,
    "tex_throttle": _of_tex,
    _COPIES: _is_copy,
}
"""Reason -> the instructions of which the last one before is waited for: a barrier, a store, what fills a queue."""
_ITSELF: Mapping[str, Class] = {"imc_miss": _is_constant}
REASONS = (*_AWAITED, *(reason for reason in _BEFORE if reason != _COPIES), *_ITSELF)
"""The stall reasons that have producers."""


@analysis
def producers(code: Code, position: int, reason: str) -> tuple[int, ...]:
    """The instructions that a stalled instruction waits for, in order; several where more than one path leads to it.

    Of the results of one block that it waits for, the latest issued stands for all: results of one kind arrive in
    order.

    Args:
        code: The kernel's code.
        position: The stalled instruction.
        reason: One of ``REASONS``.
    """
    if reason in _ITSELF:
        return (position,) if _ITSELF[reason](code.instructions[position]) else ()
    if reason in _BEFORE:
        return _last_of(code, position, reason)
    if code.instructions[position].base_opcode == "DEPBAR":
        return _last_before(code, _COPIES)[position].get(_COPIES, ())
    return _latest(code, _awaited(code, position, _AWAITED[reason]), position)


def awaited_samples(code: Code, reason: str, samples: Weights, executions: Weights) -> Weights:
    """The samples of a stall reason at the instructions that are waited for; what has no producer is left out.

    Several producers of one instruction share its samples by how often they were executed.
    """
    found = np.zeros(len(code))
    for position in np.flatnonzero(samples > 0).tolist():
        awaited = list(producers(code, position, reason))
        if len(awaited) == 1:
            found[awaited[0]] += samples[position]
        elif awaited:
            times = np.maximum(executions[awaited], 1.0)
            found[awaited] += samples[position] * times / times.sum()
    return found


def _last_of(code: Code, position: int, reason: str) -> tuple[int, ...]:
    """The last instructions of the reason's class before one; itself where other warps have filled its queue."""
    issued = _issued(code, position)
    before = _last_before(code, reason)[issued].get(reason, ())
    return before or ((issued,) if _BEFORE[reason](code.instructions[issued]) else ())


def _issued(code: Code, position: int) -> int:
    """The position, or that of an EXIT before it: samples of a warp that ends are of the address after its EXIT."""
    ended = position > 0 and code.instructions[position - 1].base_opcode == "EXIT"
    return position - 1 if ended else position


@analysis
def _last_before(code: Code, reason: str) -> Chains:
    """For each instruction the last ones before it of what a reason waits for, one on each path."""
    marked = of_class(code, _BEFORE[reason]).tolist()
    return chains(code, [Effect((reason,), (reason,) if each else ()) for each in marked])


def _awaited(code: Code, position: int, asked: Class) -> frozenset[int]:
    """Of the pending instructions of a class those whose results it needs, or else those that it must not overtake.

    Where its registers depend on none of the pending ones, all of them count.
    """
    needed, overwritten = (_among(code, asked, each) for each in _depends_on(code, position))
    if not code.controls:
        return needed or overwritten or _among(code, asked, _sources(code, position, asked))
    pending = _among(code, asked, (at for setters in _pending(code)[position].values() for at in setters))
    if not pending:
        return needed or overwritten
    # A result without a scoreboard of its own arrives before a later one of the same queue, which is waited for.
    covered = frozenset(at for at in needed if scoreboards(code.controls[at]).write is None)
    return needed & pending or covered or overwritten & pending or pending


def _among(code: Code, asked: Class, positions: Iterable[int]) -> frozenset[int]:
    return frozenset(at for at in positions if asked(code.instructions[at]))


def _depends_on(code: Code, position: int) -> tuple[list[int], list[int]]:
    """The last instructions that define what an instruction uses, and the last to touch what it overwrites."""
    found, own = effects(code), effects(code)[position]
    touched = [(name, at) for name, last in last_touches(code)[position].items() for at in last]
    needed = [at for name, at in touched if name in own.uses and name in found[at].defines]
    return needed, [at for name, at in touched if name in own.defines]


def _sources(code: Code, position: int, asked: Class) -> Iterator[int]:
    """The nearest instructions of a class in the backward slice of an instruction."""
    seen, waiting = {position}, [position]
    while waiting:
        sources = {at for definitions in use_def(code)[waiting.pop()].values() for at in definitions} - seen
        seen |= sources
        for at in sources:
            if asked(code.instructions[at]):
                yield at
            else:
                waiting.append(at)


@analysis
def _pending(code: Code) -> Chains:
    """For each instruction and scoreboard that it waits for those that set it since the last wait."""
    found = []
    for each in map(scoreboards, code.controls):
        waits = {f"SB{number}" for number in each.waits}
        sets = {f"SB{number}" for number in (each.write, each.read) if number is not None}
        found.append(Effect(tuple(sorted(waits)), tuple(sorted(sets | waits)), keeps=frozenset(sets - waits)))
    return tuple(
        {name: tuple(at for at in setters if _sets(code.controls[at], name)) for name, setters in of_one.items()}
        for of_one in chains(code, found)
    )


def _latest(code: Code, awaited: frozenset[int], position: int) -> tuple[int, ...]:
    """Of the instructions of one block, without guards or under the same one, the last before the stalled one."""
    block_of, found = control_flow(code).block_of, dict[tuple[int, Guard | None], int]()
    in_order = sorted(awaited, key=lambda at: (block_of[at] != block_of[position] or at < position, at))
    for at in in_order:
        found[block_of[at], code.instructions[at].guard] = at
    return tuple(sorted(found.values()))
