"""NumPy oracles of the catalogue's kernels: ``ORACLES`` maps each name to a function of a ``Problem``.

Each computes the kernel's correct output; elements that the kernel must not write hold ``POISON`` from the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ncuview.catalogue.reference import (
    access_patterns,
    atomics,
    bank_patterns,
    calibration,
    constant_memory,
    divergence,
    images,
    instructions,
    matmul,
    occupancy,
    reduction,
    stencil,
    transfers,
    transpose,
)
from ncuview.catalogue.reference.problem import POISON, Array, Problem

__all__ = ["ORACLES", "POISON", "Array", "Problem"]

_FAMILIES = (
    access_patterns,
    atomics,
    bank_patterns,
    calibration,
    constant_memory,
    divergence,
    images,
    instructions,
    matmul,
    occupancy,
    reduction,
    stencil,
    transfers,
    transpose,
)

ORACLES: Mapping[str, Callable[[Problem], Array]] = {
    oracle.__name__: oracle for family in _FAMILIES for oracle in family.ORACLES
}
