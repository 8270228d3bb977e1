"""``change_sentence`` of a ``Pair`` of launches: what changed in configuration, counters, findings, bottleneck, time.

Example: ``grid 1 -> 256x256; sectors per store request 32 -> 4; ...; time -69%``.

The module also has the phrases for one rule and the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from ncuview.comparison.compare import Pair
from ncuview.comparison.counters import RuleChange
from ncuview.comparison.metric_words import metric_change_words

_CLAUSES = 3
"""The most metrics that are named."""


def change_sentence(pair: Pair) -> str:
    """``grid 1 -> 256x256; sectors per store request 32 -> 4; bottleneck l2 -> dram; time -69%``.

    Changes in the direction of the time come first; one in the opposite direction follows.
    """
    return "; ".join([*pair.changed, *_mechanisms(pair), *_bottleneck(pair), time_words(pair)])


def time_words(pair: Pair) -> str:
    """``time -69%``, or that it did not change beyond the spread between runs."""
    if not isfinite(pair.speedup):
        return "time unknown"
    if pair.is_noise:
        return f"time unchanged within the {pair.spread:.0%} that runs differ by"
    change = pair.after_ns / pair.before_ns - 1
    return f"time {change:+.0%}" if change < 1 else f"time x{1 + change:.3g}"


def _mechanisms(pair: Pair) -> Iterator[str]:
    faster = pair.after_ns < pair.before_ns
    yield from _clauses(pair, saving=faster)[:_CLAUSES]
    if not pair.is_noise:
        yield from (f"against it, {clause}" for clause in _clauses(pair, saving=not faster)[:1])


def _clauses(pair: Pair, *, saving: bool) -> list[str]:
    """The metrics that saved time, or cost time. A finding is first where no counter that repeats changed."""
    changed = [change for change in pair.metric_changes if (change.saves_ns > 0) == saving]
    clauses = [metric_change_words(change) for change in changed]
    if any(change.exact for change in changed):
        return clauses
    rules = [rule for rule in pair.rule_changes if (rule.saves_ns > 0) == saving]
    rules.sort(key=lambda rule: rule.fires_before and rule.fires_after)
    return [f"{rule.rule.name} {rule_change_words(rule)}" for rule in rules[:1]] + clauses


def rule_change_words(rule: RuleChange) -> str:
    """How a finding changed: ``gone``, ``new``, ``costs less`` or ``costs more``."""
    if rule.fires_before and rule.fires_after:
        return "costs less" if rule.saves_ns > 0 else "costs more"
    return "gone" if rule.fires_before else "new"


def _bottleneck(pair: Pair) -> Iterator[str]:
    was, now = pair.longest
    if was.bottleneck != now.bottleneck:
        yield f"bottleneck {was.bottleneck_name} -> {now.bottleneck_name}"
