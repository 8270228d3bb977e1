"""Slices: the instructions that a value comes from, and the loads that an instruction waits for."""

from __future__ import annotations

from ncuview.sass.code import Code
from ncuview.sass.control_dependence import decided_by
from ncuview.sass.dataflow import last_touches, use_def
from ncuview.sass.loads import loaded_from


def backward_slice(code: Code, position: int, *, control: bool = False) -> frozenset[int]:
    """The instructions that an instruction's operands and guard come from, itself too.

    Args:
        code: The kernel's code.
        position: The instruction.
        control: Whether to include the branches that decide whether these are executed, and what they come from.
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


def waits_for(code: Code, position: int) -> tuple[int, ...]:
    """The loads that an instruction may have to wait for, in order.

    Those are the loads whose result it uses, or overwrites, where no instruction in between does so: that one would
    have waited already.
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
