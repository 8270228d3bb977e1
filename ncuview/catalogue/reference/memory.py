"""NumPy oracles (of a ``Problem``) of kernels that read memory by a pattern: access_patterns, banks, constant memory.

access_patterns: thread t of T sums eight elements, those that the pattern assigns to t, t + T, t + 2 T ...; distances
below each row's largest element, sums of distances to all others, and counts of samples above levels. bank_patterns: a
thread of 256 sums one word of a tile in shared memory over all rounds, or the words of a tile row; all blocks read the
same tile. constant_memory: products of matrices with one signal, and sums over weighted lines. Sums and products are of
integers that stay below 2**24, exact in any order.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_LOADS = 8
_WARP = 32
_ODD = np.uint32(2654435761)
_SAMPLES, _LEVELS, _APART = 32, 8, 32


def sums_of_elements(problem: Problem) -> Array:
    """Element i, or element i + ``offset``."""
    offset = problem.sizes.get("offset", 0)
    count = _LOADS * problem.shape[0]
    return _sums(problem.given[offset : offset + count])


def sums_of_permuted(problem: Problem) -> Array:
    """The lanes of a warp are permuted: lane k reads element 5 k modulo 32."""
    lanes = np.arange(_WARP) * 5 % _WARP
    return _sums(problem.given).reshape(-1, _WARP)[:, lanes].reshape(problem.shape)


def sums_of_broadcast(problem: Problem) -> Array:
    """All lanes of a warp read the element of its first lane."""
    return _sums(problem.given)[::_WARP].repeat(_WARP)


def sums_of_strided(problem: Problem) -> Array:
    """Neighbouring threads read elements a stride apart; each row of blocks starts at an element of its own."""
    stride = problem.sizes["stride"]
    return _sums(problem.given).reshape(-1, stride).T.reshape(problem.shape)


def sums_of_scattered(problem: Problem) -> Array:
    """Element (i times an odd number) modulo their number, a power of two: each is read once."""
    threads, last = problem.shape[0], np.uint32(len(problem.given) - 1)
    total: Array = np.zeros(threads, problem.given.dtype)
    for load in range(_LOADS):
        i = np.arange(load * threads, (load + 1) * threads, dtype=np.uint32)
        total += problem.given[i * _ODD & last]
    return total


def sums_of_structure_field(problem: Problem) -> Array:
    """The last of four fields, from an array of structures."""
    return _sums(problem.given[:, 3])


def sums_of_array_field(problem: Problem) -> Array:
    """The last of four fields, from a structure of arrays."""
    return _sums(problem.given[3])


def sums_of_structures(problem: Problem) -> Array:
    """All four fields, from an array of structures."""
    return _sums(problem.given.sum(axis=1))


def sums_of_gathered_arrays(problem: Problem) -> Array:
    """The four fields of the element that an index array names, each field from an array of its own."""
    total: Array = problem.given[:, problem.inputs[1]].sum(axis=0)
    return total


def sums_of_gathered_records(problem: Problem) -> Array:
    """The same, from records of four fields."""
    total: Array = problem.given[problem.inputs[1]].sum(axis=1)
    return total


def _sums(elements: Array) -> Array:
    total: Array = elements.reshape(_LOADS, -1).sum(axis=0)
    return total


def places_below_largest(problem: Problem) -> Array:
    """For each element of a row its distance below the row's largest one, subtracted from the sum of these."""
    below = problem.given.max(axis=1, keepdims=True) - problem.given
    result: Array = below.sum(axis=1, keepdims=True, dtype=problem.dtype) - below
    return result


def distances_to_all(problem: Problem) -> Array:
    """For each element the sum of its distances from all others, computed from the counts of the few values."""
    values, counts = np.unique(problem.given, return_counts=True)
    sums = np.abs(values[:, None] - values).astype(np.float64) @ counts
    result: Array = sums[np.searchsorted(values, problem.given)].astype(problem.dtype)
    return result


def samples_above_levels(problem: Problem) -> Array:
    """For each of eight levels, 32 apart, how many of a signal's samples are above it; one row for each sample."""
    samples = problem.given.reshape(_SAMPLES, -1)
    return np.concatenate([(samples > _APART * level).sum(0, dtype=np.uint32) for level in range(_LEVELS)])


_BLOCK = 256
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


_COEFFICIENTS = 4
_BITS = 6
_WIDTH, _SPACING = 1024, 1 / 64


def apply_signal_to_rows(problem: Problem) -> Array:
    """``R[b, t] = sum of mat[b, t, j] * signal[j]``."""
    matrices, signal = problem.inputs
    result: Array = np.matmul(matrices, signal)
    return result


def apply_signal_to_columns(problem: Problem) -> Array:
    """``R[b, t] = sum of mat[b, j, t] * signal[j]``."""
    matrices, signal = problem.inputs
    result: Array = np.matmul(signal, matrices)
    return result


def apply_signal_by_lane(problem: Problem) -> Array:
    """``R[b, t] = sum of mat[b, j, t] * signal[j ^ t % 32]``."""
    matrices, signal = problem.inputs
    element = np.arange(len(signal))
    by_lane = signal[element[:, None] ^ element % _WARP]
    result: Array = np.einsum("bjt,jt->bt", matrices, by_lane)
    return result


def apply_generated(problem: Problem) -> Array:
    """Row r of the matrix repeats four coefficients, each of six bits of r."""
    rows = np.arange(problem.shape[0])
    sums = problem.given.reshape(-1, _COEFFICIENTS).sum(axis=0)
    bits = rows[:, None] >> _BITS * np.arange(_COEFFICIENTS) & (1 << _BITS) - 1
    result: Array = np.matmul(bits.astype(np.float32), sums)
    return result


def near_lines(problem: Problem) -> Array:
    """``out[i] = sum of w / sqrt((a * (i % 1024 / 64) + b * (i // 1024 / 64) + c)^2 + 1)`` over rows (a, b, c, w)."""
    rows, columns = np.divmod(np.arange(problem.shape[0]), _WIDTH)
    result = np.zeros(problem.shape[0])
    for a, b, c, weight in problem.given.astype(np.float64):
        result += weight / np.sqrt((a * columns * _SPACING + b * rows * _SPACING + c) ** 2 + 1)
    return result.astype(np.float32)
