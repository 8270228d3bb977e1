"""Read a kernel's indices and guards as polynomials over threads, blocks, parameters and counters, and prove facts.

``Algebra.polynomial`` takes a tree-sitter node -> ``Polynomial``; ``Algebra.guard`` and ``Algebra.counter`` -> facts.
``impossible``, ``holds``, ``components`` (row and column of a pitch) and ``check_injective`` reason about them by isl.

A fact is a polynomial that is not negative. Integers are taken as unbounded. This is sound for signed ones, whose
overflow is undefined in C++, and for unsigned ones under conditions: expressions that may wrap around below zero, and
casts to less than 32 bits, are refused; that numbers stay below 2^32 and that a parameter that is compared with an
unsigned number is not negative is assumed (``ASSUMED``), and an edit that needs a proof says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, above, bare, child, line_of, meaningful, operator, within
from ncuview.records.profile import Extent

if TYPE_CHECKING:
    from tree_sitter import Node

Monomial = tuple[str, ...]
"""Names in order, each as often as its power; empty for the constant."""

_AXES = re.compile(r"^(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])$")
_UNSIGNED = {
    *("unsigned", "unsigned int", "size_t", "uint32_t", "uint64_t", "unsigned long", "unsigned long long"),
    *("std::size_t", "std::uint32_t", "std::uint64_t", "uint", "dim3"),
}
_SIGNED = {
    *("int", "long", "long long", "int32_t", "int64_t", "ptrdiff_t", "signed", "signed int", "long int"),
    *("std::int32_t", "std::int64_t", "std::ptrdiff_t", "long long int"),
}
ASSUMED = "no index overflows its type, and no size is negative"
"""What the proofs here take for granted, as a clause for ``Change.assumes``."""
_DEEPEST = 40
_LARGEST = 200
"""Terms; an index that a person writes has ten."""
_STEPS = 2_000_000
"""Operations of isl per question; hand-written kernels need some thousand."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of names with integer coefficients, none of them zero."""

    terms: Mapping[Monomial, int]

    @classmethod
    def of(cls, value: int | str) -> Polynomial:
        """A number, or a name."""
        if isinstance(value, str):
            return cls({(value,): 1})
        return cls({(): value} if value else {})

    def __add__(self, other: Polynomial) -> Polynomial:
        """The sum."""
        found = dict(self.terms)
        for monomial, factor in other.terms.items():
            found[monomial] = found.get(monomial, 0) + factor
        return Polynomial({monomial: factor for monomial, factor in found.items() if factor})

    def __mul__(self, other: Polynomial) -> Polynomial:
        """The product."""
        parts = (
            Polynomial({tuple(sorted(one + two)): a * b})
            for one, a in self.terms.items()
            for two, b in other.terms.items()
        )
        return reduce(Polynomial.__add__, parts, Polynomial({}))

    def __sub__(self, other: Polynomial) -> Polynomial:
        """The difference."""
        return self + other.times(-1)

    def times(self, factor: int) -> Polynomial:
        """Each coefficient multiplied."""
        return Polynomial({monomial: value * factor for monomial, value in self.terms.items() if factor})

    @property
    def names(self) -> frozenset[str]:
        """The names in it."""
        return frozenset(name for monomial in self.terms for name in monomial)

    @property
    def number(self) -> int | None:
        """Its value, where it has no names."""
        return None if self.names else self.terms.get((), 0)

    @property
    def plain(self) -> bool:
        """Whether no quotient is in it, which depends on further names."""
        return not any(name.startswith(_QUOTIENT) for name in self.names)

    def coefficient(self, name: str) -> Polynomial:
        """What a name is multiplied with: the change per step, where it is in no power and no quotient."""
        return Polynomial(
            {_without(monomial, name): factor for monomial, factor in self.terms.items() if name in monomial}
        )

    def replaced(self, values: Mapping[str, Polynomial]) -> Polynomial:
        """The polynomial with names replaced."""
        total = Polynomial({})
        for monomial, factor in self.terms.items():
            product = Polynomial({(): factor})
            for name in monomial:
                product = product * values.get(name, Polynomial.of(name))
            total += product
        return total


