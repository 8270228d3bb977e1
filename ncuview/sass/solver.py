"""Worklist solver for data-flow equations: one equation per node of a graph -> their least solution, by node.

``solve`` computes nodes again until no value changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

Value = TypeVar("Value")


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
