"""Format a speedup factor (``2.18x``) and a duration in ns (``327.6 us``) as text; the one place for either."""

from __future__ import annotations

from math import isfinite

_EXACT = 100
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))


def factor(value: float) -> str:
    """A speedup with two decimals, fewer for large ones: ``2.18x``, ``3,035x``."""
    return f"{value:.2f}x" if value < _EXACT else f"{value:,.0f}x"


def duration(nanoseconds: float, digits: int = 4) -> str:
    """A time in a suitable unit, with ``digits`` digits: ``327.6 us``, ``30 s``; ``unknown`` where it is NaN."""
    if not isfinite(nanoseconds):
        return "unknown"
    scale, unit = next((each for each in _TIMES if abs(nanoseconds) >= each[0]), _TIMES[-1])
    scaled = nanoseconds / scale
    return f"{scaled:.{digits}g} {unit}" if abs(scaled) < 10 ** (digits - 1) else f"{scaled:,.0f} {unit}"
