"""NumPy oracles of the instructions, occupancy and transfers kernels: repeated operations on each element.

Each takes a ``Problem``: shifts, divisions, sums of sines or exponentials, filters, a polynomial, steps of a linear
generator, and lane sums weighted along a chain of records.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_PIECE = 1 << 15
"""Elements that are computed at once: as many as fit in a processor's cache."""
_SUMS = 48
"""Sums in the ring of registerSpill.cu, registersFit.cu, tailEffect.cu and tailFree.cu."""
_LAGS = 16
"""Words in the window of localArray.cu and localArrayUnrolled.cu."""


def xor_shift_rounds(problem: Problem) -> Array:
    """``x ^= x << 1``, repeatedly."""
    words = problem.given
    for _ in range(problem.sizes["rounds"]):
        words = words ^ (words << np.uint32(1))
    return words


def division_rounds(problem: Problem) -> Array:
    """The quotient, and the remainder times a constant, become the next number to divide."""
    d, constant = np.uint32(problem.sizes["d"]), np.uint32(2654435769)

    def step(words: Array) -> Array:
        quotient = words // d
        following: Array = quotient + (words - quotient * d) * constant
        return following

    return _repeated(problem, step)


def multiply_rounds(problem: Problem) -> Array:
    """Multiply, add and shift, repeatedly."""
    factor, shift = np.uint32(problem.sizes["factor"]), np.uint32(problem.sizes["shift"])
    return _repeated(problem, lambda words: (words * factor + np.uint32(12345)) >> shift)


def _repeated(problem: Problem, step: Callable[[Array], Array]) -> Array:
    result = problem.given.copy()
    for at in range(0, len(result), _PIECE):
        piece = result[at : at + _PIECE]
        for _ in range(problem.sizes["rounds"]):
            piece = step(piece)
        result[at : at + _PIECE] = piece
    return result


def sum_of_sines(problem: Problem) -> Array:
    """``sin(x) + sin(x + step) + ...``, which has a closed form."""
    rounds, step = problem.sizes["rounds"], 1 / problem.sizes["parts"]
    middle = problem.given.astype(np.float64) + (rounds - 1) * step / 2
    total: Array = np.sin(rounds * step / 2) / np.sin(step / 2) * np.sin(middle)
    return total


def sum_of_exponentials(problem: Problem) -> Array:
    """``exp(-x) + exp(-x - step) + ...``, a geometric series."""
    rounds, step = problem.sizes["rounds"], 1 / problem.sizes["parts"]
    total: Array = np.exp(-problem.given.astype(np.float64)) * np.expm1(-rounds * step) / np.expm1(-step)
    return total


def weighted_variance(problem: Problem) -> Array:
    """The variance of ``x, x + step, ...``, each weighted by ``exp(-(x - center) ** 2)``."""
    rounds, step = problem.sizes["rounds"], 1 / problem.sizes["parts"]
    given = problem.given.astype(np.float64)
    weights, sums, squares = (np.zeros_like(given) for _ in range(3))
    for index in range(rounds):
        x = given + index * step
        weight = np.exp(-((x - problem.sizes["center"]) ** 2))
        weights += weight
        sums += weight * x
        squares += weight * x**2
    result: Array = squares / weights - (sums / weights) ** 2
    return result


def sum_of_quotients(problem: Problem) -> Array:
    """``a / (x + 1) + a / (x + 2) + ...`` for integer x: a difference of harmonic numbers."""
    rounds, x = problem.sizes["rounds"], problem.given.astype(np.int64)
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, x.max() + rounds + 1)))
    total: Array = problem.sizes["numerator"] * (harmonic[x + rounds] - harmonic[x])
    return total


def sum_divided(problem: Problem) -> Array:
    """``x / d + (x + 1) / d + ...``."""
    rounds = problem.sizes["rounds"]
    total: Array = (rounds * problem.given.astype(np.float64) + rounds * (rounds - 1) / 2) / problem.sizes["d"]
    return total


