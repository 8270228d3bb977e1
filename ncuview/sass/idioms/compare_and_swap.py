"""``swap_loops``: weights of a ``Code``, 1 at each global compare-and-swap that a loop repeats until it succeeds.

It looks for ATOMG.E.CAS or ATOM.E.CAS and a jump back, as nvcc 12 and 13 write it for all GPUs from Volta on.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import or_

from ncuview.sass.cfg import innermost_loop
from ncuview.sass.code import Code, analysis
from ncuview.sass.columns import Weights, positions_of, weights_at
from ncuview.sass.dataflow import propagate
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import is_global_atomic
from ncuview.sass.operands import register


@analysis
def swap_loops(code: Code) -> Weights:
    """1 at each compare-and-swap in global memory that a loop repeats until it succeeds, as for an addition.

    The stored value is computed from the old one. A swap of a fixed value, as when a table of keys is filled, does not
    count.
    """
    repeated = [position for position in positions_of(code, _is_swap) if innermost_loop(code, position) is not None]
    if not repeated:
        return weights_at(code, [])
    bit = {position: 1 << number for number, position in enumerate(repeated)}

    def found_by(position: int, operands: Mapping[str, int]) -> int:
        """The swaps whose result an instruction's result is computed from; predicates only choose between values."""
        found = bit.get(position, 0)
        for name, swaps in operands.items():
            found |= 0 if "P" in name else swaps
        return found

    operands = propagate(code, found_by, join=or_, least=0).operands
    stored = {position: register(code.instructions[position].operands[-1]) for position in repeated}
    return weights_at(code, [at for at in repeated if operands[at].get(stored[at], 0) & bit[at]])


def _is_swap(each: Instruction) -> bool:
    return is_global_atomic(each) and "CAS" in each.opcode.split(".")
