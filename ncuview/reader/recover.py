"""Read as many launches of a ``Shard`` as NVIDIA's reader can -> ``Salvaged``: what was read, what is lost, and why.

``salvage``: where a child process fails, it reads the shard without machine code, then without the failing launch.
``salvage_together`` has one child process read shards of several reports, and each alone from the first failure on.
``Damage``: the same for a complete report, as text. ``may_be_intact`` is set where this machine may have had too little
memory or time.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from ncuview.base.errors import ReportUnreadable
from ncuview.base.log import LOG
from ncuview.reader.child import Failure, Shard
from ncuview.reader.columns import Answer, Reading

MOST_FAILURES, MOST_S = 24, 12
"""How often the reader may fail on a shard, and for how many seconds after the first failure; then it gives up."""

_MOST_REASONS = 3
_MOST_RUNS = 6
_OR_NONE = "; the report is damaged, or this machine has too little memory or time to read it"


class Reader(Protocol):
    """What reads shards in one child process, as ``child.Children`` does."""

    def read(self, shards: Sequence[Shard], *, with_code: bool) -> list[Answer | Failure]:
        """The launches of each, or how reading failed."""


@dataclass
class Salvaged:
    """What was read of a shard, and what was lost."""

    readings: list[Reading] = field(default_factory=list)
    """In the order of the report."""
    lost: dict[int, str] = field(default_factory=dict)
    """Launches that could not be read, with the reason as a sentence."""
    without_code: dict[int, str] = field(default_factory=dict)
    """Launches that were read without sources and machine code, with the reason as a sentence."""
    scarce: set[str] = field(default_factory=set)
    """Those of the reasons that too little memory or time on this machine may explain."""


def salvage(shard: Shard, reader: Reader, *, with_code: bool = True) -> Salvaged:
    """Read a shard completely; where that fails without its code, and then without the launch on which it fails.

    Without ``with_code``, no code is requested, and so none is reported missing.
    """
    attempts = _Attempts(reader, with_code=with_code)
    start = shard.start
    for place, launch in enumerate(shard.launches, shard.start):
        if launch.damage:
            attempts.found.lost[place] = launch.damage
            attempts.read(shard.part(start, place))
            start = place + 1
    attempts.read(shard.part(start, shard.stop))
    return attempts.found


def salvage_together(shards: Sequence[Shard], reader: Reader, *, with_code: bool = True) -> list[Salvaged]:
    """Read shards of several reports in one child process, one after the other.

    Each answer is complete before the next report is loaded. They are kept up to the first report at which the process
    fails, or of which it finds a launch damaged: what it did with that one may have changed its memory. That report and
    all after it are read alone, each in a process of its own.
    """
    clean: list[Salvaged] = []
    if len(shards) > 1:
        with suppress(ReportUnreadable):  # reading a report alone raises it again, unless it was by chance
            for answer in reader.read(shards, with_code=with_code):
                if isinstance(answer, Failure) or answer.lost:
                    LOG.info("report %d of %d is read alone, and so are those after it", len(clean) + 1, len(shards))
                    break
                clean.append(Salvaged([answer.reading]))
    return clean + [salvage(shard, reader, with_code=with_code) for shard in shards[len(clean) :]]


class _Attempts:
    def __init__(self, reader: Reader, *, with_code: bool) -> None:
        self.found = Salvaged()
        self._reader, self._with_code = reader, with_code
        self._failures = 0
        self._failing_since = 0.0

    def read(self, shard: Shard) -> None:
        """Read what can be read of these launches."""
        if not shard.launches:
            return
        answer = self._try(shard, with_code=self._with_code)
        if isinstance(answer, Failure) and self._with_code:
            why = self._why(answer)
            answer = self._try(shard, with_code=False)
            if isinstance(answer, Answer):
                self.found.without_code.update(dict.fromkeys(range(shard.start, shard.stop), why))
        if isinstance(answer, Answer):
            self.found.readings.append(answer.reading)
            self.found.lost.update({at: f"launch {at} {why}" for at, why in answer.lost.items()})
            return
        why, at = self._why(answer), answer.launch
        if at is None or not shard.start <= at < shard.stop or self._has_tried_enough():
            self.found.lost.update(dict.fromkeys(range(shard.start, shard.stop), why))
            return
        self.found.lost[at] = why
        self.read(shard.part(shard.start, at))
        self.read(shard.part(at + 1, shard.stop))

    def _try(self, shard: Shard, *, with_code: bool) -> Answer | Failure:
        (answer,) = self._reader.read([shard], with_code=with_code)
        if isinstance(answer, Failure):
            LOG.info("launches %d to %d: %s", shard.start, shard.stop - 1, answer.why)
            self._failures += 1
            self._failing_since = self._failing_since or time.monotonic()
        return answer

    def _why(self, failure: Failure) -> str:
        why = f"{'the report' if failure.launch is None else f'launch {failure.launch}'} {failure.why}"
        if failure.scarce:
            self.found.scarce.add(why)
        return why

    def _has_tried_enough(self) -> bool:
        return self._failures >= MOST_FAILURES or time.monotonic() - self._failing_since > MOST_S


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
