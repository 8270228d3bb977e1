"""NumPy oracles of the divergence kernels: random generators and squarings with paths by lane, warp or worker.

Also sums of rows, and products of a sparse matrix and a vector, with entries stored by row or by column.
Each takes a ``Problem`` and returns the output array.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_WARP = 32
_BLOCK_OF_WORKERS = 256
_BLOCK_OF_TWO_WARPS = 64
_FIRST, _SECOND = np.uint32(1013904223), np.uint32(0x9E3779B9)
_PIECE = 1 << 15
"""Numbers that are squared together: as many as fit in a processor's cache."""


def two_generators_by_lane(problem: Problem) -> Array:
    """Even lanes run one generator of random numbers, odd lanes another."""
    return _two_generators(problem, group=1)


def two_generators_by_warp(problem: Problem) -> Array:
    """Even warps run one generator of random numbers, odd warps another."""
    return _two_generators(problem, group=_WARP)


def _two_generators(problem: Problem, group: int) -> Array:
    groups = problem.given.reshape(-1, 2, group)
    even, odd = groups[:, 0].copy(), groups[:, 1].copy()
    for _ in range(problem.sizes["rounds"]):
        even = even * np.uint32(1664525) + np.uint32(1013904223)
        odd = (odd ^ (odd << np.uint32(13))) + np.uint32(0x9E3779B9)
    return np.stack([even, odd], axis=1).reshape(problem.shape)


def squarings(problem: Problem) -> Array:
    """Every number is squared, and a constant added, repeatedly."""
    return _squared(problem.given, problem.sizes["rounds"], _FIRST)


def two_squarings_at_lane_16(problem: Problem) -> Array:
    """The first 16 threads of a block of 64 add one constant to the square, the others another."""
    return _two_squarings(problem, border=16)


def two_squarings_at_warp_size(problem: Problem) -> Array:
    """The first warp of a block of 64 adds one constant to the square, the second another."""
    return _two_squarings(problem, border=_WARP)


def squarings_of_scattered_workers(problem: Problem) -> Array:
    """In each pass every second worker of the pass before squares its number again: all, then 0, 2, 4 ..."""
    blocks = problem.given.reshape(-1, _BLOCK_OF_WORKERS).copy()
    for index in range(problem.sizes["passes"]):
        workers = blocks[:, :: 1 << index]
        workers[:] = _squared(workers, problem.sizes["rounds"], _FIRST)
    return blocks.reshape(problem.shape)


def squarings_of_contiguous_workers(problem: Problem) -> Array:
    """In each pass the first half of the workers of the pass before squares its numbers again."""
    blocks = problem.given.reshape(-1, _BLOCK_OF_WORKERS).copy()
    for index in range(problem.sizes["passes"]):
        workers = blocks[:, : _BLOCK_OF_WORKERS >> index]
        workers[:] = _squared(workers, problem.sizes["rounds"], _FIRST)
    return blocks.reshape(problem.shape)


def _two_squarings(problem: Problem, border: int) -> Array:
    blocks = problem.given.reshape(-1, _BLOCK_OF_TWO_WARPS)
    paths = [
        _squared(threads, problem.sizes["rounds"], constant)
        for threads, constant in ((blocks[:, :border], _FIRST), (blocks[:, border:], _SECOND))
    ]
    return np.concatenate(paths, axis=1).reshape(problem.shape)


def _squared(numbers: Array, rounds: int, constant: np.uint32) -> Array:
    """``x = x * x + constant`` for each number, ``rounds`` times."""
    result: Array = numbers.flatten()
    for at in range(0, len(result), _PIECE):
        piece = result[at : at + _PIECE]
        for _ in range(rounds):
            piece *= piece
            piece += constant
    return result.reshape(numbers.shape)


def sums_of_rows(problem: Problem) -> Array:
    """The sum of each row; of integers, so that it is exact in any order."""
    total: Array = problem.given.reshape(problem.shape[0], -1).sum(axis=1)
    return total


def sparse_rows(problem: Problem) -> Array:
    """A sparse matrix times a vector, the entries of each row and their places side by side; exact in any order."""
    values, places, x = problem.inputs[:3]
    total: Array = (values * x[places]).sum(axis=1)
    return total


def sparse_columns(problem: Problem) -> Array:
    """The same, with the first entries of all rows side by side, then the second ones."""
    values, places, x = problem.inputs[:3]
    total: Array = (values * x[places]).sum(axis=0)
    return total
