"""Compute the registers of memory addresses as affine forms in thread and block indices: ``affine_addresses(code)``.

An ``Affine`` holds a stride per index, the indices of unknown effect, and a constant; ``add`` and ``multiply`` combine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from ncuview.sass.code import Code, analysis
from ncuview.sass.dataflow import Parts, propagate
from ncuview.sass.index_dependence import (
    ANYTHING,
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    OTHER_THREADS,
    TID_X,
    TID_Y,
    TID_Z,
    index_dependence,
)
from ncuview.sass.instruction import Instruction
from ncuview.sass.slices import address_slice

_OF_INDICES = TID_X | TID_Y | TID_Z | CTAID_X | CTAID_Y | CTAID_Z
_REGISTER_BITS = 32
_REGISTER = re.compile(r"(?P<minus>-?)(?P<name>U?R(?:\d+|Z))(?:\.64)?$")
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]{1,16}|0|[1-9]\d{0,18})$")
_PREDICATE = re.compile(r"!?U?P(?:T|\d+)$")
_NOT_LINEAR = re.compile(r"\.(?:X|HI|R|W|U64|S64)(?:\.|$)")
"""Sums with a carry, upper halves, shifts to the right, rotations, and shifts of pairs."""
_COPIES = ("MOV", "S2R", "S2UR", "CS2R")
_SUMS = ("IADD3", "IADD", "VIADD")
_LINEAR = {f"{prefix}{opcode}" for prefix in ("", "U") for opcode in (*_COPIES, *_SUMS, "IMAD", "LEA", "SHF", "SHL")}


class Affine(NamedTuple):
    """A value as a sum of multiples of the indices of threads and blocks, and a constant.

    Attributes:
        strides: By how much the value grows per step of an index, for each index (a bit of ``index_dependence``) that
            it is known to grow with.
        unknown: The set of indices that it depends on in an unknown way.
        constant: The rest: None where it is not known.
    """

    strides: Mapping[int, int]
    unknown: int
    constant: int | None

    def stride(self, index: int) -> int | None:
        """How much the value grows per step of an index; None where that is not known."""
        return None if self.unknown & (index | OTHER_THREADS) else self.strides.get(index, 0)


@analysis
def affine_addresses(code: Code) -> Sequence[Mapping[str, Affine | None]]:
    """For each memory access the form of each register of its address; None where it comes from an undefined one.

    Of wide results the lower half has a form; the upper half depends on the same indices in an unknown way. Sums and
    products are assumed not to overflow a register. Where paths meet on which a value has the same stride, all lanes
    are assumed to have that stride, whichever path each has taken.
    """
    dependence, sources = index_dependence(code), address_slice(code)

    def transfer(position: int, operands: Mapping[str, Affine | None]) -> Affine | Parts[Affine | None] | None:
        each, indices = code.instructions[position], dependence[position].operands
        other = dependent_on(ANYTHING if each.base_opcode.startswith("ATOM") else indices)
        if each.base_opcode not in _LINEAR:
            return other
        if not all(sources[position].values()):
            operands = {name: operands[name] if at else _undefined(name) for name, at in sources[position].items()}
        if None in operands.values():
            return None
        result, *terms = [operand for operand in each.operands if not _PREDICATE.match(operand)] or [""]
        form = _linear(each, [_value(operand, operands) for operand in terms]) or other
        if len(each.definitions) == 1:
            return form
        return Parts({name: form if name == result.removesuffix(".64") else other for name in each.definitions})

    return propagate(code, transfer, join=_joined, least=None, linked=address_slice).operands


def _undefined(register: str) -> Affine:
    """The form of a register that was not written yet: a uniform register is the same for all lanes."""
    return dependent_on(0 if register.startswith("U") else ANYTHING)


def _linear(each: Instruction, values: Sequence[Affine | None]) -> Affine | None:
    """The form of a sum, product, shift, copy or index; None where it is none of these."""
    if _NOT_LINEAR.search(each.opcode):
        return None
    terms = [value for value in values if value is not None]
    match each.base_opcode.removeprefix("U"), terms:
        case _ if len(terms) < len(values):
            return None
        case opcode, [one] if opcode in _COPIES:
            return one
        case opcode, [_, *_] if opcode in _SUMS:
            return reduce(add, terms)
        case "IMAD", [one, other, added]:
            return add(multiply(one, other), added)
        case "LEA", [one, added, shift] if scaled := _shifted(one, shift):
            return add(scaled, added)
        case (("SHF" | "SHL"), [one, shift, *_]):
            return _shifted(one, shift)
    return None


def _value(operand: str, operands: Mapping[str, Affine | None]) -> Affine | None:
    """The form of one operand; None where it is not an integer."""
    if operand in _INDICES:
        return _INDICES[operand]
    if operand.startswith(("c[", "-c[")):
        return dependent_on(0) if "R" not in operand else None
    if _NUMBER.match(operand):
        return number(int(operand, 0))
    register = _REGISTER.match(operand)
    if not register:
        return None
    form = number(0) if register["name"].endswith("Z") else operands.get(register["name"])
    return multiply(form, number(-1)) if form and register["minus"] else form


def number(value: int) -> Affine:
    """The form of a constant, as the 32 bits of a register in two's complement."""
    return Affine({}, 0, signed(value))


