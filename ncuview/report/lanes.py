"""Where neighbouring lanes load what lies side by side, and a thread what its neighbours load too.

Of each register machine code tells by how much its value grows from one lane to the next, as long as it comes from the
thread's index by additions and multiplications by known numbers. A thread that walks on by the size of one element, as
its neighbour lies one element further, has a window that overlaps with the neighbour's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ncuview.report.sass import PREDICATE, Code, Instruction, Weights, access_bytes

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
_ADDRESS = re.compile(r"\[(R\d+)(?:\.64)?(?:\+UR\d+)?(?:\+(-?0x[0-9a-f]+))?\]")
_REGISTER = re.compile(r"(?P<minus>-?)(?P<name>U?R(?:\d+|Z))(?:\.64)?(?:\.reuse)?$")
_INTEGER = r"-?(?:0x[0-9a-f]{1,16}|0|[1-9]\d{0,18})"
_NUMBER = re.compile(rf"{_INTEGER}$")
_SAME_FOR_ALL = re.compile(r"-?c\[")
_PREDICATE = re.compile(r"!?U?P(?:T|\d+)$")
_LANE_INDEX = ("SR_TID.X", "SR_LANEID")
_BRINGS = ("LDG", "LDS", "LDL", "LD.", "ATOM", "SHFL", "TEX", "TLD", "SULD")


class _Access(NamedTuple):
    """A load whose lanes lie side by side."""

    position: int
    register: str
    offset: int
    size: int
    """Bytes of an element."""


def window_loads(code: Code) -> Weights:
    """1 at each load of one in a row of elements that the next lane loads as well, one place later."""
    weights = np.zeros(len(code.texts))
    for accesses in _side_by_side(code):
        size = accesses[0].size
        run = _longest_run({each.offset for each in accesses}, size)
        if run >= _LEAST_RUN or _moves_on(code, accesses[0], run * size):
            weights[[each.position for each in accesses]] = 1
    return weights


def _side_by_side(code: Code) -> Iterator[Sequence[_Access]]:
    """Loads through one value of a register, whose lanes are as far apart as an element is large."""
    found: dict[tuple[str, int, str], list[_Access]] = defaultdict(list)
    values: dict[str, int] = defaultdict(int)
    strides: dict[str, Stride] = {}
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        address = _ADDRESS.search(each.operands) if OPERAND_LOAD.match(text) else None
        size = access_bytes(each.opcode)
        if address and size <= _WIDEST and strides.get(address[1]) == size:
            access = _Access(position, address[1], int(address[2] or "0", 16), size)
            found[address[1], values[address[1]], each.opcode].append(access)
        _follow(text, each, strides)
        for register in each.writes:
            values[register] += 1
    yield from found.values()


def _longest_run(offsets: set[int], size: int) -> int:
    """How many of these places lie side by side."""
    runs = [0]
    for start in offsets - {offset + size for offset in offsets}:
        length = 1
        while start + length * size in offsets:
            length += 1
        runs.append(length)
    return max(runs)


def _moves_on(code: Code, access: _Access, by: int) -> bool:
    """Whether each turn of the loop around a load goes on where the last one ended."""
    loop = code.innermost_loop(access.position)
    if loop is None:
        return False
    register = re.escape(access.register)
    step = re.compile(rf"(?:P\d, )?{register}, (?:P\d, )?{register}, (?P<by>{_INTEGER})(?:,|$)")
    moved = 0
    for position in loop:
        each = code.instructions[position]
        if access.register in each.writes:
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
    low, *high = sorted(each.writes, key=lambda register: int(register.lstrip("UR")))
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
