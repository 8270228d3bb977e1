"""``Damage``: which launches of a damaged report were read, which are lost or without machine code, and why, as text.

``str`` gives the text. ``may_be_intact`` is set where this machine may have had too little memory or time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

_MOST_REASONS = 3
_MOST_RUNS = 6
_OR_NONE = "; the report is damaged, or this machine has too little memory or time to read it"


@dataclass(frozen=True)
class Damage:
    """Which launches of a report were read, and why not all; as text for people."""

    results: int
    """How many launches the intact part of the report holds."""
    announced: int | None
    """How many the report announces; None when it is unknown."""
    lost: Collection[int]
    """Those of the intact part that could not be read."""
    without_code: Collection[int]
    """Those that were read without sources and machine code."""
    reasons: Sequence[str]
    """Sentences without a full stop, in the order of the report."""
    may_be_intact: bool = False
    """Whether this machine may be the cause of all of them."""

    def __str__(self) -> str:
        of = "" if self.announced is None else f" of {self.announced:,}"
        read = [launch for launch in range(self.results) if launch not in self.lost]
        outcome = f"{_named(read, of)} read"
        if self.without_code:
            outcome += f", {_named(sorted(self.without_code))} read without sources and machine code"
        return f"{outcome}; {self.why}"

    @property
    def why(self) -> str:
        """The first few reasons, each once, and how many more there are."""
        distinct = list(dict.fromkeys(self.reasons))
        more = len(distinct) - _MOST_REASONS
        listed = "; ".join([*distinct[:_MOST_REASONS], *([f"and {more:,} more"] if more > 0 else [])])
        return listed + _OR_NONE * self.may_be_intact


def _named(launches: Sequence[int], of: str = "") -> str:
    """``launches 0 to 6 and 8 of 9 were``."""
    runs = _runs(launches)
    if len(runs) > _MOST_RUNS:
        return f"{len(launches):,} launches{of} were"
    texts = [f"{first:,}" if first == last else f"{first:,} to {last:,}" for first, last in runs]
    listed = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
    return f"launch {listed}{of} was" if len(launches) == 1 else f"launches {listed}{of} were"


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs
