"""Build from ``Code`` the control-flow graph (``control_flow``): basic blocks, edges, calls; dominators and loops.

``loops`` and ``innermost_loop`` give ``Loop`` objects, ``immediate_dominators`` each block's nearest dominator.
``solve`` is the worklist solver for data-flow equations: one equation per node of a graph -> their least solution.

Edges stay within a function: a call continues with the instruction after it, and ``calls`` gives the function. BSYNC,
BREAK and WARPSYNC only let threads wait for one another: execution falls through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from ncuview.sass.code import Code, analysis
from ncuview.sass.instruction import Instruction

_JUMPS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
_EXITS = frozenset({"EXIT", "KILL"})
_ENDS_BLOCK = _JUMPS | _EXITS | {"CALL", "RET"}

Value = TypeVar("Value")
Edges = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class ControlFlow:
    """The control-flow graph. Blocks are numbered in the order of the code; a call is a block of its own.

    Attributes:
        blocks: The positions of each block's instructions.
        block_of: For each position its block.
        successors: For each block those that execution may continue with in the same function.
        predecessors: The reverse.
        calls: For each block that is a call the first block of the called function; None where the code does not
            say what is called, or where the function has no RET.
        returns: The blocks that end in RET.
        entries: The first block of the kernel, of each called function, and of code that nothing jumps to.
        deciding: For each position of an instruction that may send threads to different blocks, those blocks in order:
            branches with a guard or a predicate, jumps to a computed address, and guarded calls. EXIT does not count:
            it ends threads and decides nothing about the others.
    """

    blocks: tuple[range, ...]
    block_of: tuple[int, ...]
    successors: Edges
    predecessors: Edges
    calls: Mapping[int, int | None]
    returns: frozenset[int]
    entries: tuple[int, ...]
    deciding: Mapping[int, tuple[int, ...]]

    def reachable(self, block: int) -> list[int]:
        """The blocks that execution may reach from a block within its function, that block first."""
        return _depth_first(self.successors, block)

    def callers(self) -> list[list[int]]:
        """For each block the calls that enter there; calls of unknown functions may enter all code without one."""
        called = set(self.calls.values())
        unknown = [entry for entry in self.entries[1:] if entry not in called]
        found: list[list[int]] = [[] for _ in self.blocks]
        for call, entry in self.calls.items():
            for each in unknown if entry is None else [entry]:
                found[each].append(call)
        return found

    def with_calls(self) -> list[list[int]]:
        """The successors of each block, and the functions that it enters."""
        found = [list(successors) for successors in self.successors]
        for entry, calls in enumerate(self.callers()):
            for call in calls:
                found[call].append(entry)
        return found


@analysis
def control_flow(code: Code) -> ControlFlow:
    """Build the control-flow graph of a kernel's code."""
    blocks = _blocks(code)
    block_of = tuple(block for block, positions in enumerate(blocks) for _ in positions)
    last = [code.instructions[positions[-1]] for positions in blocks]
    targets = [code.position_of(each.target) for each in last]
    goes_to = [None if target is None else block_of[target] for target in targets]
    successors = tuple(
        _successors(block, each, goes_to[block], blocks[block][-1] == targets[block], len(blocks))
        for block, each in enumerate(last)
    )
    returns = frozenset(block for block, each in enumerate(last) if each.base_opcode == "RET")
    called = {block: goes_to[block] for block, each in enumerate(last) if each.base_opcode == "CALL"}
    returning = {
        entry: not returns.isdisjoint(_depth_first(successors, entry)) for entry in called.values() if entry is not None
    }
    calls = {block: entry if entry is not None and returning[entry] else None for block, entry in called.items()}
    entered = [0, *sorted(entry for entry in returning if entry)] if blocks else []
    successors = _without_dead_ends(successors, entered)
    deciding = {
        blocks[block][-1]: successors[block]
        for block, each in enumerate(last)
        if (each.base_opcode in _JUMPS and len(successors[block]) > 1)
        or (each.base_opcode in {"CALL", "RET"} and each.guard)
    }
    entries = _entries(successors, entered)
    return ControlFlow(blocks, block_of, successors, _reversed(successors), calls, returns, entries, deciding)


@analysis
def called(code: Code) -> Mapping[int, Sequence[int]]:
    """For each call of a known function the positions of the instructions that it may execute, of inner calls too."""
    flow = control_flow(code)
    entries = {entry: _depth_first(flow.with_calls(), entry) for entry in flow.calls.values() if entry is not None}
    return {
        flow.blocks[call][-1]: [position for block in entries[entry] for position in flow.blocks[block]]
        for call, entry in flow.calls.items()
        if entry is not None
    }


def _blocks(code: Code) -> tuple[range, ...]:
    starts = {0}
    for position, each in enumerate(code.instructions):
        if each.base_opcode in _ENDS_BLOCK:
            starts.add(position + 1)
            if each.base_opcode == "CALL":
                starts.add(position)
            if (target := code.position_of(each.target)) is not None:
                starts.add(target)
    bounds = sorted(starts | {len(code)})
    return tuple(range(start, stop) for start, stop in pairwise(bounds) if start < len(code))


