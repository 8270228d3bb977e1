"""Helpers for tests: small programs, with labels instead of addresses, and the weights that an analysis gives them."""

from __future__ import annotations

import re
from collections.abc import Callable

from ncuview.sass.code import Code, Weights

_BYTES = 16
Of = Callable[[Code], Weights]


def program(listing: str) -> Code:
    """Code from one instruction per line; a line ``name:`` is a label, and ``{name}`` its address."""
    lines = [line.split("//")[0].strip() for line in listing.splitlines()]
    texts: list[str] = []
    labels: dict[str, str] = {}
    for line in filter(None, lines):
        if label := re.match(r"(\w+):$", line):
            labels[label[1]] = hex(len(texts) * _BYTES)
        else:
            texts.append(line)
    return code(*(text.format(**labels) for text in texts))


def where(code: Code, text: str) -> int:
    """The position of the only instruction that contains a text."""
    (position,) = (position for position, each in enumerate(code.texts) if text in each)
    return position


def code(*lines: str) -> Code:
    """Instructions of 16 bytes each, so that the line at position p is jumped to as 0x(10 p)."""
    return Code(lines, tuple(range(0, _BYTES * len(lines), _BYTES)))


def marked(of: Of, *lines: str) -> list[int]:
    """The positions that count as 1; all others count as 0."""
    found = weights(of, *lines)
    assert set(found) <= {0.0, 1.0}
    return [position for position, weight in enumerate(found) if weight]


def weights(of: Of, *lines: str) -> list[float]:
    """The weight of each instruction."""
    return [float(weight) for weight in of(code(*lines))]
