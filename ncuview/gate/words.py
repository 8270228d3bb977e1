"""Format a value with its unit (``327.6 us``) and a count with its noun (``5 launches``) for the messages of a gate."""

from __future__ import annotations

from math import isfinite

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_EXACT_BELOW = 1e15


def quantity(value: float, unit: str) -> str:
    """``4 sector``, ``327.6 us``, ``93.8 %``; counts in full, since one more may be the difference."""
    if not isfinite(value):
        return "unknown"
    if unit == "ns":
        scale, letter = next(((s, u) for s, u in _TIMES if abs(value) >= s), _TIMES[-1])
        return f"{value / scale:.4g} {letter}"
    number = f"{value:,.0f}" if value == int(value) and abs(value) < _EXACT_BELOW else f"{value:.6g}"
    return f"{number} {unit}" if unit and unit not in {"ratio", "count"} else number


def times(count: int, what: str) -> str:
    """``1 launch``, ``5 launches``."""
    return f"{count:,} {what}{'' if count == 1 else 'es'}"