def _successors(block: int, last: Instruction, target: int | None, to_itself: bool, count: int) -> tuple[int, ...]:
    """Where execution may go on within the function after a block's last instruction, the jump's target first."""
    opcode = last.base_opcode
    falls = (block + 1,) if block + 1 < count else ()
    if opcode in _JUMPS:
        if target is None and last.target is None:
            return tuple(range(count))  # to a computed address
        if target is None:
            return falls if _is_conditional(last) else ()  # out of the listing
        if not _is_conditional(last):
            return () if to_itself else (target,)  # nvcc pads the end of a kernel with a BRA to itself
        return (target, *falls) if falls != (target,) else falls
    if opcode in _EXITS | {"RET"} and not _is_conditional(last):
        return ()
    return falls


def _is_conditional(jump: Instruction) -> bool:
    """Whether some threads may go on after it: ``@P0 BRA ...``, ``BRA P0, ...``, ``BRA.DIV UR4, ...``."""
    return jump.guard is not None or (jump.base_opcode in _JUMPS and len(jump.operands) > 1)


def _without_dead_ends(successors: Edges, entries: Sequence[int]) -> Edges:
    """The edges, without those from unreachable code into reachable code."""
    live = {block for entry in entries for block in _depth_first(successors, entry)}
    return tuple(
        to if block in live else tuple(each for each in to if each not in live) for block, to in enumerate(successors)
    )


def _entries(successors: Edges, known: Sequence[int]) -> tuple[int, ...]:
    entries, reached = list(known), set[int]()
    for entry in known:
        reached.update(_depth_first(successors, entry))
    for block in range(len(successors)):
        if block not in reached:
            entries.append(block)
            reached.update(_depth_first(successors, block))
    return tuple(entries)


def _depth_first(edges: Sequence[Sequence[int]], start: int) -> list[int]:
    found, waiting = {start: None}, [start]
    while waiting:
        for block in edges[waiting.pop()]:
            if block not in found:
                found[block] = None
                waiting.append(block)
    return list(found)


def _reversed(edges: Sequence[Sequence[int]]) -> Edges:
    found: list[list[int]] = [[] for _ in edges]
    for block, successors in enumerate(edges):
        for successor in successors:
            found[successor].append(block)
    return tuple(map(tuple, found))


@analysis
def reverse_postorder(code: Code) -> tuple[int, ...]:
    """The blocks in an order in which each comes before its successors, except for back edges of loops."""
    flow = control_flow(code)
    return tuple(_reverse_postorder((*flow.successors, flow.entries), len(flow.blocks))[1:])


@analysis
def forward_order(code: Code) -> tuple[int, ...]:
    """For each instruction a number that grows along all paths, except for back edges of loops."""
    flow, numbers = control_flow(code), [0] * len(code)
    for number, position in enumerate(at for block in reverse_postorder(code) for at in flow.blocks[block]):
        numbers[position] = number
    return tuple(numbers)


@analysis
def immediate_dominators(code: Code) -> tuple[int | None, ...]:
    """For each block the last one that all paths from its function's entry go through before it; None for entries."""
    flow = control_flow(code)
    return _immediate_dominators((*flow.successors, flow.entries))


@analysis
def immediate_post_dominators(code: Code) -> tuple[int | None, ...]:
    """For each block the first one that all paths to its function's end go through after it; None where there is none.

    A guarded EXIT is not an end: the other threads continue. A loop without an exit ends at its last block.
    """
    flow = control_flow(code)
    guarded_returns = {flow.block_of[position] for position in flow.deciding} & flow.returns
    ends = {block for block, successors in enumerate(flow.successors) if not successors} | guarded_returns
    reached = {block for end in ends for block in _depth_first(flow.predecessors, end)}
    for block in reversed(range(len(flow.blocks))):
        if block not in reached:
            ends.add(block)
            reached.update(_depth_first(flow.predecessors, block))
    return _immediate_dominators((*flow.predecessors, tuple(sorted(ends))))


def dominates(idom: Sequence[int | None], block: int, other: int) -> bool:
    """Whether a block is the other or one of its (post-)dominators."""
    at: int | None = other
    while at is not None and at != block:
        at = idom[at]
    return at == block


def _reverse_postorder(edges: Sequence[Sequence[int]], root: int) -> list[int]:
    order: list[int] = []
    seen = {root}
    path: list[tuple[int, Iterator[int]]] = [(root, iter(edges[root]))]
    while path:
        block, remaining = path[-1]
        for successor in remaining:
            if successor not in seen:
                seen.add(successor)
                path.append((successor, iter(edges[successor])))
                break
        else:
            order.append(block)
            path.pop()
    return order[::-1]


