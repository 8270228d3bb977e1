"""Every quantity by name, from modules by subject: the launch, stalls, memory accesses, instructions, host times.

``QUANTITIES`` holds them; ``metrics_of`` and ``unit_of`` answer for quantities and for the short names of metrics.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ncuview.metrics.names import NAMES
from ncuview.metrics.quantities import host, instructions, launch, memory, stalls
from ncuview.metrics.registry import REGISTERED, Quantity, check_inputs

__all__ = ["QUANTITIES", "host", "instructions", "launch", "memory", "metrics_of", "stalls", "unit_of"]

QUANTITIES: Mapping[str, Quantity] = MappingProxyType(REGISTERED)
check_inputs(QUANTITIES)


def metrics_of(name: str) -> tuple[str, ...]:
    """The metrics that a quantity, or a metric by its short name or ncu's own, stands for, under ncu's names."""
    return QUANTITIES[name].metrics if name in QUANTITIES else (NAMES.get(name, name),)


def unit_of(name: str) -> str:
    """The unit of a quantity; empty for a metric of ncu, whose report gives it."""
    return QUANTITIES[name].unit if name in QUANTITIES else ""