def square_and_cube(problem: Problem) -> Array:
    """``3 x**2 - 2 x**3``."""
    x = problem.given
    result: Array = 3.0 * (x * x) - 2.0 * (x * x * x)
    return result


def gaussian_of_rows(problem: Problem) -> Array:
    """Weighted means of the numbers around each, with the weights of a normal distribution."""
    radius, n = problem.sizes["radius"], problem.sizes["n"]
    weights = np.exp(-(np.arange(-radius, radius + 1.0) ** 2) / (2 * problem.sizes["sigma"] ** 2))
    given, total = problem.given.astype(np.float64), np.zeros(n)
    for place, weight in enumerate(weights / weights.sum()):
        total += weight * given[place : place + n]
    return total


def momentum_step(problem: Problem) -> Array:
    """A step of descent with momentum from weights, velocities and gradients: the new weights, then the velocities."""
    weights, velocities, gradients = problem.inputs
    velocity = np.float32(0.5) * velocities + gradients
    return np.concatenate([weights - np.float32(0.25) * velocity, velocity])


def damped_rounds(problem: Problem) -> Array:
    """``x = 0.999 x + 0.001``, repeatedly: the distance to 1 shrinks each time."""
    remains = 0.999 ** problem.sizes["rounds"]
    result: Array = 1 - remains * (1 - problem.given.astype(np.float64))
    return result


def ring_of_sums(problem: Problem) -> Array:
    """The first of a ring of sums that start at x, x + 1, x + 2 ...; in every round each adds the next two."""

    def run(words: Array) -> Array:
        sums = [words + np.uint32(number) for number in range(_SUMS)]
        for _ in range(problem.sizes["rounds"]):
            for at in range(_SUMS):
                sums[at] = sums[at] + sums[(at + 1) % _SUMS] + sums[(at + 2) % _SUMS]
        return sums[0]

    return _linear(problem, run)


def lagged_fibonacci(problem: Problem) -> Array:
    """The last word of a circular window, in which each word in sequence adds the fifth one after it."""

    def run(words: Array) -> Array:
        window = [words]
        for _ in range(_LAGS - 1):
            window.append(window[-1] * np.uint32(1664525) + np.uint32(1013904223))
        for index in range(problem.sizes["rounds"]):
            at = index % _LAGS
            window[at] = window[at] + window[(at + 5) % _LAGS]
        return window[-1]

    return _linear(problem, run)


def _linear(problem: Problem, run: Callable[[Array], Array]) -> Array:
    """A linear computation modulo 2**32, evaluated for all elements from its results for 0 and 1."""
    of_zero, of_one = run(np.array([0, 1], np.uint32)).tolist()
    result: Array = problem.given * np.uint32((of_one - of_zero) % (1 << 32)) + np.uint32(of_zero)
    return result


def polynomial(problem: Problem) -> Array:
    """The polynomial with the coefficients of the first input, highest power first, at each element of the second."""
    coefficients, points = problem.inputs
    result = np.empty(points.shape)
    for at in range(0, len(points), _PIECE):
        x = points[at : at + _PIECE].astype(np.float64)
        y = np.zeros_like(x)
        for coefficient in coefficients.tolist():
            y *= x
            y += coefficient
        result[at : at + _PIECE] = y
    return result


def scaled(problem: Problem) -> Array:
    """The input times a number."""
    result: Array = problem.given * problem.given.dtype.type(problem.sizes["a"])
    return result


_FACTOR, _ADDEND, _WORDS = 1664525, 1013904223, 1 << 32


def lcg_rounds(problem: Problem) -> Array:
    """Steps of a linear congruential generator, which together are one step with other constants."""
    factor, addend = 1, 0
    for _ in range(problem.sizes["rounds"]):
        factor, addend = factor * _FACTOR % _WORDS, (addend * _FACTOR + _ADDEND) % _WORDS
    stepped: Array = problem.given * np.uint32(factor) + np.uint32(addend)
    return stepped


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
