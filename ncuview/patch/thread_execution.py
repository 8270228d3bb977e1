"""Execute the threads of a block on one shared array, to prove what a tree in it combines.

``combined`` takes a ``Kernel``, the statements of the tree, the array and the number of threads -> the operation that
combines one element of each thread into element 0. Every thread runs with its own index; an element is the multiset of
those that it combines. ``Refused`` is raised where threads race, a barrier is missing, or anything is not understood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant, integer
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, bare, child, line_of, meaningful, operator, within

if TYPE_CHECKING:
    from tree_sitter import Node

_WARP = 32
_MOST_STEPS = 2_000_000
_COMBINING = {
    **dict.fromkeys(("max", "fmaxf", "fmax"), "max"),
    **dict.fromkeys(("min", "fminf", "fmin"), "min"),
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b if a >= b else _unknown("a negative number, which may have no sign"),
    "*": lambda a, b: a * b,
    "/": lambda a, b: int(a / b) if b else _unknown("a division by zero"),
    "%": lambda a, b: a - int(a / b) * b if b else _unknown("a division by zero"),
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}


@dataclass(frozen=True)
class Combined:
    """What an element holds: how often each thread's element is in it, combined by one function as it is written."""

    parts: Counter[int]
    function: str = ""


@dataclass
class _Thread:
    index: int
    values: dict[str, int | Combined] = field(default_factory=dict)


@dataclass
class _Access:
    thread: int
    moment: tuple[int, int]
    writes: bool


Value = int | Combined
Run = Generator[str, None, None]
"""A thread that runs: it yields ``block`` or ``warp`` at each barrier."""


def combined(kernel: Kernel, statements: Sequence[Node], array: str, threads: int) -> str:
    """The function that combines the elements of all threads into the first: ``+``, or its name.

    Args:
        kernel: The kernel.
        statements: What runs after each thread has stored its element.
        array: The shared array.
        threads: The threads of a block, along x.

    Raises:
        Refused: Element 0 is not proven to combine each thread's element once.
    """
    block = _Block(kernel, array, threads)
    block.run([block.statement(each) for each in statements])
    result = block.load(_Thread(0), 0)
    if not isinstance(result, Combined) or result.parts != Counter(range(threads)) or not result.function:
        raise Refused(f"{array}[0] does not hold the combination of all {threads} threads")
    return result.function


