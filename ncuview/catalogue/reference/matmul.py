"""NumPy oracle of the matmul kernels: a ``Problem`` with two matrices of integers -> their product."""

from __future__ import annotations

from ncuview.catalogue.reference.problem import Array, Problem


def matrix_product(problem: Problem) -> Array:
    """Rows of the first by columns of the second; integers, so that the order of the additions does not matter."""
    left, right = problem.inputs
    product: Array = left @ right
    return product


ORACLES = (matrix_product,)
