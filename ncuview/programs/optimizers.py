"""The detector of optimizers that make many passes over the parameters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ncuview.programs.launches import Candidate, Program, by_place, saved_of
from ncuview.programs.traffic import streams, word_of

TORCH = "torch/optim/"
PASSES = 7.0
"""Arrays that a fused Adam moves: it reads parameter, gradient and both moments, and writes all but the gradient."""
FEWEST = 6
"""An update with fewer launches is no Adam."""


def optimizers(program: Program) -> Iterator[Candidate]:
    """PROG007: an Adam whose update of the parameters is many launches."""
    yield from by_place(program, [*_of_library(program), *_by_hand(program)])


def _of_library(program: Program) -> Iterator[Candidate]:
    """``foreach=False`` and ``foreach=True`` of torch.optim."""
    found = [
        number
        for number, call in enumerate(program.calls)
        if call.library.startswith(TORCH) and "Fused" not in program.launches[number].demangled
    ]
    roots = [number for number in found if "sqrt" in word_of(program, number)]
    if len(found) >= FEWEST and roots:
        yield _update(program, found, roots)


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
    """Each root reads one array, so that the roots together read as much as all parameters take."""
    time = program.time_of(update)
    parameters, fast = float(program.read[roots].sum()), program.bandwidth_of(update)
    if not np.isfinite(parameters) or not fast:
        return Candidate(tuple(update), tuple(update), saved_of(time, time / 3, time), len(update) - 1)
    left = PASSES * parameters / fast
    return Candidate(tuple(update), tuple(update), saved_of(time, left, 1.5 * left), len(update) - 1)