class _Block:
    """The threads of a block, and the array that they share."""

    def __init__(self, kernel: Kernel, array: str, threads: int) -> None:
        self._kernel, self._array, self._threads = kernel, array, threads
        self._elements = {number: Combined(Counter([number])) for number in range(threads)}
        self._phase, self._of_warp, self._steps = 0, [0] * (-(-threads // _WARP)), 0
        self._accesses = {number: [_Access(number, (0, 0), True)] for number in range(threads)}

    def run(self, program: Sequence[Callable[[_Thread], Run]]) -> None:
        """Run all threads to their end, from barrier to barrier."""

        def whole(thread: _Thread) -> Run:
            for step in program:
                yield from step(thread)

        running = {number: whole(_Thread(number)) for number in range(self._threads)}
        while running:
            waiting: set[int] = set()
            for warp in range(len(self._of_warp)):
                self._run_warp(warp, running, waiting)
            if waiting and len(waiting) != self._threads:
                raise Refused(f"not all threads reach a barrier of the tree in {self._array}")
            self._phase += 1

    def _run_warp(self, warp: int, running: dict[int, Run], waiting: set[int]) -> None:
        """Run the threads of a warp until each waits at a barrier of the block or has ended."""
        while ready := [
            number for number in range(warp * _WARP, (warp + 1) * _WARP) if number in running and number not in waiting
        ]:
            for number in ready:
                at = next(running[number], "end")
                if at == "end":
                    del running[number]
                elif at == "block":
                    waiting.add(number)
            self._of_warp[warp] += 1

    def load(self, thread: _Thread, place: int) -> Value:
        self._note(thread, place, writes=False)
        if place not in self._elements:
            raise Refused(f"{self._array}[{place}] is read, which no thread has written")
        return self._elements[place]

    def store(self, thread: _Thread, place: int, value: Value) -> None:
        self._note(thread, place, writes=True)
        if not isinstance(value, Combined):
            raise Refused(f"{self._array} gets a number that is no combination of its elements")
        self._elements[place] = value

    def _note(self, thread: _Thread, place: int, *, writes: bool) -> None:
        """Note an access; two threads must not access an element between two barriers if one of them writes."""
        moment = (self._phase, self._of_warp[thread.index // _WARP])
        noted = [each for each in self._accesses.get(place, []) if each.moment[0] == self._phase]
        for each in noted:
            together = each.thread // _WARP != thread.index // _WARP or each.moment == moment
            if each.thread != thread.index and (writes or each.writes) and together:
                raise Refused(f"no barrier is between two threads' accesses to {self._array}[{place}]")
        self._accesses[place] = [*noted, _Access(thread.index, moment, writes)]
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Refused(f"the tree in {self._array} does not end")

    def statement(self, node: Node) -> Callable[[_Thread], Run]:
        """A statement as a function of the thread."""
        match node.type:
            case "comment":
                return self._nothing
            case "compound_statement":
                parts = [self.statement(each) for each in meaningful(node)]
                return lambda thread: self._each(parts, thread)
            case "declaration":
                return self._simple(self._declaration(node))
            case "if_statement":
                return self._branch(node)
            case "for_statement" | "while_statement":
                return self._loop(node)
            case "expression_statement":
                return self._expression_statement(node)
        raise self._not_understood(node)

    def _not_understood(self, node: Node) -> Refused:
        return Refused(f"line {line_of(node)} of the tree in {self._array} is not understood")

    @staticmethod
    def _nothing(_thread: _Thread) -> Run:
        yield from ()

    @staticmethod
    def _each(parts: Sequence[Callable[[_Thread], Run]], thread: _Thread) -> Run:
        for part in parts:
            yield from part(thread)

    @staticmethod
    def _simple(act: Callable[[_Thread], object]) -> Callable[[_Thread], Run]:
        def run(thread: _Thread) -> Run:
            act(thread)
            yield from ()

        return run

    def _expression_statement(self, node: Node) -> Callable[[_Thread], Run]:
        inner = meaningful(node)
        if not inner:
            return self._nothing
        barriers = {"__syncthreads": "block", "__syncwarp": "warp"}
        call = inner[0].type == "call_expression" and self._kernel.program.text(child(inner[0], "function"))
        if call in barriers:
            kind = barriers[str(call)]

            def wait(_thread: _Thread) -> Run:
                yield kind

            return wait
        return self._simple(self._effect(inner[0]))

    def _declaration(self, node: Node) -> Callable[[_Thread], object]:
        made = [
            (name, self.value(declared.value) if declared.value is not None else None)
            for name, declared in self._kernel.program.declarations(node)
            if not declared.sizes and declared.stars == 0
        ]
        if len(made) != len(node.children_by_field_name("declarator")):
            raise self._not_understood(node)

        def declare(thread: _Thread) -> None:
            for name, value in made:
                if value is not None:
                    thread.values[name] = value(thread)

        return declare

    def _branch(self, node: Node) -> Callable[[_Thread], Run]:
        condition = self._condition(node)
        then = self.statement(child(node, "consequence"))
        other = node.child_by_field_name("alternative")
        otherwise = self.statement(meaningful(other)[0]) if other is not None else self._nothing
        return lambda thread: then(thread) if condition(thread) else otherwise(thread)

    def _condition(self, node: Node) -> Callable[[_Thread], int]:
        written = child(node, "condition")
        inner = meaningful(written) if written.type == "condition_clause" else [written]
        return self._number(inner[0])

    def _loop(self, node: Node) -> Callable[[_Thread], Run]:
        first = node.child_by_field_name("initializer")
        update = node.child_by_field_name("update")
        begin: Callable[[_Thread], Run] = self._nothing
        if first is not None:
            begin = self.statement(first) if first.type == "declaration" else self._simple(self._effect(first))
        condition, body = self._condition(node), self.statement(child(node, "body"))
        step = self._effect(update) if update is not None else None

        def run(thread: _Thread) -> Run:
            yield from begin(thread)
            while condition(thread):
                self._steps += 1
                if self._steps > _MOST_STEPS:
                    raise Refused(f"the tree in {self._array} does not end")
                yield from body(thread)
                if step is not None:
                    step(thread)

        return run

    def _effect(self, node: Node) -> Callable[[_Thread], object]:
        """An assignment or update."""
        node = bare(node)
        if node.type == "update_expression":
            name, by = self._kernel.program.text(child(node, "argument")), 1 if operator(node) == "++" else -1
            return lambda thread: thread.values.__setitem__(name, self._known(thread, name, node) + by)
        if node.type != "assignment_expression":
            raise self._not_understood(node)
        target, value, sign = child(node, "left"), self.value(child(node, "right")), operator(node).removesuffix("=")
        before = self.value(target) if sign else None

        def result(thread: _Thread) -> Value:
            new = value(thread)
            return new if before is None else self._apply(sign, before(thread), new, node)

        if target.type == "identifier":
            name = self._kernel.program.text(target)
            if name not in self._kernel.declared or name in self._kernel.parameters:
                raise self._not_understood(node)
            return lambda thread: thread.values.__setitem__(name, result(thread))
        place = self._place(target)
        return lambda thread: self.store(thread, place(thread), result(thread))

    def _known(self, thread: _Thread, name: str, node: Node) -> int:
        value = thread.values.get(name)
        if not isinstance(value, int):
            raise self._not_understood(node)
        return value

    def _place(self, node: Node) -> Callable[[_Thread], int]:
        named = node.type == "subscript_expression" and self._kernel.program.text(child(node, "argument"))
        indices = meaningful(child(node, "indices")) if named == self._array else []
        if len(indices) != 1:
            raise self._not_understood(node)
        return self._number(indices[0])

    def _number(self, node: Node) -> Callable[[_Thread], int]:
        value = self.value(node)

        def number(thread: _Thread) -> int:
            found = value(thread)
            if not isinstance(found, int):
                raise self._not_understood(node)
            return found

        return number

    def value(self, node: Node) -> Callable[[_Thread], Value]:
        """An expression as a function of the thread."""
        node, program = bare(node), self._kernel.program
        text = program.text(node)
        match node.type:
            case "number_literal" if (literal := integer(text)) is not None:
                return lambda _: literal
            case "field_expression" if text == "threadIdx.x":
                return lambda thread: thread.index
            case "field_expression" if text in {"threadIdx.y", "threadIdx.z"}:
                return lambda _: 0
            case "field_expression" if text == "blockDim.x":
                return lambda _: self._threads
            case "identifier":
                return self._variable(node, text)
            case "subscript_expression":
                place = self._place(node)
                return lambda thread: self.load(thread, place(thread))
            case "unary_expression" if operator(node) == "!":
                inner = self._number(child(node, "argument"))
                return lambda thread: int(not inner(thread))
            case "conditional_expression":
                test = self._number(child(node, "condition"))
                then, other = self.value(child(node, "consequence")), self.value(child(node, "alternative"))
                return lambda thread: then(thread) if test(thread) else other(thread)
            case "binary_expression":
                return self._binary(node)
            case "call_expression" if program.text(child(node, "function")) in _COMBINING:
                name = program.text(child(node, "function"))
                sides = [self.value(each) for each in meaningful(child(node, "arguments"))]
                if len(sides) == 2:
                    return lambda thread: self._apply(name, sides[0](thread), sides[1](thread), node)
        raise self._not_understood(node)

    def _variable(self, node: Node, name: str) -> Callable[[_Thread], Value]:
        """A variable of the tree, or one from before it whose value the source gives."""
        known = constant(self._kernel.program, node)
        if known is not None:
            return lambda _: known
        initial = self._kernel.value_of(name)
        before = self.value(initial) if initial is not None and not self._of_memory(initial) else None

        def read(thread: _Thread) -> Value:
            if name in thread.values:
                return thread.values[name]
            if before is None:
                raise self._not_understood(node)
            return before(thread)

        return read

    def _of_memory(self, node: Node) -> bool:
        return any(each.type == "subscript_expression" for each in within(node))

    def _binary(self, node: Node) -> Callable[[_Thread], Value]:
        sign = operator(node)
        left, right = self.value(child(node, "left")), self.value(child(node, "right"))
        if sign == "&&":
            return lambda thread: int(bool(left(thread)) and bool(right(thread)))
        if sign == "||":
            return lambda thread: int(bool(left(thread)) or bool(right(thread)))
        return lambda thread: self._apply(sign, left(thread), right(thread), node)

    def _apply(self, sign: str, one: Value, other: Value, node: Node) -> Value:
        if isinstance(one, int) and isinstance(other, int):
            if sign not in _ARITHMETIC:
                raise self._not_understood(node)
            return _ARITHMETIC[sign](one, other)
        combining = sign in _COMBINING or sign in {"+", "|", "&", "^"}
        if not isinstance(one, Combined) or not isinstance(other, Combined) or not combining:
            raise self._not_understood(node)
        if {one.function, other.function} - {"", sign}:
            raise Refused(f"the tree in {self._array} combines by several operations")
        return Combined(one.parts + other.parts, sign)


def _unknown(what: str) -> int:
    raise Refused(f"the tree computes {what}")
