"""The right answers: what each catalogue kernel must compute, in NumPy.

``host`` compares bit by bit, so an element that the kernel must leave alone is expected to hold the poison that the
host put there before the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

POISON = np.uint32(0xFFFFFFFF)
"""What the host fills outputs with before a launch: a NaN as float32, the largest number as uint32."""

_WARP = 32
_ROWS = 64
"""Rows that NumPy transposes at once: as many as fit in a processor's cache."""


@dataclass(frozen=True)
class Problem:
    """What a kernel was given, and the shape of what it must return.

    Attributes:
        given: The input array; empty when the kernel takes none.
        shape: Of the output.
        sizes: The kernel file's sizes.
    """

    given: Array
    shape: tuple[int, ...]
    sizes: Mapping[str, int]


def copy_CPU(problem: Problem) -> Array:
    """The input itself."""
    return problem.given


def transpose_CPU(problem: Problem) -> Array:
    """``out[i, j] = in[j, i]``, for matrices of any shape."""
    expected = np.empty(problem.shape, problem.given.dtype)
    for row in range(0, len(problem.given), _ROWS):
        expected[:, row : row + _ROWS] = problem.given[row : row + _ROWS].T
    return expected


def transpose_padded_CPU(problem: Problem) -> Array:
    """The transpose of the square part; the padding columns of each row stay as they were."""
    n = problem.shape[0]
    expected: Array = np.full(problem.shape, POISON).view(problem.given.dtype)
    expected[:, :n] = problem.given[:, :n].T
    return expected


def sum_of_strided_words(problem: Problem) -> Array:
    """Thread t sums the 16-byte words t, t + threads, t + 2 threads ..., modulo 2**32."""
    rounds, threads = problem.sizes["rounds"], problem.sizes["threads"]
    total: Array = problem.given.reshape(rounds, threads, 4).sum(axis=(0, 2), dtype=np.uint32)
    return total


def sum_of_rounds(problem: Problem) -> Array:
    """As ``sum_of_strided_words``, over a buffer that is walked round and round."""
    rounds, threads = problem.sizes["rounds"], problem.sizes["threads"]
    quads = problem.given.reshape(-1, 4).sum(axis=1, dtype=np.uint32)
    thread = np.arange(threads)
    total = np.zeros(threads, np.uint32)
    for turn in range(rounds):
        total += quads[(thread + turn * threads) % len(quads)]
    return total


def last_round_per_sector(problem: Problem) -> Array:
    """Word k of thread t's eight words holds what the last round with ``round % 8 == k`` stored."""
    rounds, threads = problem.sizes["rounds"], problem.sizes["threads"]
    last = np.empty(8, np.uint32)
    for turn in range(rounds - 8, rounds):
        last[turn % 8] = turn
    return (np.arange(threads, dtype=np.uint32)[:, None] + last).reshape(problem.shape)


def sum_of_lanes(problem: Problem) -> Array:
    """Each lane adds its own number once a round."""
    lanes = np.arange(problem.shape[0], dtype=np.uint32) % _WARP
    return lanes * np.uint32(problem.sizes["rounds"])


def end_of_walk(problem: Problem) -> Array:
    """Where a walk ends whose next step depends on the lowest bit of the word it stands on."""
    at = 0
    for _ in range(problem.sizes["steps"]):
        at = (at + 8191 * 32 + int(problem.given[at] & 1)) % problem.sizes["words"]
    return np.array([at], np.uint32)


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


def xor_shift_rounds(problem: Problem) -> Array:
    """``x ^= x << 1``, again and again."""
    words = problem.given
    for _ in range(problem.sizes["rounds"]):
        words = words ^ (words << np.uint32(1))
    return words


def untouched(problem: Problem) -> Array:
    """The output as the host left it: the kernel writes nothing."""
    return np.full(problem.shape, POISON)


ORACLES: Mapping[str, Callable[[Problem], Array]] = {
    oracle.__name__: oracle
    for oracle in (
        copy_CPU,
        transpose_CPU,
        transpose_padded_CPU,
        sum_of_strided_words,
        sum_of_rounds,
        last_round_per_sector,
        sum_of_lanes,
        end_of_walk,
        two_generators_by_lane,
        two_generators_by_warp,
        xor_shift_rounds,
        untouched,
    )
}
