"""NumPy oracle of the matmul kernels: the product of two matrices of whole numbers."""

from __future__ import annotations

from ncuview.catalogue.reference.problem import Array, Problem


def matrix_product(problem: Problem) -> Array:
    """Rows of the first by columns of the second; whole numbers, so that the order of the additions does not matter."""
    left, right = problem.inputs
    product: Array = left @ right
    return product


ORACLES = (matrix_product,)
