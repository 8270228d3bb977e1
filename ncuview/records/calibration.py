"""``Calibration``: what one GPU attained in the calibration kernels, as ``speedup.calibrate`` computes it.

It holds the share of peak for each unit (``Attained``) and other properties of the GPU (``Figure``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Attained:
    """The share of its peak that a unit attains, 0..1, with bounds."""

    low: float
    best: float
    high: float
    kernel: str
    """The kernel that reached ``best``."""
    assumed: str = ""
    """Why it was not measured, so that the value in the tables is used; empty where it was measured."""


@dataclass(frozen=True)
class Figure:
    """Another property of a GPU that predictions need; its name says the unit."""

    value: float
    kernel: str
    assumed: str = ""


@dataclass(frozen=True)
class Calibration:
    """What good kernels attain on one GPU, as measured there."""

    device: str
    measured: str
    """When, and with which ncu."""
    shares: Mapping[str, Attained]
    """Unit -> the share of its peak."""
    figures: Mapping[str, Figure]
    """``launch_ns`` and the like; see ncuview/gpus. Unknown ones are left out."""