def _without(monomial: Monomial, name: str) -> Monomial:
    rest = list(monomial)
    rest.remove(name)
    return tuple(rest)


ONE = Polynomial.of(1)


@dataclass(frozen=True)
class Counter:
    """The counter of a ``for`` loop: its values are ``first``, ``first + step`` and so on, under ``facts``.

    Attributes:
        name: Its name in polynomials.
        first: The first value.
        step: What is added per iteration; it is positive.
        past: The first value that ends the loop is not below it.
        type: Its type.
    """

    node: Node
    name: str
    first: Polynomial
    step: int
    past: Polynomial
    type: str

    @property
    def zero(self) -> str:
        """A zero of its type, so that sums with it keep theirs."""
        return "0" if self.type == "int" else f"({self.type})0"

    @property
    def facts(self) -> list[Polynomial]:
        """What holds for the counter in the loop's body."""
        counter = Polynomial.of(self.name)
        iteration = Polynomial.of(_ITERATION + self.name)
        place = counter - self.first - iteration.times(self.step)
        return [place, place.times(-1), iteration, self.past - counter - ONE]


class Algebra:
    """Reads the integer expressions of one kernel.

    Attributes:
        kernel: The kernel.
        facts: What holds for every thread: the ranges of threads and blocks, and of quotients that were read.
    """

    def __init__(self, kernel: Kernel, block: Extent) -> None:
        """For launches with this block."""
        self.kernel = kernel
        self._block = dict(zip("xyz", block, strict=True))
        self._quotients: dict[str, tuple[Polynomial, int]] = {}
        self._ranges: list[Polynomial] = []
        for axis, size in self._block.items():
            thread, number, blocks = (Polynomial.of(f"{each}.{axis}") for each in ("threadIdx", "blockIdx", "gridDim"))
            self._ranges += [thread, Polynomial.of(size - 1) - thread, number, blocks - number - ONE]

    @property
    def facts(self) -> list[Polynomial]:
        """What holds for every thread."""
        found = list(self._ranges)
        for name, (dividend, divisor) in self._quotients.items():
            rest = dividend - Polynomial.of(name).times(divisor)
            found += [rest, Polynomial.of(divisor - 1) - rest]
        return found

    def polynomial(self, node: Node, depth: int = 0) -> Polynomial:
        """An integer expression.

        Raises:
            Refused: It is no sum of products, or might wrap around or be narrowed.
        """
        node = bare(node)
        known = constant(self.kernel.program, node)
        if known is not None:
            return Polynomial.of(known)
        if depth > _DEEPEST:
            raise Refused(f"line {line_of(node)} depends on too many variables")
        match node.type:
            case "identifier":
                found = self._named(node, depth)
            case "field_expression":
                found = self._axis(node)
            case "cast_expression":
                found = self._cast(node, self.kernel.program.text(child(node, "type")), child(node, "value"), depth)
            case "call_expression":
                found = self._call(node, depth)
            case "unary_expression" if operator(node) in {"+", "-"}:
                found = self.polynomial(child(node, "argument"), depth + 1)
                if operator(node) == "-":
                    self._check_signed(node, child(node, "argument"))
                    found = found.times(-1)
            case "binary_expression":
                found = self._binary(node, depth)
            case _:
                raise Refused(f"line {line_of(node)} has an index that is no sum of products")
        if len(found.terms) > _LARGEST:
            raise Refused(f"line {line_of(node)} has an index of too many terms")
        return found

    def guard(self, node: Node, *, negated: bool = False) -> list[Polynomial]:
        """Facts that hold where a condition holds, or where it does not; those that are not understood are left out."""
        node = bare(node)
        if node.type == "unary_expression" and operator(node) == "!":
            return self.guard(child(node, "argument"), negated=not negated)
        if node.type != "binary_expression":
            return []
        sign, left, right = operator(node), child(node, "left"), child(node, "right")
        if sign == ("||" if negated else "&&"):
            return self.guard(left, negated=negated) + self.guard(right, negated=negated)
        if negated:
            sign = _OPPOSITE.get(sign, "")
        if sign not in {"<", "<=", ">", ">=", "=="}:
            return []
        try:
            one, two = self.polynomial(left), self.polynomial(right)
        except Refused:
            return []
        if sign in {">", ">="}:
            one, two = two, one
        mixed = self.unsigned(left) != self.unsigned(right)
        if mixed and any(factor < 0 for factor in two.terms.values()):
            return []  # below zero it would count as large
        facts = [two - one - (ONE if sign in {"<", ">"} else Polynomial({}))]
        return [*facts, one - two] if sign == "==" else facts

    def counter(self, node: Node) -> Counter:
        """The counter of a ``for`` loop that counts up by a constant, to a bound that does not change.

        Raises:
            Refused: It is another loop.
        """
        kernel = self.kernel
        program, line = kernel.program, line_of(node)
        parts = [node.child_by_field_name(each) for each in ("initializer", "condition", "update", "body")]
        initializer, condition, update, body = parts
        if initializer is None or condition is None or update is None or body is None:
            raise Refused(f"the loop on line {line} does not count")
        declared = list(program.declarations(initializer)) if initializer.type == "declaration" else []
        condition, update = bare(condition), bare(update)
        compares = condition.type == "binary_expression" and operator(condition) in {"<", "<="}
        if len(declared) != 1 or declared[0][1].value is None or not compares:
            raise Refused(f"the loop on line {line} does not count up to a bound")
        name, value = declared[0][0], declared[0][1].value
        if declared[0][1].type not in _SIGNED | _UNSIGNED or declared[0][1].stars:
            raise Refused(f"the counter of the loop on line {line} is no integer")
        step = self._step(update, name)
        bound = child(condition, "right")
        if step is None or step < 1 or program.text(child(condition, "left")) != name:
            raise Refused(f"the loop on line {line} does not count up by a constant")
        changed = program.changed_in(body)
        words = {program.text(each) for each in within(bound) if each.type == "identifier"}
        if name in changed or words & (changed | {name}):
            raise Refused(f"the loop on line {line} changes its counter or its bound")
        past = self.polynomial(bound) + (ONE if operator(condition) == "<=" else Polynomial({}))
        return Counter(node, self._counter_name(node, name), self.polynomial(value), step, past, declared[0][1].type)

    def _step(self, update: Node, name: str) -> int | None:
        program = self.kernel.program
        if update.type == "update_expression" and program.text(child(update, "argument")) == name:
            return 1 if operator(update) == "++" else None
        if update.type == "assignment_expression" and program.text(child(update, "left")) == name:
            return constant(program, child(update, "right")) if operator(update) == "+=" else None
        return None

    def _counter_name(self, loop: Node, name: str) -> str:
        return name if len(self.kernel.declared.get(name, ())) == 1 else f"{name} of byte {loop.start_byte}"

    def _named(self, node: Node, depth: int) -> Polynomial:
        kernel, name = self.kernel, self.kernel.program.text(node)
        for parent in above(node):
            start = parent.child_by_field_name("initializer") if parent.type == "for_statement" else None
            if start is None or start.type != "declaration" or _inside(node, start):
                continue
            if any(each == name for each, _ in kernel.program.declarations(start)):
                return Polynomial.of(self.counter(parent).name)
        declared = kernel.declared.get(name, ())
        if len(declared) != 1 or name in kernel.changed:
            raise Refused(f"line {line_of(node)} uses {name}, which changes or is declared more than once")
        if declared[0].stars or declared[0].sizes or declared[0].type not in _SIGNED | _UNSIGNED | {"auto"}:
            raise Refused(f"line {line_of(node)} uses {name}, which is no integer of 32 or 64 bits")
        if name in kernel.parameters:
            return Polynomial.of(name)
        value = kernel.value_of(name)
        if value is None:
            raise Refused(f"line {line_of(node)} uses {name}, whose value is not known")
        found = self.polynomial(value, depth + 1)
        if declared[0].type in _UNSIGNED:
            self._check_not_negative(node, found)
        return found

    def _axis(self, node: Node) -> Polynomial:
        text = self.kernel.program.text(node)
        axis = _AXES.match(text)
        if not axis:
            raise Refused(f"line {line_of(node)} uses {text}, which is no axis of the launch")
        return Polynomial.of(self._block[axis[2]]) if axis[1] == "blockDim" else Polynomial.of(text)

    def _call(self, node: Node, depth: int) -> Polynomial:
        name = self.kernel.program.text(child(node, "function"))
        arguments = meaningful(child(node, "arguments"))
        cast = re.match(r"^(?:static_cast<([\w: ]+)>|(\w+))$", name)
        kind = (cast[1] or cast[2]) if cast else ""
        if kind in _SIGNED | _UNSIGNED and len(arguments) == 1:
            return self._cast(node, kind, arguments[0], depth)
        raise Refused(f"line {line_of(node)} calls {name} in an index")

    def _cast(self, node: Node, kind: str, value: Node, depth: int) -> Polynomial:
        if kind not in _SIGNED | _UNSIGNED:
            raise Refused(f"line {line_of(node)} casts an index to {kind}")
        found = self.polynomial(value, depth + 1)
        if kind in _UNSIGNED:
            self._check_not_negative(node, found)
        return found

    def _binary(self, node: Node, depth: int) -> Polynomial:
        sign, right = operator(node), child(node, "right")
        if sign not in {"+", "-", "*", "/", "%", "<<"}:
            raise Refused(f"line {line_of(node)} has an index that is no sum of products")
        one = self.polynomial(child(node, "left"), depth + 1)
        two = self.polynomial(right, depth + 1)
        if sign == "+":
            return one + two
        if sign == "-":
            self._check_signed(node, child(node, "left"), right)
            return one - two
        if sign == "*":
            return one * two
        by = two.number
        if by is None or by < 1 or (sign == "<<" and by > 30):
            raise Refused(f"line {line_of(node)} divides by what is no constant")
        if sign == "<<":
            return one.times(1 << by)
        if not holds(one, self.facts):
            raise Refused(f"line {line_of(node)} divides what may be negative")
        name = (
            f"{_QUOTIENT}({'+'.join(f'{factor}*' + '*'.join(each) for each, factor in sorted(one.terms.items()))})/{by}"
        )
        self._quotients[name] = one, by
        quotient = Polynomial.of(name)
        return quotient if sign == "/" else one - quotient.times(by)

    def unsigned(self, node: Node) -> bool:
        """Whether an expression's type may be unsigned."""
        node = bare(node)
        program = self.kernel.program
        match node.type:
            case "number_literal":
                return "u" in program.text(node).lower()
            case "identifier":
                declared = self.kernel.declared.get(program.text(node), ())
                if declared and all(each.type == "auto" and each.value is not None for each in declared):
                    return any(self.unsigned(each.value) for each in declared if each.value is not None)
                return any(each.type in _UNSIGNED for each in declared)
            case "cast_expression":
                return program.text(child(node, "type")) in _UNSIGNED
            case "call_expression":
                return any(each in program.text(child(node, "function")) for each in _UNSIGNED)
            case "binary_expression" | "unary_expression":
                parts = [node.child_by_field_name(each) for each in ("left", "right", "argument")]
                return any(self.unsigned(each) for each in parts if each is not None)
            case _:
                return True

    def _check_signed(self, node: Node, *parts: Node) -> None:
        if any(self.unsigned(part) for part in parts):
            raise Refused(f"line {line_of(node)} subtracts unsigned numbers, which may wrap around below zero")

    def _check_not_negative(self, node: Node, value: Polynomial) -> None:
        """Require a sum without negative parts, or one that is proven to stay above."""
        if any(factor < 0 for factor in value.terms.values()) and not holds(value, self.facts):
            raise Refused(f"line {line_of(node)} may be negative, where only numbers from zero are understood")


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}


