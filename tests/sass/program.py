"""Helpers for tests: small programs with labels instead of addresses."""

from __future__ import annotations

import re

from ncuview.sass.code import Code

_BYTES = 16


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
    return Code(tuple(text.format(**labels) for text in texts), tuple(range(0, len(texts) * _BYTES, _BYTES)))


def where(code: Code, text: str) -> int:
    """The position of the only instruction that contains a text."""
    (position,) = (position for position, each in enumerate(code.texts) if text in each)
    return position
