"""The detector of optimizers that make many passes over the parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from ncuview.programs.launches import Candidate, Program, by_place, saved_of
from ncuview.programs.traffic import streams, word_of

TORCH = "torch/optim/"
PASSES = 7.0
"""Arrays that a fused Adam moves: it reads parameter, gradient and both moments, and writes all but the gradient."""
PASSES_OF_MOMENTUM = 5.0
"""Arrays that a fused SGD with momentum moves; a plain SGD needs fewer than any other way to compute it."""
FEWEST = 6
"""An update with fewer launches is nearly fused."""


def optimizers(program: Program) -> Iterator[Candidate]:
    """PROG007: an update of the parameters in many launches."""
    yield from by_place(program, [*_of_library(program), *_by_hand(program)])


def _of_library(program: Program) -> Iterator[Candidate]:
    """``foreach=False`` and ``foreach=True`` of torch.optim."""
    found = [
        number
        for number, call in enumerate(program.calls)
        if call.library.startswith(TORCH) and "Fused" not in program.launches[number].demangled
    ]
    if len(found) >= FEWEST:
        yield _update(program, found, [number for number in found if "sqrt" in word_of(program, number)])


def _by_hand(program: Program) -> Iterator[Candidate]:
    """Roots, divisions and changes in place in a function of the user, after a backward pass."""
    backward = [number for number, call in enumerate(program.calls) if call.backward]
    if not backward:
        return
    for run in streams(program):
        words = {word_of(program, number) for number in run}
        in_place = any(program.calls[number].operator.endswith("_") for number in run)
        roots = [number for number in run if word_of(program, number) == "sqrt"]
        if program.calls[run[0]].library.startswith(TORCH):
            continue
        if run[0] > backward[0] and len(run) >= FEWEST and in_place and roots and words & {"div", "addcdiv"}:
            yield _update(program, run, roots)


def _update(program: Program, update: list[int], roots: list[int]) -> Candidate:
    """Each root reads one array, so that the roots together read as much as all parameters take.

    Without roots the kernel that reads least reads each parameter at least once.
    """
    time, fast = program.time_of(update), program.bandwidth_of(update)
    reads: dict[str, float] = defaultdict(float)
    for number in update:
        reads[program.launches[number].demangled] += float(program.read[number])
    parameters = float(program.read[roots].sum()) if roots else min(reads.values())
    if not np.isfinite(parameters) or not fast:
        return Candidate(
            tuple(update), tuple(update), saved_of(time, time / 3 if roots else time, time), len(update) - 1
        )
    left = (PASSES if roots else PASSES_OF_MOMENTUM) * parameters / fast
    return Candidate(tuple(update), tuple(update), saved_of(time, left, 1.5 * left), len(update) - 1)
