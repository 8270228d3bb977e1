"""Judge interleaved times: how many times as fast a variant is, and whether that is a gain.

``judged`` takes the times of the original and a variant from ``launcher/variants.py`` -> ``Timing``.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import Literal

from ncuview.catalogue.launcher.ratios import Ratio, ratio_of

LEAST_GAIN = 1.05
"""A smaller gain lies inside the spread between runs, 5 % on an H200. A change is kept where the interval of its gain
begins here or above; a finding is withdrawn where that of its ablation ends below."""
Outcome = Literal["faster", "slower", "same", "unclear", "impossible"]
"""``same``: the interval holds 1 and is narrow; ``unclear``: it is wide. ``impossible``: below the floor."""


@dataclass(frozen=True)
class Timing:
    """What was measured of a variant.

    Attributes:
        outcome: Whether it gains; only ``faster`` is a gain.
        ratio: The original's time over the variant's.
        original_ns: The original's median.
        variant_ns: The variant's median.
        rounds: How many times each was launched.
        reason: Why it is no gain, as a clause; empty where it is one.
    """

    outcome: Outcome
    ratio: Ratio
    original_ns: float
    variant_ns: float
    rounds: int
    reason: str


def judged(original: Sequence[float], variant: Sequence[float], floor_ns: float = 0.0) -> Timing:
    """Judge interleaved times.

    Args:
        original: The original's times in ns, by round.
        variant: The variant's.
        floor_ns: The least time that the problem takes on this GPU: the bytes that must move at the attainable
            bandwidth; 0 where it is not known. Times below it are no measurement of this problem.

    Raises:
        ValueError: There are no times, or not as many of both.
    """
    ratio = ratio_of(original, variant)
    median = statistics.median(variant)
    outcome, reason = _outcome(ratio, median, floor_ns)
    return Timing(outcome, ratio, statistics.median(original), median, len(variant), reason)


def _outcome(ratio: Ratio, median_ns: float, floor_ns: float) -> tuple[Outcome, str]:
    if median_ns < floor_ns:
        return "impossible", f"it takes {median_ns:,.0f} ns, less than the {floor_ns:,.0f} ns that the hardware allows"
    if isinf(ratio.high):
        return "unclear", f"too few runs to tell {ratio.median:.3f}x from the noise"
    interval = f"{ratio.low:.3f}x to {ratio.high:.3f}x" if ratio.low else f"{ratio.high:.3f}x at most"
    if ratio.low > 1:
        return "faster", ""
    if ratio.high < 1:
        return "slower", f"it is slower: {interval}"
    if not ratio.low:
        return "unclear", f"it gains {interval}"
    if ratio.precise:
        return "same", f"it takes as long as the original: {interval}"
    return "unclear", f"the difference is inside the noise: {interval}"
