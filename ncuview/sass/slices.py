"""Compute backward slices over use-def chains of a ``Code``: what an instruction or a memory address comes from.

``backward_slice`` and ``address_slice`` return them; ``waits_for`` the loads that an instruction may wait for.
"""

from __future__ import annotations

from collections.abc import Mapping

from ncuview.sass.code import Code, analysis
from ncuview.sass.control_dependence import decided_by
from ncuview.sass.dataflow import LOCAL, Chains, last_touches, use_def
from ncuview.sass.instruction import Instruction
from ncuview.sass.loads import loaded_from


def backward_slice(code: Code, position: int, *, control: bool = False) -> frozenset[int]:
    """The instructions that an instruction's operands and guard come from, itself included.

    Args:
        code: The kernel's code.
        position: The instruction.
        control: Whether to include the branches that decide whether these are executed, and their slices.
    """
    found, waiting = {position}, [position]
    while waiting:
        at = waiting.pop()
        sources = {definition for definitions in use_def(code)[at].values() for definition in definitions}
        if control:
            sources.update(decided_by(code, at))
        waiting.extend(sources - found)
        found |= sources
    return frozenset(found)


@analysis
def address_slice(code: Code) -> Chains:
    """The definitions that addresses come from: those of ``use_def`` for the memory accesses and their slices.

    Predicates are left out, since they choose values but are not part of them. Elements of arrays in local memory at
    unknown offsets are left out too: most of what was stored there is not what is loaded.
    """
    linked: list[Mapping[str, tuple[int, ...]]] = [{}] * len(code)
    waiting: list[int] = []
    for position, each in enumerate(code.instructions):
        if each.memory:
            address = {*each.memory.base, *each.memory.uniform}
            linked[position] = {name: at for name, at in use_def(code)[position].items() if name in address}
            waiting.extend(at for definitions in linked[position].values() for at in definitions)
    found = set[int]()
    while waiting:
        if (at := waiting.pop()) not in found:
            found.add(at)
            uses = use_def(code)[at]
            left_out = ("P", "UP") if _is_fixed(code.instructions[at]) else ("P", "UP", LOCAL)
            linked[at] = {
                name: before for name, before in uses.items() if name != LOCAL and not name.startswith(left_out)
            }
            waiting.extend(definition for definitions in linked[at].values() for definition in definitions)
    return tuple(linked)


def _is_fixed(each: Instruction) -> bool:
    """Whether an instruction accesses the stack at a known place, as spilled registers are."""
    return each.memory is not None and each.memory.base == ("R1",)


def waits_for(code: Code, position: int) -> tuple[int, ...]:
    """The loads that an instruction may have to wait for, in order.

    These are the loads whose result it uses or overwrites, where no instruction in between does so and has already
    waited.
    """
    return tuple(
        sorted(
            {
                at
                for name, touched in last_touches(code)[position].items()
                for at in touched
                if loaded_from(code.instructions[at]) and name in code.instructions[at].definitions
            }
        )
    )
