"""Format a speedup factor as text for messages: 2.18 -> ``2.18x``, 3035 -> ``3,035x``."""

from __future__ import annotations

_EXACT = 100


def factor(value: float) -> str:
    """A speedup, with no more digits than are meant: ``2.18x``, ``3,035x``."""
    return f"{value:.2f}x" if value < _EXACT else f"{value:,.0f}x"
