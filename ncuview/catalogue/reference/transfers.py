"""NumPy oracle of the transfers kernels: ``Problem`` -> each input word after many steps of a linear generator."""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_FACTOR, _ADDEND, _WORDS = 1664525, 1013904223, 1 << 32


def lcg_rounds(problem: Problem) -> Array:
    """Steps of a linear congruential generator, which together are one step with other constants."""
    factor, addend = 1, 0
    for _ in range(problem.sizes["rounds"]):
        factor, addend = factor * _FACTOR % _WORDS, (addend * _FACTOR + _ADDEND) % _WORDS
    stepped: Array = problem.given * np.uint32(factor) + np.uint32(addend)
    return stepped


ORACLES = (lcg_rounds,)
