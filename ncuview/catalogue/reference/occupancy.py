"""NumPy oracle (of a ``Problem``) of the occupancy kernels whose warps follow chains of records: weighted lane sums.

The family's other oracle, ``ring_of_sums``, is in ``instructions``.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_WARP = 32


def chained_records(problem: Problem) -> Array:
    """Each warp follows a chain of records, and each lane multiplies its word of the k-th one by ``31**k``.

    The first word of a record, plus the warp's number, is the index of the next record.
    """
    table, records = problem.given, np.uint32(problem.sizes["records"])
    warp = np.arange(problem.shape[0] // _WARP, dtype=np.uint32)
    at, weight = warp, 1
    total = np.zeros((len(warp), _WARP), np.uint32)
    for _ in range(problem.sizes["steps"]):
        words = table[at % records]
        at = words[:, 0] + warp
        words *= np.uint32(weight)
        total += words
        weight = weight * 31 % (1 << 32)
    return total.reshape(problem.shape)


ORACLES = (chained_records,)
