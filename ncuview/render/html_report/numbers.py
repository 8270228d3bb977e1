"""Format a number with its unit for people: ``3.79 TB/s``, ``84.4 %``, ``33,554,432 sector`` (``amount``)."""

from __future__ import annotations

from math import isfinite

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALED = {"byte": "B", "byte/s": "B/s", "FLOP/s": "FLOP/s", "FLOP": "FLOP"}
_EXACT = 1e15


def amount(value: float, unit: str) -> str:
    """``3.79 TB/s``, ``84.4 %``, ``33,554,432 sector``; ``unknown`` where there is no number."""
    if not isfinite(value):
        return "unknown"
    if unit == "%":
        return f"{value:.3g} %"
    if unit == "ratio 0-1":
        return f"{100 * value:.3g} %"
    if unit in _SCALED:
        return _scaled(value, _SCALED[unit])
    number = f"{value:,.0f}" if value == round(value) and abs(value) < _EXACT else f"{value:,.4g}"
    return f"{number} {unit}".rstrip()


def _scaled(value: float, unit: str) -> str:
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