def _inside(node: Node, place: Node) -> bool:
    return place.start_byte <= node.start_byte and node.end_byte <= place.end_byte


def impossible(facts: Sequence[Polynomial]) -> bool:
    """Whether no integers make all of these polynomials non-negative; False where that is not proven.

    A product of names counts as an unknown of its own, so what is proven holds, but not all that holds is proven.

    Raises:
        Refused: islpy is not installed.
    """
    try:
        import islpy
    except ImportError:
        raise Refused("proofs about indices need islpy: pip install 'ncuview[try]'") from None
    unknowns: dict[Monomial, str] = {}
    rows = []
    for fact in facts:
        parts = []
        for monomial, factor in fact.terms.items():
            unknown = unknowns.setdefault(monomial, f"v{len(unknowns)}") if monomial else ""
            parts.append(f"{factor}*{unknown}" if unknown else f"{factor}")
        rows.append(" + ".join(parts or ["0"]) + " >= 0")
    context = islpy.Context()
    places = islpy.BasicSet(f"{{ [{', '.join(unknowns.values())}] : {' and '.join(rows)} }}", context)
    context.set_max_operations(_STEPS)
    try:
        return bool(places.is_empty())
    except islpy.Error:  # too many steps
        return False


def holds(fact: Polynomial, facts: Sequence[Polynomial]) -> bool:
    """Whether a polynomial is never negative where these are not."""
    if fact.number is not None:
        return fact.number >= 0
    return impossible([*facts, fact.times(-1) - ONE])


