"""NumPy oracles of the bank_patterns kernels: per-thread sums of words of a tile in shared memory, by access pattern.

A thread sums one word over all rounds (linear, strided, two-way, paired, broadcast), or the words of a tile row.
The words are integers, so that sums are exact. Blocks have 256 threads, and all read the same tile.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_BLOCK = 256
_WARP = 32
_THREAD = np.arange(_BLOCK)


def rounds_of_linear_words(problem: Problem) -> Array:
    """Thread t reads word t."""
    return _rounds(problem, _THREAD)


def rounds_of_strided_words(problem: Problem) -> Array:
    """Neighbouring threads read words a stride apart, modulo the size of the tile."""
    return _rounds(problem, _THREAD * problem.sizes["stride"] % len(problem.given))


def rounds_of_two_way_words(problem: Problem) -> Array:
    """Odd threads read the word 31 after their own."""
    return _rounds(problem, _THREAD + _THREAD % 2 * 31)


def rounds_of_paired_words(problem: Problem) -> Array:
    """Two threads read one word."""
    return _rounds(problem, _THREAD - _THREAD % 2)


def rounds_of_broadcast_words(problem: Problem) -> Array:
    """A warp reads one word."""
    return _rounds(problem, _THREAD // _WARP)


def rounds_of_columns(problem: Problem) -> Array:
    """Each lane reads a row of a 32x32 tile, a word in each round; so a warp reads columns."""
    rows = problem.given.reshape(_WARP, _WARP).sum(axis=1)
    return _to_all_blocks(problem, rows[_THREAD % _WARP] * (problem.sizes["rounds"] // _WARP))


def _rounds(problem: Problem, words: Array) -> Array:
    return _to_all_blocks(problem, problem.given[words] * problem.sizes["rounds"])


def _to_all_blocks(problem: Problem, block: Array) -> Array:
    return np.tile(block, problem.shape[0] // _BLOCK)


ORACLES = (
    rounds_of_linear_words,
    rounds_of_strided_words,
    rounds_of_two_way_words,
    rounds_of_paired_words,
    rounds_of_broadcast_words,
    rounds_of_columns,
)
