"""NumPy oracles of the catalogue's kernels: ``ORACLES`` maps each name to a function of a ``Problem``.

Each public function of the modules here is an oracle, which computes a kernel's correct output; elements that the
kernel must not write hold ``POISON`` from the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import getmembers, isfunction

from ncuview.catalogue.reference import divergence, grids, instructions, memory, sums
from ncuview.catalogue.reference.problem import POISON, Array, Problem

__all__ = ["ORACLES", "POISON", "Array", "Problem"]

ORACLES: Mapping[str, Callable[[Problem], Array]] = {
    name: oracle
    for module in (divergence, grids, instructions, memory, sums)
    for name, oracle in getmembers(module, isfunction)
    if oracle.__module__ == module.__name__ and not name.startswith("_")
}
