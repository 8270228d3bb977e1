"""What an instruction reads and changes: registers, and the predicates among its operands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from ncuview.sass.listing import parse

_GUARD = re.compile(r"@!?(U?P\d)\s")
_PREDICATE = re.compile(r"\bU?P\d\b")
_IS_PREDICATE = re.compile(r"\s*!?U?P[T\d]\s*$")


class Use(NamedTuple):
    """What one instruction uses."""

    guard: str
    """The predicate under which it is executed; empty for all that are."""
    reads: frozenset[str]
    """Registers and predicates, without its guard."""
    results: frozenset[str]
    """Registers and predicates that it changes."""


@lru_cache(maxsize=1 << 16)
def use_of(text: str) -> Use:
    """What an instruction uses."""
    each, guard = parse(text), _GUARD.match(text)
    operands = each.operands.split(",")
    first = _results_first(each.opcode, operands)
    return Use(
        guard[1] if guard else "",
        each.reads.union(*map(_PREDICATE.findall, operands[first:])),
        each.writes.union(*map(_PREDICATE.findall, operands[:first])),
    )


def _results_first(opcode: str, operands: Sequence[str]) -> int:
    """How many operands are results: predicates that come first, or a register and the carries behind it."""
    if "SETP" in opcode or opcode.startswith(("PLOP3", "VOTE")):
        return 2
    first = _predicates_from(operands, 0)
    return first or 1 + _predicates_from(operands, 1)


def _predicates_from(operands: Sequence[str], start: int) -> int:
    return len(list(takewhile(_IS_PREDICATE.match, operands[start:])))
