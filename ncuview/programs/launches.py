"""``Program``: the launches of a program in order, with their kinds, places and bytes as columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ncuview.programs.kinds import Kind, framework_of, kind_of
from ncuview.records.program import Call, Estimate, Framework, KernelTrace, ProgramGpu, ProgramLaunch

Column = npt.NDArray[np.float64]
NOWHERE = Call("", 0, "")
SHORT_NS = 5_000.0
"""Launches below it measure no bandwidth: starting takes most of their time."""

OTHER_SIZE = 1.25
"""Launches of one kernel and grid whose times differ by more move other bytes: those of one size vary less."""


class Place(NamedTuple):
    """The user's function and the library function that launches come from; the same for all operators of one code."""

    file: str
    function: str
    library: str


@dataclass(frozen=True, eq=False)
class Program:
    """The launches of a program, or of one step of it, in order."""

    launches: Sequence[ProgramLaunch]
    trace: KernelTrace | None = None
    """The times between the kernels of the same program without the profiler; None where they are unknown."""
    gpu: ProgramGpu = field(default_factory=ProgramGpu)
    calls: Sequence[Call] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", [launch.call or NOWHERE for launch in self.launches])

    @cached_property
    def duration(self) -> Column:
        """Nanoseconds of each launch."""
        return np.array([launch.duration_ns for launch in self.launches], dtype=np.float64)

    @cached_property
    def read(self) -> Column:
        """Bytes from device memory."""
        return np.array([launch.bytes_read for launch in self.launches], dtype=np.float64) * self._size

    @cached_property
    def written(self) -> Column:
        """Bytes to device memory."""
        return np.array([launch.bytes_written for launch in self.launches], dtype=np.float64) * self._size

    @cached_property
    def fma(self) -> Column:
        """Use of the FMA pipes, in percent."""
        return np.array([launch.fma_pct for launch in self.launches], dtype=np.float64)

    @cached_property
    def tensor(self) -> Column:
        """Use of the tensor pipes, in percent."""
        return np.array([launch.tensor_pct for launch in self.launches], dtype=np.float64)

    @cached_property
    def moved(self) -> Column:
        """Bytes read and written."""
        return self.read + self.written

    @cached_property
    def kinds(self) -> list[Kind]:
        """What each launch does."""
        return [kind_of(launch) for launch in self.launches]

    @cached_property
    def frameworks(self) -> list[Framework]:
        """The framework in whose terms a change at a launch is given."""
        return [framework_of(launch) for launch in self.launches]

    @cached_property
    def places(self) -> list[Place]:
        """Where each launch comes from."""
        return [Place(call.file, call.function, call.library) for call in self.calls]

    @cached_property
    def total_ns(self) -> float:
        """The sum of all launches."""
        return float(self.duration.sum())

    @cached_property
    def gap_ns(self) -> float:
        """The time without a kernel that each launch takes; 0 where it is unknown."""
        return float(self.trace.launch_gap_ns) if self.trace else 0.0

    @cached_property
    def waits_ns(self) -> float:
        """The time that the GPU waits for other work of the host, again and again; 0 where it is unknown."""
        return float(self.trace.waits_ns) if self.trace else 0.0

    @cached_property
    def copied_ns(self) -> float:
        """The part of these waits in which data is copied to or from the host; 0 where it is unknown."""
        return float(self.trace.copied_ns) if self.trace else 0.0

    @cached_property
    def step_ns(self) -> float:
        """The time of kernels, of launching them, and of waits."""
        return self.total_ns + self.gap_ns * len(self.launches) + self.waits_ns

    @cached_property
    def _size(self) -> Column:
        """What share of the counted bytes a launch moves, by their times.

        Counters of the first launch stand for all of its kernel and grid, which may be on arrays of other sizes.
        """
        first: dict[tuple[object, ...], float] = {}
        keys = [
            (each.demangled or each.kernel, each.grid, each.block, each.bytes_read, each.bytes_written)
            for each in self.launches
        ]
        for key, duration in zip(keys, self.duration, strict=True):
            first.setdefault(key, float(duration))
        counted = np.array([first[key] for key in keys], dtype=np.float64)
        share = self.duration / counted
        other = (share < 1 / OTHER_SIZE) | (share > OTHER_SIZE)
        return np.where(other & (np.minimum(self.duration, counted) >= SHORT_NS), share, 1.0)

    @cached_property
    def bandwidth(self) -> float:
        """The most bytes a nanosecond that a launch moves; 0 where no bytes are known."""
        return self.bandwidth_of(range(len(self.launches)))

    def bandwidth_of(self, numbers: Iterable[int]) -> float:
        """The most bytes a nanosecond that one of the launches moves; 0 where no bytes are known."""
        chosen = list(numbers)
        rates = self.moved[chosen] / self.duration[chosen]
        long_enough = rates[(self.duration[chosen] >= SHORT_NS) & np.isfinite(rates)]
        return float(long_enough.max(initial=0.0))

    def time_of(self, numbers: Iterable[int]) -> float:
        """The kernel time of the launches, in ns."""
        return float(self.duration[list(numbers)].sum())

    def runs(self) -> Iterator[tuple[Place, list[int]]]:
        """The launches of forward passes in runs from the same place; a backward pass has no place."""
        for (place, backward), run in groupby(
            range(len(self.launches)), key=lambda number: (self.places[number], bool(self.calls[number].backward))
        ):
            if not backward and place.function:
                yield place, list(run)

    def backward_runs(self, operators: Iterable[str]) -> Iterator[list[int]]:
        """Runs of the backward pass whose autograd nodes are of these operators, or convert or add up gradients."""
        of_nodes = {operator.rstrip("_") for operator in operators} | {
            "to_copy",
            "add",
            "sum",
            "view",
            "expand",
            "reshape",
        }
        for wanted, run in groupby(
            range(len(self.launches)),
            key=lambda number: bool(self.calls[number].backward) and self.calls[number].operator.strip("_") in of_nodes,
        ):
            if wanted:
                yield list(run)


@dataclass(frozen=True)
class Candidate:
    """What a detector found: launches, the calls among them to change, and the kernel time that goes away."""

    launches: tuple[int, ...]
    calls: tuple[int, ...]
    """The launches whose calls are to be changed."""
    saved: Estimate
    removed: float = 0.0
    """How many launches go away."""


def saved_of(time: float, rest_low: float, rest_high: float) -> Estimate:
    """The time saved where between ``rest_low`` and ``rest_high`` is left of it; the best is their geometric mean."""
    low, high = sorted((min(max(rest_low, 0.0), time), min(max(rest_high, 0.0), time)))
    return Estimate(time - high, time - (low * high) ** 0.5, time - low)


def together(candidates: Iterable[Candidate]) -> Candidate:
    """Candidates for the same change at the same place as one."""
    each = list(candidates)
    low, best, high = (sum(candidate.saved[bound] for candidate in each) for bound in range(3))
    launches = sorted({number for candidate in each for number in candidate.launches})
    calls = sorted({number for candidate in each for number in candidate.calls})
    removed = sum(candidate.removed for candidate in each)
    return Candidate(tuple(launches), tuple(calls), Estimate(low, best, high), removed)


def by_place(program: Program, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Candidates of each place as one, for a loop repeats them."""
    found: dict[Place, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        found[program.places[candidate.calls[0]]].append(candidate)
    yield from map(together, found.values())
