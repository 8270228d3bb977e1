"""NumPy oracles of the access_patterns kernels: sums of eight elements per thread, read in one of ten patterns.

Also distances below each row's largest element, sums of distances to all others, and counts of samples above levels.
Each takes a ``Problem``. Thread t of T reads the elements that the pattern assigns to t, t + T, t + 2 T ... They are
integers, so that sums in float32 are exact.
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


ORACLES = (
    samples_above_levels,
    sums_of_elements,
    sums_of_permuted,
    sums_of_broadcast,
    sums_of_strided,
    sums_of_scattered,
    sums_of_structure_field,
    sums_of_array_field,
    sums_of_structures,
    sums_of_gathered_arrays,
    sums_of_gathered_records,
    places_below_largest,
    distances_to_all,
)
