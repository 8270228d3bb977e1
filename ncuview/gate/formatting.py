"""Format a value with its unit (``327.6 us``) and a count with its noun (``5 launches``) for the messages of a gate."""

from __future__ import annotations

from math import isfinite

from ncuview.base.figures import duration, factor

_EXACT_BELOW = 1e15


def quantity(value: float, unit: str) -> str:
    """``4 sector``, ``327.6 us``, ``93.8 %``, ``1.35x``; counts in full, since one more may be the difference."""
    if not isfinite(value):
        return "unknown"
    if unit == "ns":
        return duration(value)
    if unit == "x":
        return factor(value)
    number = f"{value:,.0f}" if value == int(value) and abs(value) < _EXACT_BELOW else f"{value:.6g}"
    return f"{number} {unit}" if unit and unit not in {"ratio", "count"} else number


def times(count: int, what: str) -> str:
    """``1 launch``, ``5 launches``."""
    return f"{count:,} {what}{'' if count == 1 else 'es'}"
