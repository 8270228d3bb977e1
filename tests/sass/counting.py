"""Helpers for tests: the weights that an analysis of machine code gives a few instructions."""

from __future__ import annotations

from collections.abc import Callable

from ncuview.sass.code import Code
from ncuview.sass.columns import Weights

Of = Callable[[Code], Weights]


def code(*lines: str) -> Code:
    """Instructions of 16 bytes each, so that the line at position p is jumped to as 0x(10 p)."""
    return Code(lines, tuple(range(0, 16 * len(lines), 16)))


def marked(of: Of, *lines: str) -> list[int]:
    """The positions that count as 1; all others count as 0."""
    found = weights(of, *lines)
    assert set(found) <= {0.0, 1.0}
    return [position for position, weight in enumerate(found) if weight]


def weights(of: Of, *lines: str) -> list[float]:
    return [float(weight) for weight in of(code(*lines))]
