"""Dataclasses of a calibration: the share of peak that each unit of one GPU attained, and other measured figures."""

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
    """Why it was not measured, so that what was known before is used; empty where it was."""


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
    """``launch_ns`` and the like; see ncuview/gpus. What nobody knows is left out."""
