"""Sentence on what changed between two launches (a ``Pair``): configuration, counters, findings, bottleneck and time.

Example: ``grid 1 -> 256x256; sectors per store request 32 -> 4; ...; time -69%``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from ncuview.base.figures import duration
from ncuview.comparison.compare import Pair
from ncuview.comparison.counters import RuleShift, Shift

_CLAUSES = 3
"""So many things that moved are named."""
_PREFIXES = ((1e9, " G"), (1e6, " M"), (1e3, " k"))


def moved_sentence(pair: Pair) -> str:
    """``grid 1 -> 256x256; sectors per store request 32 -> 4; wall l2 -> dram; time -69%``.

    What moved the time the way it went comes first; what worked against that follows.
    """
    return "; ".join([*pair.changed, *_mechanisms(pair), *_wall(pair), time_words(pair)])


def time_words(pair: Pair) -> str:
    """``time -69%``, or that it did not change beyond what it does between runs."""
    if not isfinite(pair.speedup):
        return "time unknown"
    if pair.is_noise:
        return f"time unchanged within the {pair.spread:.0%} that runs differ by"
    change = pair.after_ns / pair.before_ns - 1
    return f"time {change:+.0%}" if change < 1 else f"time x{1 + change:.3g}"


def shift_words(shift: Shift) -> str:
    """``sectors per store request 32 -> 4``."""
    was, now = (_amount(value, shift) for value in (shift.before, shift.after))
    return f"{shift.words} {was} -> {now}"


def _mechanisms(pair: Pair) -> Iterator[str]:
    faster = pair.after_ns < pair.before_ns
    yield from _clauses(pair, saving=faster)[:_CLAUSES]
    if not pair.is_noise:
        yield from (f"against it, {clause}" for clause in _clauses(pair, saving=not faster)[:1])


def _clauses(pair: Pair, *, saving: bool) -> list[str]:
    """What saved time, or what cost time; led by a finding that came or went where no counter that repeats moved."""
    moved = [shift for shift in pair.shifts if (shift.saves_ns > 0) == saving]
    clauses = [shift_words(shift) for shift in moved]
    if any(shift.exact for shift in moved):
        return clauses
    rules = [rule for rule in pair.rules if (rule.saves_ns > 0) == saving]
    rules.sort(key=lambda rule: rule.fires_before and rule.fires_after)
    return [f"{rule.rule.name} {rule_words(rule)}" for rule in rules[:1]] + clauses


def rule_words(rule: RuleShift) -> str:
    """What became of a finding: ``gone``, ``new``, ``costs less`` or ``costs more``."""
    if rule.fires_before and rule.fires_after:
        return "costs less" if rule.saves_ns > 0 else "costs more"
    return "gone" if rule.fires_before else "new"


def _wall(pair: Pair) -> Iterator[str]:
    was, now = pair.longest
    if was.bottleneck != now.bottleneck:
        yield f"wall {was.bottleneck} -> {now.bottleneck}"


def _amount(value: float | None, shift: Shift) -> str:
    """A number with as many digits as are meant, in a unit that fits it."""
    if value is None:
        return "none"
    if shift.unit == "%":
        return f"{value:.0f}%"
    if shift.unit == "ratio 0-1":
        return f"{value:.0%}"
    if shift.unit == "ns":
        return duration(value, digits=3)
    unit = "B" if shift.unit == "byte" else ""
    for scale, letter in _PREFIXES:
        if abs(value) >= scale:
            return f"{value / scale:.3g}{letter}{unit}"
    return f"{value:.3g} {unit}".rstrip()
