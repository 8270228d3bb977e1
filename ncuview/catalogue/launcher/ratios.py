"""How many times as fast one kernel is as another, from interleaved times: a median with its interval.

``ratio_of`` two lists of times -> ``Ratio``; ``LOOKS`` and ``precise`` say when enough has been measured. No GPU is
needed here.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

LOOKS = (10, 20, 40, 80, 160, 320)
"""Rounds after which the interval is looked at, to end or go on."""
FIRST_LOOK = 3
"""Rounds after which a change that is not faster can be left: of two versions that take the same time, the three times
of one are all above the three of the other in one of 20 measurements, so that the largest ratio of any two is an upper
end in 95 %."""
FEW = 5
"""Rounds after which there is an interval: of the 252 orders of ten times, two have those of one version before all of
the other, so that the ratios of any two times hold the ratio between them in 99.2 %."""
WIDTH = 0.01
"""An interval with both ends this near to its median, as a share, is precise."""
_COVERAGE = 1 - 0.05 / len(LOOKS)
"""Of one look, so that the interval at which measuring ends holds the ratio in 95 % of all measurements."""


@dataclass(frozen=True)
class Ratio:
    """The original's time over the variant's: above 1 the variant is faster.

    Attributes:
        median: The median over the rounds.
        low: The lower end of its interval; 0 before ``FEW`` rounds.
        high: The upper end; infinite before ``FIRST_LOOK``.
    """

    median: float
    low: float
    high: float

    @property
    def precise(self) -> bool:
        """Whether both ends are within ``WIDTH`` of the median."""
        return self.median * (1 - WIDTH) <= self.low and self.high <= self.median * (1 + WIDTH)


def ratio_of(original: Sequence[float], variant: Sequence[float]) -> Ratio:
    """The ratio of interleaved times: in each round one of each.

    Both times of a round were taken at the same clock and temperature, so each round gives one ratio. The interval is
    between two order statistics of these: no distribution is assumed. Less than eight rounds are too few for that; they
    are taken to be at the same clock, so that each time of one version is compared with each of the other.

    Raises:
        ValueError: There is none, or their numbers differ, or a time is not positive.
    """
    rounds = sorted(one / other for one, other in zip(original, variant, strict=True) if other > 0)
    if not rounds or len(rounds) < len(variant) or rounds[0] <= 0:
        raise ValueError("times must be positive, and at least one")
    median, rank = statistics.median(rounds), _rank(len(rounds))
    if rank:
        return Ratio(median, rounds[rank - 1], rounds[-rank])
    low = min(original) / max(variant) if len(rounds) >= FEW else 0.0
    return Ratio(median, low, max(original) / min(variant) if len(rounds) >= FIRST_LOOK else float("inf"))


@cache
def _rank(count: int) -> int:
    """The rank of the order statistic below the median that the interval begins with; 0 where there is none.

    The median lies below the statistic of rank k where at most k - 1 of the numbers are below the median: a binomial
    probability, twice for both ends.
    """
    outside, rank = 0.0, 0
    while 2 * (outside := outside + comb(count, rank) / 2**count) <= 1 - _COVERAGE:
        rank += 1
    return rank