def components(index: Polynomial, fixed: Collection[str], facts: Sequence[Polynomial]) -> list[Polynomial]:
    """The coordinates of an index: row and column of ``row * pitch + column``, and so on with more dimensions.

    Two places are different elements exactly if they differ in a coordinate.

    Args:
        index: The index.
        fixed: The names that have one value in all uses, of which pitches consist: parameters, dimensions of the grid.
        facts: What holds where the index is used.

    Raises:
        Refused: A coordinate is not proven to stay within its pitch.
    """
    by_pitch: dict[Monomial, Polynomial] = {}
    for monomial, factor in index.terms.items():
        pitch = tuple(name for name in monomial if name in fixed)
        rest = tuple(name for name in monomial if name not in fixed)
        by_pitch[pitch] = by_pitch.get(pitch, Polynomial({})) + Polynomial({rest: factor})
    by_pitch = {pitch: part for pitch, part in by_pitch.items() if part.names}  # what moves nothing is one offset
    levels = []
    for pitch, part in sorted(by_pitch.items(), key=lambda each: (-len(each[0]), each[0])):
        common = gcd(*(factor for monomial, factor in part.terms.items() if monomial))
        offset = part.terms.get((), 0) % common
        coordinate = {monomial: factor // common for monomial, factor in (part - Polynomial.of(offset)).terms.items()}
        levels.append((pitch, common, Polynomial(coordinate)))
    for (pitch, factor, _), (lower, lower_factor, column) in pairwise(levels):
        length = list(pitch)
        for name in lower:
            if name not in length:
                raise Refused(f"rows of {'*'.join(pitch)} elements are no multiple of {'*'.join(lower)}")
            length.remove(name)
        # column * lower_factor < length * factor
        most = Polynomial({tuple(length): factor}) - column.times(lower_factor) - Polynomial.of(lower_factor)
        if not holds(column, facts) or not holds(most, facts):
            raise Refused(f"a column may exceed its row of {'*'.join(length) or factor} elements")
    return [coordinate for _, _, coordinate in levels]


def check_injective(index: Polynomial, fixed: Collection[str], facts: Sequence[Polynomial]) -> None:
    """Require that threads and iterations that differ use different elements.

    Args:
        index: The index of an access.
        fixed: The names that have one value in all uses; of blocks too, where one block is looked at alone.
        facts: What holds where the access is made.

    Raises:
        Refused: It is not proven.
    """
    coordinates = components(index, fixed, facts)
    moving = frozenset().union(*(each.names for each in [*coordinates, *facts])) - frozenset(fixed)
    other = {name: Polynomial.of(f"other {name}") for name in moving}
    both = [*facts, *(fact.replaced(other) for fact in facts)]
    for coordinate in coordinates:
        difference = coordinate - coordinate.replaced(other)
        both += [difference, difference.times(-1)]
    for name in sorted(each for each in moving if not each.startswith(_DERIVED)):
        if not impossible([*both, other[name] - Polynomial.of(name) - ONE]):
            raise Refused(f"two values of {name} may use one element")


_ITERATION, _QUOTIENT = "iteration of ", "quotient "
_DERIVED = (_ITERATION, _QUOTIENT)
"""How names begin whose values follow from others."""
