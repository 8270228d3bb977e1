"""NumPy oracle of the reduction kernels: ``Problem`` -> the sum of each block's part of the input."""

from __future__ import annotations

from ncuview.catalogue.reference.problem import Array, Problem


def block_sums(problem: Problem) -> Array:
    """Each block sums its part of the input; integers, so that the order of the additions does not matter."""
    sums: Array = problem.given.reshape(*problem.shape, -1).sum(axis=1, dtype=problem.dtype)
    return sums


ORACLES = (block_sums,)
