"""NumPy oracles of the atomics kernels: histogram, count of set bits, and sums of rows by target row.

Each takes a ``Problem`` and returns the output array.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_HALF = 1 << 16
_BITS = np.array([value.bit_count() for value in range(_HALF)])


def histogram_CPU(problem: Problem) -> Array:
    """How often each value occurs."""
    return np.bincount(problem.given, minlength=problem.shape[0]).astype(np.uint32)


def count_of_bits(problem: Problem) -> Array:
    """How many bits of all words are set, as a number of 64 bits: its low half, then its high half."""
    halves = np.bincount(problem.given.view(np.uint16), minlength=_HALF)
    count = np.array([halves @ _BITS], np.uint64)
    return count.view(np.uint32)


def sums_by_target_row(problem: Problem) -> Array:
    """The sum of the rows for each row of a table: small integers, so that halves hold them exactly."""
    values, to = problem.inputs
    rows, table = values.reshape(len(to), -1), (problem.sizes["rows"], problem.sizes["width"])
    order = np.argsort(to, kind="stable")
    counts = np.bincount(to, minlength=table[0])
    sums = np.zeros(table, np.float32)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])[counts > 0]
    sums[counts > 0] = np.add.reduceat(rows[order].astype(np.float32), starts, axis=0)
    result: Array = sums.astype(np.float16).reshape(-1)
    return result


ORACLES = (histogram_CPU, count_of_bits, sums_by_target_row)
