"""Where neighbouring lanes load what lies side by side, and a thread what its neighbours load too.

Of each register machine code tells by how much its value grows from one lane to the next, as long as it comes from the
thread's index by additions and multiplications by known numbers. A thread that walks on by the size of one element, as
its neighbour lies one element further, has a window that overlaps with the neighbour's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ncuview.sass.listing import PREDICATE, Code, Instruction, Weights
from ncuview.sass.splits import consecutive_accesses

OPERAND_LOAD = re.compile(PREDICATE + r"(?:LDS|LDG|LD)\b")
"""From shared and from global memory."""
Stride = int | None
"""How much more the next lane has; None where it is not known."""

_LEAST_RUN = 6
"""Loads side by side that are a window; stencils of three or five points are left to L1."""
_REGISTER_BITS = 32
_REGISTER_LIMIT = 1 << _REGISTER_BITS
_WIDEST = 8
"""Bytes of an element; whole quads are loaded by kernels that share them already."""
_REGISTER = re.compile(r"(?P<minus>-?)(?P<name>U?R(?:\d+|Z))(?:\.64)?(?:\.reuse)?$")
_INTEGER = r"-?(?:0x[0-9a-f]{1,16}|0|[1-9]\d{0,18})"
_NUMBER = re.compile(rf"{_INTEGER}$")
_SAME_FOR_ALL = re.compile(r"-?c\[")
_PREDICATE = re.compile(r"!?U?P(?:T|\d+)$")
_LANE_INDEX = ("SR_TID.X", "SR_LANEID")
_BRINGS = ("LDG", "LDS", "LDL", "LD.", "ATOM", "SHFL", "TEX", "TLD", "SULD")


def window_loads(code: Code) -> Weights:
    """1 at each load of one in a row of elements that the next lane loads as well, one place later."""
    weights = np.zeros(len(code.texts))
    strides = _strides_of_loads(code)
    for run, size in consecutive_accesses(code, OPERAND_LOAD):
        if size > _WIDEST or strides[run[0]] != size:
            continue
        if len(run) >= _LEAST_RUN or _moves_on(code, run[0], len(run) * size):
            weights[run] = 1
    return weights


def _strides_of_loads(code: Code) -> dict[int, Stride]:
    """For the position of each load, how far its lanes are apart."""
    found: dict[int, Stride] = {}
    strides: dict[str, Stride] = {}
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        if OPERAND_LOAD.match(text):
            found[position] = strides.get(_address(code, position))
        _follow(text, each, strides)
    return found


def _address(code: Code, position: int) -> str:
    """The register of a load's address, the lower one of two; empty where there is none."""
    return min(code.address_of(position), key=_place, default="")


def _place(register: str) -> int:
    return int(register.lstrip("UR"))


def _moves_on(code: Code, load: int, by: int) -> bool:
    """Whether each turn of the loop around a load goes on where the last one ended."""
    loop, register = code.innermost_loop(load), _address(code, load)
    if loop is None:
        return False
    step = re.compile(rf"(?:P\d, )?{register}, (?:P\d, )?{register}, (?P<by>{_INTEGER})(?:,|$)")
    moved = 0
    for position in loop:
        each = code.instructions[position]
        if register in each.writes:
            found = step.match(each.operands) if each.opcode in {"IADD3", "VIADD"} else None
            if found is None:
                return False
            moved += int(found["by"], 0)
    return abs(moved) == by


def _follow(text: str, each: Instruction, strides: dict[str, Stride]) -> None:
    """Note what an instruction's results grow by from lane to lane."""
    if not each.writes:
        return
    stride = _result(each, strides)
    low, *high = sorted(each.writes, key=_place)
    for register, found in ((low, stride), *((register, 0 if stride == 0 else None) for register in high)):
        kept = not text.startswith("@") or strides.get(register, found) == found
        strides[register] = found if kept else None


def _result(each: Instruction, strides: dict[str, Stride]) -> Stride:
    stride = _known_result(each, strides)
    return stride if stride is not None and abs(stride) < _REGISTER_LIMIT else None


def _known_result(each: Instruction, strides: dict[str, Stride]) -> Stride:
    opcode = each.opcode
    _, *sources = (part for part in map(str.strip, each.operands.split(",")) if not _PREDICATE.match(part))
    if opcode.startswith("S2R"):
        return int(any(name in each.operands for name in _LANE_INDEX))
    if opcode.startswith(_BRINGS):
        return None
    match opcode, sources:
        case ("MOV", [source]) | (("IMAD.MOV" | "IMAD.MOV.U32"), [_, _, source]):
            return _stride(source, strides)
        case (("IADD3" | "VIADD"), _):
            return _sum(_stride(source, strides) for source in sources)
        case "IMAD.IADD", [one, _, other]:
            return _sum(_stride(source, strides) for source in (one, other))
        case (("IMAD" | "IMAD.WIDE" | "IMAD.WIDE.U32" | "IMAD.U32" | "IMAD.SHL.U32"), [one, other, added]):
            return _sum([_product(one, other, strides), _stride(added, strides)])
        case "LEA", [one, added, shift] if factor := _power_of_two(shift):
            return _sum([_product(one, factor, strides), _stride(added, strides)])
        case "SHF.L.U32", [one, shift, _] if factor := _power_of_two(shift):
            return _product(one, factor, strides)
    same = all(strides.get(register) == 0 for register in each.reads if not register.startswith("U"))
    return 0 if same else None


def _power_of_two(shift: str) -> str:
    """What a shift by so much multiplies by, as an operand; empty where it is no shift of a register."""
    by = _number(shift)
    return str(1 << by) if by is not None and 0 <= by < _REGISTER_BITS else ""


def _stride(operand: str, strides: dict[str, Stride]) -> Stride:
    if register := _REGISTER.match(operand):
        name = register["name"]
        if name == "RZ" or name.startswith("U"):
            return 0
        stride = strides.get(name)
        return -stride if stride is not None and register["minus"] else stride
    return 0 if _NUMBER.match(operand) or _SAME_FOR_ALL.match(operand) else None


def _number(operand: str) -> int | None:
    return int(operand, 0) if _NUMBER.match(operand) else None


def _sum(strides: Sequence[Stride] | Iterator[Stride]) -> Stride:
    total = 0
    for stride in strides:
        if stride is None:
            return None
        total += stride
    return total


def _product(one: str, other: str, strides: dict[str, Stride]) -> Stride:
    first, second = _stride(one, strides), _stride(other, strides)
    if first == second == 0:
        return 0
    for stride, other_stride, factor in ((first, second, _number(other)), (second, first, _number(one))):
        if stride is not None and other_stride == 0 and factor is not None:
            return stride * factor
    return None
