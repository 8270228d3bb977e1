"""The numbers of a kernel's input arrays, the same in every run: ``input_of`` an argument -> ``seeded`` array.

An argument of a job may name one of ``PATTERNS``, and an order of its elements.

Nothing here needs a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ncuview.catalogue.reference import POISON, Array

SEED = 20180604
PATTERNS = ("random", "other random", "zeros", "extremes", "ramp")
"""The contents that an input can have; ``random`` is that of every profile."""
RUNS = 2
"""Launches of each variant on each content: a race may be won once."""
_EXTREMES_APART = 13
"""Every so many numbers one is extreme: sums over a warp meet one, and most of them no two of opposite signs."""
_OTHER = 7919
"""Added to the seed of ``random`` for ``other random``."""
_PIECE = 1 << 20
"""Elements of a ramp that are made at once: whole arrays of its arithmetic's wider types take several times as long."""
_KEPT = 8
"""Arrays kept for the next launches; each is up to a few hundred megabytes."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Permuted:
    """A permutation of an input's elements along an axis, which a sum over the axis must not depend on.

    Attributes:
        axis: The axis.
        group: Only so many neighbours change places with each other; 0 for all.
        number: Which permutation.
    """

    axis: int
    group: int
    number: int


@dataclass(frozen=True)
class Input:
    """The description of an input array's numbers; equal descriptions give equal numbers.

    Attributes:
        shape: The array's shape.
        dtype: The type of its elements.
        below: They are integers from 0 to below this; when it is 0, random in [0, 1), or integers of any size.
        stream: Its position among the inputs, so that two inputs differ.
        pattern: One of ``PATTERNS``. Extreme numbers are the bounds of what ``below`` or the type allows, and for
            floating point infinities, NaN, the smallest denormal numbers and the largest ones among random numbers.
        permuted: The order of the elements; None for that of the pattern.
    """

    shape: Shape
    dtype: str
    below: int
    stream: int
    pattern: str = "random"
    permuted: Permuted | None = None


def input_of(argument: Mapping[str, Any], stream: int) -> Input:
    """The input that an argument of the job describes."""
    order = argument.get("permuted")
    return Input(
        tuple(argument["shape"]),
        argument["dtype"],
        argument["below"],
        stream,
        argument.get("pattern", "random"),
        Permuted(**order) if order else None,
    )


def in_order(arguments: Sequence[Mapping[str, Any]], axes: Sequence[Mapping[str, Any]], number: int) -> list[Any]:
    """A job's arguments with some inputs in another order.

    Args:
        arguments: The arguments.
        axes: The ``name`` of each input whose elements change places, the ``axis`` that they do so along, and the
            ``group`` that they stay in; 0 for the complete axis.
        number: Which order.

    Raises:
        ValueError: No input has this name.
    """
    orders = {each["name"]: {"axis": each["axis"], "group": each["group"], "number": number} for each in axes}
    inputs = {argument["name"] for argument in arguments if "below" in argument}
    if unknown := orders.keys() - inputs:
        raise ValueError(f"no input {', '.join(sorted(unknown))}")
    return [
        {**argument, "permuted": orders[argument["name"]]} if argument.get("name") in orders else argument
        for argument in arguments
    ]


@lru_cache(maxsize=_KEPT)
def seeded(described: Input) -> Array:
    """The same numbers in every run, so that counters of data-dependent kernels repeat."""
    made = _PATTERNS[described.pattern](described)
    return made if described.permuted is None else _reordered(made, described.permuted)


def _random(described: Input, seed: int = SEED) -> Array:
    random = np.random.default_rng(seed + described.stream)
    dtype = np.dtype(described.dtype)
    if described.below:
        return random.integers(0, described.below, described.shape, dtype=np.uint32).astype(dtype)
    if dtype.kind in "ui":
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, int(bounds.max) + 1, described.shape, dtype=dtype)
    return random.random(described.shape, dtype=max(dtype, np.dtype(np.float32)).type).astype(dtype, copy=False)


def _zeros(described: Input) -> Array:
    return np.zeros(described.shape, described.dtype)


def _extremes(described: Input) -> Array:
    dtype = np.dtype(described.dtype)
    if described.below:
        extremes: list[Any] = [0, described.below - 1]
    elif dtype.kind in "ui":
        extremes = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    else:
        small, large = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        extremes = [np.inf, small, np.nan, large, -0.0, -small, -np.inf, -large]
    numbers = _random(described).reshape(-1)
    places = np.arange(described.stream, numbers.size, _EXTREMES_APART)
    numbers[places] = np.array(extremes, dtype)[np.arange(len(places)) % len(extremes)]
    return numbers.reshape(described.shape)


def _ramp(described: Input) -> Array:
    dtype, size = np.dtype(described.dtype), int(np.prod(described.shape))
    made = np.empty(size, dtype)
    for start in range(0, size, _PIECE):
        steps = np.arange(start, min(start + _PIECE, size), dtype=np.int64) + described.stream
        if described.below:
            steps %= described.below
        shares = dtype.kind == "f" and not described.below
        made[start : start + _PIECE] = (steps / size if shares else steps).astype(dtype)
    return made.reshape(described.shape)


_PATTERNS: Mapping[str, Callable[[Input], Array]] = dict(
    zip(
        PATTERNS,
        (_random, lambda described: _random(described, SEED + _OTHER), _zeros, _extremes, _ramp),
        strict=True,
    )
)


def _reordered(array: Array, how: Permuted) -> Array:
    """The array with its elements along the axis in another order: the same one for all arrays of this length.

    All groups have one order: sums of a quarter of a million groups were compared for minutes when each had its own.
    """
    lines = np.moveaxis(array, how.axis, -1)
    length = lines.shape[-1]
    group = how.group or length
    order = np.random.default_rng(SEED + how.number).permutation(group)
    whole = length - length % group
    groups = np.take(lines[..., :whole].reshape(*lines.shape[:-1], -1, group), order, -1)
    rest = np.take(lines[..., whole:], order[order < length - whole], -1)
    made = np.concatenate([groups.reshape(*lines.shape[:-1], whole), rest], -1) if rest.size else groups
    return np.ascontiguousarray(np.moveaxis(made.reshape(lines.shape), -1, how.axis))


def words_of(shape: Shape, dtype: str) -> int:
    """How many words of 32 bits hold an output."""
    return -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // POISON.itemsize)
