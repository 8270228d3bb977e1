"""Choose which launches of a program with many launches to profile, as ncu's ``--kernel-id``, and weight each sample.

``first_run`` and ``second_run`` give the option's text; ``samples`` how many launches each profiled one represents.

ncu numbers the invocations of each kernel, by its function's name. (Its manual says that it does so separately for
each grid and block; ncu 2025.3.1 picked 190 of 1,000 launches of 10 kernels in 25 configurations, 19 of each kernel.)
``--kernel-id`` picks numbers by a regular expression, the same for all kernels, so that

- a first run takes the numbers with one leading digit, 1 to 9, 10, 20 ... 90, 100, 200 ...: at most nine for each power
  of ten, however often a loop launches the same kernel. Each represents those up to the next, and the last one half of
  the distance, so that the number of launches is known exactly below 10 and to within a half above;
- a second run profiles one invocation of each *configuration*, a kernel with its grid, block and shared memory, that is
  worth it.

Launches that are not picked run at full speed. A configuration that none of the picked numbers has is not seen.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from ncuview.base.errors import UsageError
from ncuview.records.profile import Extent

if TYPE_CHECKING:
    from ncuview.records.profile import Profile

_REGEX = "regex:"

SAME_DURATION = 0.1
"""Durations that differ by less than this share count as the same: the spread between runs on an H200 reaches 0.05."""


class ExecutionConfiguration(NamedTuple):
    """A kernel with its execution configuration, without the stream.

    Attributes:
        kernel: The function's name, without parameters and template arguments.
        grid: Blocks in x, y, z.
        block: Threads per block in x, y, z.
        shared: Bytes of shared memory per block.
    """

    kernel: str
    grid: Extent
    block: Extent
    shared: int


@dataclass(frozen=True)
class Sample:
    """A launch that the first run profiled.

    Attributes:
        configuration: The kernel, its grid, block and shared memory.
        invocation: Its number among the launches of that kernel, from 1.
        stands_for: How many launches of the program it represents, itself among them.
    """

    configuration: ExecutionConfiguration
    invocation: int
    stands_for: float


def sampled_invocations() -> Iterator[int]:
    """The numbers that the first run picks, in order, without end."""
    return (digit * 10**zeros for zeros in count() for digit in range(1, 10))


def first_run(kernel_name: str = "") -> str:
    """The ``--kernel-id`` that picks, of every kernel, the invocations that ``sampled_invocations`` lists.

    Args:
        kernel_name: Only kernels of this name, or ``regex:`` and a pattern; empty for all.

    Raises:
        UsageError: The name holds a colon, which would end it for ncu.
    """
    if ":" in kernel_name.removeprefix(_REGEX):
        raise UsageError(
            f"{kernel_name!r} holds a colon, which ncu cannot take together with sampling",
            hint="Name the function without its namespace, and write groups without `?:`.",
        )
    return f"::{kernel_name}:^[1-9]0*$"


def configurations_of(profile: Profile) -> list[ExecutionConfiguration]:
    """The execution configuration of each launch of a profile."""
    name = "launch__shared_mem_per_block"
    shared = (
        profile.metrics[name].fillna(0.0).tolist() if name in profile.metrics.columns else [0] * len(profile.launches)
    )
    return [
        ExecutionConfiguration(
            row["kernel"],
            (row["grid_x"], row["grid_y"], row["grid_z"]),
            (row["block_x"], row["block_y"], row["block_z"]),
            int(bytes_),
        )
        for row, bytes_ in zip(profile.launches.to_dict("records"), shared, strict=True)
    ]


def samples(launches: Sequence[ExecutionConfiguration]) -> list[Sample]:
    """Each launch of the first run, with the number of launches that it represents.

    Args:
        launches: The configuration of each, in the order of the run.
    """
    of_each = Counter(configuration.kernel for configuration in launches)
    weights = {kernel: _weights(seen) for kernel, seen in of_each.items()}
    return [Sample(configuration, *next(weights[configuration.kernel])) for configuration in launches]


def representatives(seen: Sequence[Sample], durations: Sequence[float], selected: Iterable[int]) -> list[int]:
    """One launch for each configuration of the selected ones: the first whose duration is near the median.

    Args:
        seen: The launches of the first run.
        durations: How long each took, in any unit.
        selected: Launches that are worth the second run, as positions in ``seen``.

    Returns:
        Positions in ``seen``, ascending.
    """
    of_each: dict[ExecutionConfiguration, list[int]] = {}
    for position, sample in enumerate(seen):
        of_each.setdefault(sample.configuration, []).append(position)
    configurations = {seen[position].configuration for position in selected}
    return sorted(_typical(of_each[configuration], seen, durations) for configuration in configurations)


def second_run(chosen: Sequence[Sample]) -> str:
    """The ``--kernel-id`` that picks these launches.

    ncu takes one pattern for names and one for numbers, so that it may pick further launches of a chosen kernel;
    ``launches_of_second_run`` lists all.
    """
    kernels, numbers = _kernels(chosen), _numbers(chosen)
    # A colon would end the name for ncu.
    names = "|".join(re.escape(kernel).replace(":", ".") for kernel in sorted(kernels))
    return f"::{_REGEX}^({names})$:^({'|'.join(str(number) for number in sorted(numbers))})$"


def launches_of_second_run(chosen: Sequence[Sample], seen: Sequence[Sample]) -> list[int]:
    """Which launches of the first run ``second_run(chosen)`` picks, in the order of the run."""
    kernels, numbers = _kernels(chosen), _numbers(chosen)
    return [
        position
        for position, sample in enumerate(seen)
        if sample.configuration.kernel in kernels and sample.invocation in numbers
    ]


def _kernels(chosen: Iterable[Sample]) -> frozenset[str]:
    return frozenset(sample.configuration.kernel for sample in chosen)


def _numbers(chosen: Iterable[Sample]) -> frozenset[int]:
    return frozenset(sample.invocation for sample in chosen)


def _weights(seen: int) -> Iterator[tuple[int, float]]:
    """The number of each picked invocation, and how many launches it represents."""
    numbers = list(islice(sampled_invocations(), seen + 1))
    for place, (number, following) in enumerate(pairwise(numbers), start=1):
        step = following - number
        yield number, float(step) if place < seen else (step + 1) / 2


def _typical(positions: Sequence[int], seen: Sequence[Sample], durations: Sequence[float]) -> int:
    """The first of these launches whose duration is near the median of all launches that they represent."""
    ordered = sorted(positions, key=lambda position: durations[position])
    reached = list(accumulate(seen[position].stands_for for position in ordered))
    median = durations[ordered[bisect_left(reached, reached[-1] / 2)]]
    return next(position for position in positions if abs(durations[position] - median) <= SAME_DURATION * median)
