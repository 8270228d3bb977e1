"""How large answers for programs and models may be, in bytes of JSON: ``MOST_BYTES``, ``LARGEST``, ``SMALLEST``."""

from __future__ import annotations

MOST_BYTES = 6_000
"""The largest answer without ``max_bytes``."""
LARGEST = 32_768
"""The largest ``max_bytes``."""
SMALLEST = 5_000
"""The smallest ``max_bytes``: what is in every answer, and one entry of a list, always fit."""