def _immediate_dominators(edges: Sequence[Sequence[int]]) -> tuple[int | None, ...]:
    """Dominators of a graph whose last node is the root, by Cooper, Harvey and Kennedy's iteration."""
    root = len(edges) - 1
    order = _reverse_postorder(edges, root)
    number = {block: index for index, block in enumerate(order)}
    predecessors = _reversed(edges)
    idom: dict[int, int] = {root: root}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [each for each in predecessors[block] if each in idom]
            common = known[0]
            for other in known[1:]:
                common = _common(idom, number, common, other)
            changed |= idom.get(block) != common
            idom[block] = common
    return tuple(None if idom.get(block, root) == root else idom[block] for block in range(root))


def _common(idom: Mapping[int, int], number: Mapping[int, int], one: int, other: int) -> int:
    while one != other:
        if number[one] > number[other]:
            one = idom[one]
        else:
            other = idom[other]
    return one


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop: the largest set of blocks around its header that all lead to one another.

    Attributes:
        header: The position at which it is entered; of an irreducible loop the first of these.
        body: The positions of its instructions, those of inner loops too.
        latches: The positions of the jumps back to where it is entered, in order.
        parent: The smallest loop around it.
        reducible: Whether it is entered at its header only.
    """

    header: int
    body: frozenset[int]
    latches: tuple[int, ...]
    parent: Loop | None
    reducible: bool

    @property
    def depth(self) -> int:
        """1 for a loop in no other."""
        return 1 + (self.parent.depth if self.parent else 0)


@analysis
def loops(code: Code) -> tuple[Loop, ...]:
    """The loops, outer ones before those in them. Loops with the same header are one."""
    flow = control_flow(code)
    found: list[Loop] = []
    waiting: list[tuple[Loop | None, frozenset[int], frozenset[int]]] = [
        (None, frozenset(range(len(flow.blocks))), frozenset())
    ]
    while waiting:
        parent, blocks, closed = waiting.pop()
        for members in cycles(flow.successors, blocks, closed):
            headers = _headers(flow, members)
            loop = Loop(
                header=flow.blocks[min(headers)].start,
                body=frozenset(position for block in members for position in flow.blocks[block]),
                latches=tuple(
                    sorted(
                        flow.blocks[block][-1] for block in members if not headers.isdisjoint(flow.successors[block])
                    )
                ),
                parent=parent,
                reducible=len(headers) == 1,
            )
            found.append(loop)
            waiting.append((loop, members, headers))
    return tuple(sorted(found, key=lambda loop: (loop.depth, loop.header)))


def _headers(flow: ControlFlow, members: frozenset[int]) -> frozenset[int]:
    entered = frozenset(
        block for block in members if block in flow.entries or not members.issuperset(flow.predecessors[block])
    )
    return entered or frozenset({min(members)})


@analysis
def _innermost_loops(code: Code) -> tuple[Loop | None, ...]:
    found: list[Loop | None] = [None] * len(code)
    for loop in loops(code):  # inner ones come later
        for position in loop.body:
            found[position] = loop
    return tuple(found)


def innermost_loop(code: Code, position: int) -> Loop | None:
    """The smallest loop around an instruction."""
    return _innermost_loops(code)[position]


def cycles(edges: Edges, blocks: frozenset[int], closed: frozenset[int] = frozenset()) -> list[frozenset[int]]:
    """The strongly connected sets of blocks that hold a cycle, without the edges into ``closed`` blocks (Tarjan)."""
    inner = {block: [to for to in edges[block] if to in blocks and to not in closed] for block in blocks}
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[frozenset[int]] = []
    for root in sorted(blocks):
        if root in index:
            continue
        path = [(root, iter(inner[root]))]
        index[root] = lowest[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while path:
            block, remaining = path[-1]
            for to in remaining:
                if to not in index:
                    index[to] = lowest[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    path.append((to, iter(inner[to])))
                    break
                if to in on_stack:
                    lowest[block] = min(lowest[block], index[to])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[block])
                if lowest[block] == index[block]:
                    at = stack.index(block)
                    members = frozenset(stack[at:])
                    del stack[at:]
                    on_stack -= members
                    if len(members) > 1 or block in inner[block]:
                        found.append(members)
    return found


def solve(
    equation: Callable[[int, Sequence[Value]], Value],
    dependents: Sequence[Collection[int]],
    start: Value,
    order: Iterable[int],
) -> list[Value]:
    """Compute the least solution of one equation per node.

    Args:
        equation: The value of a node from the current values of all nodes. It must be monotone over a lattice of finite
            height, or the solver does not end.
        dependents: For each node those whose equations read its value.
        start: The least value, which all nodes have at first.
        order: The nodes to compute, first to last; others keep ``start`` until a node that they read changes.
    """
    values = [start] * len(dependents)
    waiting = deque(order)
    queued = bytearray(len(dependents))
    for node in waiting:
        queued[node] = 1
    while waiting:
        node = waiting.popleft()
        queued[node] = 0
        value = equation(node, values)
        if value != values[node]:
            values[node] = value
            for dependent in dependents[node]:
                if not queued[dependent]:
                    queued[dependent] = 1
                    waiting.append(dependent)
    return values
