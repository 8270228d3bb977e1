"""NumPy oracles (of a ``Problem``) of kernels that count or sum: atomics, reduction, calibration.

atomics: a histogram, the count of set bits, sums of rows by target row. calibration, which measures the attainable
share of each unit's peak: sums of words, stores per sector, sums of lane numbers, a pointer chase, and no store at all.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import POISON, Array, Problem

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


def block_sums(problem: Problem) -> Array:
    """Each block sums its part of the input; integers, so that the order of the additions does not matter."""
    sums: Array = problem.given.reshape(*problem.shape, -1).sum(axis=1, dtype=problem.dtype)
    return sums


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
