"""NumPy oracles (``Problem`` -> output array) of the kernels that measure the attainable share of each unit's peak.

Per-thread sums of words, stores per sector, sums of lane numbers, a pointer chase, and an output without any store.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import POISON, Array, Problem

_WARP = 32


def sum_of_strided_words(problem: Problem) -> Array:
    """Thread t sums the 16-byte words t, t + threads, t + 2 threads ..., modulo 2**32."""
    rounds, threads = problem.sizes["rounds"], problem.sizes["threads"]
    total: Array = problem.given.reshape(rounds, threads, 4).sum(axis=(0, 2), dtype=np.uint32)
    return total


def sum_of_rounds(problem: Problem) -> Array:
    """As ``sum_of_strided_words``, over a buffer that is read repeatedly, modulo its size."""
    rounds, threads = problem.sizes["rounds"], problem.sizes["threads"]
    quads = problem.given.reshape(-1, 4).sum(axis=1, dtype=np.uint32)
    thread = np.arange(threads)
    total = np.zeros(threads, np.uint32)
    for index in range(rounds):
        total += quads[(thread + index * threads) % len(quads)]
    return total


def last_round_per_sector(problem: Problem) -> Array:
    """Word k of thread t's eight words holds what the last round with ``round % 8 == k`` stored."""
    rounds, threads = problem.sizes["rounds"], problem.sizes["threads"]
    last = np.empty(8, np.uint32)
    for index in range(rounds - 8, rounds):
        last[index % 8] = index
    return (np.arange(threads, dtype=np.uint32)[:, None] + last).reshape(problem.shape)


def sum_of_lanes(problem: Problem) -> Array:
    """Each lane adds its own number in each round."""
    lanes = np.arange(problem.shape[0], dtype=np.uint32) % _WARP
    return lanes * np.uint32(problem.sizes["rounds"])


def end_of_chain(problem: Problem) -> Array:
    """The last index of a chain of dependent loads, each of which depends on the lowest bit of the word before."""
    at = 0
    for _ in range(problem.sizes["steps"]):
        at = (at + 8191 * 32 + int(problem.given[at] & 1)) % problem.sizes["words"]
    return np.array([at], np.uint32)


def untouched(problem: Problem) -> Array:
    """The output as the host filled it: the kernel writes nothing."""
    return np.full(problem.shape, POISON)


ORACLES = (sum_of_strided_words, sum_of_rounds, last_round_per_sector, sum_of_lanes, end_of_chain, untouched)