@lru_cache(maxsize=1 << 7)
def dependent_on(indices: int) -> Affine:
    """The form of a value that depends on these indices in an unknown way; without any, it is thread-invariant."""
    return Affine({}, indices, None)


def add(one: Affine, other: Affine) -> Affine:
    """The form of a sum."""
    unknown = one.unknown | other.unknown
    sums = {
        index: one.strides.get(index, 0) + other.strides.get(index, 0) for index in {**one.strides, **other.strides}
    }
    constant = None if one.constant is None or other.constant is None else signed(one.constant + other.constant)
    return Affine(_known(sums, unknown), unknown, constant)


def multiply(one: Affine, other: Affine) -> Affine:
    """The form of a product: affine where a factor is a constant."""
    if not _is_number(one):
        one, other = other, one
    factor = one.constant
    if factor is None or not _is_number(one):
        return dependent_on(reduce(or_, (*one.strides, *other.strides), one.unknown | other.unknown))
    if not factor:
        return number(0)
    if factor == 1:
        return other
    scaled = {index: stride * factor for index, stride in other.strides.items()}
    constant = None if other.constant is None else signed(other.constant * factor)
    return Affine(_known(scaled, other.unknown), other.unknown, constant)


def _shifted(one: Affine, shift: Affine) -> Affine | None:
    by = shift.constant if _is_number(shift) else None
    return multiply(one, number(1 << by)) if by is not None and 0 <= by < _REGISTER_BITS else None


def _joined(one: Affine | None, other: Affine | None) -> Affine | None:
    """The form of a value that is one or the other; None is a value that has not been computed yet."""
    if one is None or other is None or one == other:
        return one or other
    unknown = one.unknown | other.unknown
    for index in one.strides.keys() | other.strides.keys():
        if one.strides.get(index) != other.strides.get(index):
            unknown |= index
    return Affine(_known(one.strides, unknown), unknown, one.constant if one.constant == other.constant else None)


def _known(strides: Mapping[int, int], unknown: int) -> Mapping[int, int]:
    return {
        index: in_range for index, stride in strides.items() if not index & unknown and (in_range := signed(stride))
    }


def signed(value: int) -> int:
    """A number reduced to 32 bits in two's complement."""
    half = 1 << (_REGISTER_BITS - 1)
    return (value + half) % (2 * half) - half


def _is_number(form: Affine) -> bool:
    return form.constant is not None and not form.strides and not form.unknown


_INDICES = {
    "SR_TID.X": Affine({TID_X: 1}, 0, 0),
    "SR_TID.Y": Affine({TID_Y: 1}, 0, 0),
    "SR_TID.Z": Affine({TID_Z: 1}, 0, 0),
    "SR_LANEID": Affine({TID_X: 1}, 0, 0),
    "SR_CTAID.X": Affine({CTAID_X: 1}, 0, 0),
    "SR_CTAID.Y": Affine({CTAID_Y: 1}, 0, 0),
    "SR_CTAID.Z": Affine({CTAID_Z: 1}, 0, 0),
    "SRZ": number(0),
}
"""Special registers; the lane number grows by 1 from lane to lane, as threadIdx.x does."""
