"""Compare a variant's outputs with the original's, element by element. No GPU is needed here.

``difference`` of two arrays is exact by default; with a ``Spread`` of the original's results, elements may differ by a
few times what the original's own results differ among each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ncuview.catalogue.reference import POISON, Array

SPREADS = 4
"""An element may differ by so many times the largest spread of the original."""
WIDEST = 1e-3
"""The widest tolerance, as a share of the result."""
GUARD = np.uint32(0x5AFEC0DE)
"""The word that guard bands before and after an output are filled with."""


@dataclass(frozen=True)
class Difference:
    """How a variant's output differs from the original's.

    Attributes:
        elements: How many elements differ by more than is allowed.
        first: The index of the first of them, by rows; empty where none differs.
        expected: The original's element there, as text.
        found: The variant's.
        ulp: The largest difference of two finite elements in units of the last place, of integers in whole numbers.
        absolute: The largest difference of two finite elements.
        allowed: The largest difference that was allowed anywhere; 0 for equal bytes.
    """

    elements: int
    first: tuple[int, ...] = ()
    expected: str = ""
    found: str = ""
    ulp: int = 0
    absolute: float = 0.0
    allowed: float = 0.0


class Spread:
    """The differences among results of the original on the same numbers: of several runs, or orders of summation."""

    def __init__(self, first: Array) -> None:
        self._first = first
        self.largest = 0.0
        """The largest difference of two finite elements."""
        self.unstable = np.zeros(first.shape, bool)
        """Elements that are finite in one result, and infinite or NaN in another."""

    def add(self, other: Array) -> None:
        """Another result."""
        one, two = (np.asarray(each, np.float64) for each in (self._first, other))
        self.unstable |= _classes(one) != _classes(two)
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(one - two)
        self.largest = max(self.largest, float(np.max(apart, where=np.isfinite(apart), initial=0.0)))

    def widest(self) -> Spread:
        """One that allows the widest tolerance, to find results that differ by more."""
        widest = Spread(self._first)
        widest.largest, widest.unstable = float("inf"), self.unstable
        return widest

    def allowed(self) -> Array:
        """How far each element may be from the first result: never less than one unit of its last place."""
        magnitude = np.abs(np.asarray(self._first, np.float64))
        finite = np.isfinite(magnitude)
        ulp = np.spacing(np.abs(np.where(finite, self._first, 0)).astype(self._first.dtype)).astype(np.float64)
        widest = np.where(finite, magnitude, 0) * WIDEST
        return np.asarray(np.maximum(ulp, np.minimum(SPREADS * self.largest, widest)), np.float64)


def difference(original: Array, variant: Array, spread: Spread | None = None) -> Difference:
    """Compare two outputs of one shape and type.

    Args:
        original: The original's output.
        variant: The variant's.
        spread: The original's own spread; None where bytes must be equal. Without one, a NaN equals any other NaN but
            the poison, which is no result.
    """
    limits = None if spread is None or original.dtype.kind != "f" else spread.allowed().reshape(-1)
    allowed = 0.0 if limits is None else float(limits.max(initial=0.0))
    # Only what differs is looked at further: outputs have up to a hundred million elements, most of them equal.
    places = np.flatnonzero(_words(original).reshape(-1) != _words(variant).reshape(-1))
    one, other = original.reshape(-1)[places], variant.reshape(-1)[places]
    absolute, ulp = _distances(one, other)
    if original.dtype.kind != "f":
        wrong = np.ones(places.shape, bool)
    elif limits is None or spread is None:
        wrong = ~(_computed_nan(one) & _computed_nan(other))
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.abs(one.astype(np.float64) - other.astype(np.float64)) <= limits[places]
        right = (close | ~np.isfinite(one)) & (_classes(one) == _classes(other)) | spread.unstable.reshape(-1)[places]
        wrong = ~right | (poisoned(other) & ~poisoned(one))
    if not wrong.any():
        return Difference(0, ulp=ulp, absolute=absolute, allowed=allowed)
    first = int(np.argmax(wrong))
    return Difference(
        int(np.count_nonzero(wrong)),
        tuple(int(index) for index in np.unravel_index(places[first], original.shape)),
        str(one[first]),
        str(other[first]),
        ulp,
        absolute,
        allowed,
    )


def poisoned(array: Array) -> Array:
    """Which elements hold the poison that outputs are filled with before a launch."""
    if array.dtype.itemsize > POISON.itemsize:
        return np.asarray((_pairs(array) == POISON).all(-1))
    return np.asarray(_words(array) == np.iinfo(_words(array).dtype).max)


def _pairs(array: Array) -> Array:
    return np.ascontiguousarray(array).view(POISON.dtype).reshape(*array.shape, -1)


def _words(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _computed_nan(array: Array) -> Array:
    return np.isnan(array) & ~poisoned(array)


def _classes(array: Array) -> Array:
    """0 for a finite number, 1 and -1 for the infinities, 2 for NaN."""
    return np.where(np.isnan(array), 2, np.where(np.isinf(array), np.sign(array), 0))


def _distances(original: Array, variant: Array) -> tuple[float, int]:
    """The largest difference of two finite elements, as it is and in units of the last place."""
    if original.dtype.kind != "f":
        high, low = np.maximum(original, variant), np.minimum(original, variant)
        largest = int((high.astype("u8") - low.astype("u8")).max(initial=0))
        return float(largest), largest
    finite = np.isfinite(original) & np.isfinite(variant)
    one, two = _ordered(original), _ordered(variant)
    ulp = int(np.max(np.where(one > two, one - two, two - one), where=finite, initial=0))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(original.astype(np.float64) - variant.astype(np.float64))
    return float(np.max(apart, where=finite, initial=0.0)), ulp


def _ordered(array: Array) -> Array:
    """Floating-point numbers as unsigned integers in the same order, where neighbours differ by 1 and -0 is 0."""
    words = _words(array).astype("u8")
    sign = np.uint64(1) << np.uint64(8 * array.dtype.itemsize - 1)
    middle = np.uint64(1) << np.uint64(63)
    magnitude = words & (sign - np.uint64(1))
    return np.where(words & sign, middle - magnitude, middle + magnitude)
