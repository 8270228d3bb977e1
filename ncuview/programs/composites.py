"""Detectors of operators that are written out: attention, normalisations and losses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from ncuview.programs.kinds import Kind
from ncuview.programs.launches import Candidate, Place, Program, by_place, saved_of
from ncuview.programs.traffic import AGREES, ends, sizable, streams, word_of

_BETWEEN: frozenset[Kind] = frozenset(
    {"copy", "elementwise", "cast", "softmax", "create", "compiled", "reduction", "other"}
)
"""What stands between both products of an attention: scale, mask, softmax, dropout."""
_SOFTMAX = {"exp", "sum", "div"}
_MASKS = {"masked_fill", "where", "tril", "triu"}
_REDUCTIONS = {"mean", "sum", "var", "std", "var_mean", "std_mean"}
_ROOTS = {"sqrt", "rsqrt"}
_SCALES = {"mul", "div"}
_PROBABILITIES = {"softmax", "sigmoid", "exp", "logsumexp"}
_LOGARITHMS = {"log", "logsumexp", "log1p"}
SHORTEST_NORM = 5
"""Launches of the shortest normalisation by hand: square, mean, add epsilon, root, scale."""
SHORTEST_LOSS = 4
"""Launches of the shortest loss by hand: probabilities, logarithm, choice of the target, mean."""
BINARY = 20.0
"""Arrays that PyTorch moves at most for its own binary cross entropy: assumed from the time of one step."""
CONTRACTS = 6.0
"""Products that write, and then read, this many times what enters are scores: T / (2 * head size) for attention.

An MLP widens by 4, and the widest output layers, whose weights are read as well, stay below it."""


def attentions(program: Program) -> Iterator[Candidate]:
    """PROG004: a product, a softmax and a product from one function."""
    found = [_attention(program, part, products) for part, products in _written_out(program)]
    found += [_attention(program, part, products) for part, products in _scores_of_xla(program)]
    yield from by_place(program, found)


def _written_out(program: Program) -> Iterator[tuple[list[int], tuple[int, int]]]:
    """Neighbouring products of one function with a softmax of what the first writes and the second reads."""
    products = [number for number, kind in enumerate(program.kinds) if kind == "product"]
    start = 0
    for first, second in pairwise(products):
        between = list(range(first + 1, second))
        one_place = program.places[first] == program.places[second] and not program.calls[first].backward
        if first < start or not one_place or not _is_softmax(program, between, second):
            continue
        before = first
        while (
            before > start
            and program.kinds[before - 1] == "copy"
            and program.places[before - 1] == program.places[first]
        ):
            before -= 1  # heads that the product needs contiguous
        yield list(range(before, second + 1)), (first, second)
        start = second + 1


def _is_softmax(program: Program, between: Sequence[int], second: int) -> bool:
    """Whether launches are a softmax, with scale and mask, of about the array that the second product reads.

    Where the bytes are unknown, the operators decide.
    """
    if not between or any(program.kinds[number] not in _BETWEEN for number in between):
        return False
    read = program.read[second]
    whole = [number for number in between if program.kinds[number] == "softmax"]
    if not whole and {word_of(program, number) for number in between} >= _SOFTMAX:
        whole = [number for number in between if word_of(program, number) == "exp"]
    return any(
        not AGREES * program.read[number] < read and not program.read[number] > AGREES * read for number in whole
    )


def _scores_of_xla(program: Program) -> Iterator[tuple[list[int], tuple[int, int]]]:
    """Where names say nothing: a product writes many times what it reads, and another one reads it back."""
    read, written = program.read, program.written
    for _, run in program.runs():
        if program.frameworks[run[0]] != "jax":
            continue
        products = [number for number in run if program.kinds[number] == "product"]
        used: set[int] = set()
        for first in products:
            if first in used or not written[first] >= CONTRACTS * read[first]:
                continue
            second = next(
                (
                    number
                    for number in products
                    if number > first
                    and read[number] >= CONTRACTS * written[number]
                    and read[number] >= written[first] / 2
                ),
                None,
            )
            if second is None:
                continue
            between = [
                number
                for number in range(first + 1, second)
                if program.kinds[number] != "product" and read[number] >= written[first] / 2
            ]
            if between:
                used |= {first, second}
                yield [first, *between, second], (first, second)


def _attention(program: Program, part: Sequence[int], products: tuple[int, int]) -> Candidate:
    """What is left is the products, at best as busy as the program's best one and without the masked half."""
    words = {word_of(program, number) for number in part}
    slow = program.time_of(products)
    busy = program.tensor[list(products)]
    best = np.nanmax(program.tensor, initial=0.0)
    shares = np.where(np.isfinite(busy) & (busy >= 5) & (best > 0), busy / max(best, 1e-9), 1.0)
    fast = float((program.duration[list(products)] * shares).sum())
    masked = 0.5 if words & _MASKS or not words - {""} else 1.0
    costly = [number for number in part if program.kinds[number] != "copy"]
    return Candidate(tuple(part), tuple(costly), saved_of(program.time_of(part), fast * masked, slow), len(part) - 1)


def normalizations(program: Program) -> Iterator[Candidate]:
    """PROG005: mean, variance or squares, root and scaling from one function."""
    found = []
    for run in streams(program):
        words = {word_of(program, number) for number in run}
        if len(run) >= SHORTEST_NORM and words & _ROOTS and words & _SCALES and words & _REDUCTIONS:
            found.append(run)
    yield from _operators(program, found, 1.0)


def losses(program: Program) -> Iterator[Candidate]:
    """PROG006: probabilities, their logarithm, and a mean, sum or gather of them from one function."""
    found = []
    for run in streams(program, frozenset({"gather", "scatter"})):
        words = [word_of(program, number) for number in run]
        logarithms = {*words} & _LOGARITHMS
        if len(run) < SHORTEST_LOSS or not logarithms or not {*words} & _PROBABILITIES:
            continue
        if {*words[min(map(words.index, logarithms)) :]} & {"mean", "sum", "gather"}:
            found.append(run)
    yield from _operators(program, found, 2.0)


def _operators(program: Program, runs: Iterable[list[int]], least: float) -> Iterator[Candidate]:
    """An operator in place of all runs from one place, which moves at least so many arrays of its input's size."""
    of_place: dict[Place, list[list[int]]] = defaultdict(list)
    for run in runs:
        of_place[program.places[run[0]]].append(run)
    for each in of_place.values():
        if np.isfinite(program.moved[[number for run in each for number in run]]).all():
            yield _operator(program, each, least)


def _operator(program: Program, runs: Sequence[list[int]], least: float) -> Candidate:
    """The operator reads its input and writes its output, at the bandwidth of the best launch or at the usual one.

    Its backward pass reads two such arrays and writes one.
    """
    words = {word_of(program, number) for run in runs for number in run} - {"to"}
    back = [number for part in program.backward_runs(words) if _of(program, part, words) for number in part]
    large = [number for run in runs for number in sizable(program, run)]
    inputs = [float(program.read[sizable(program, run)[0]]) for run in runs]
    moved = sum(max(ends(program, run), least * size) for run, size in zip(runs, inputs, strict=True))
    moved += 3 * sum(inputs) if back else 0.0
    everything = tuple(sorted({*back, *(number for run in runs for number in run)}))
    fast, typical = program.bandwidth_of(large), float(program.moved[large].sum() / program.duration[large].sum())
    time = program.time_of(everything)
    most = max(moved, BINARY * sum(inputs) if "sigmoid" in words else 0.0)
    left = (moved / fast, most / typical) if fast and typical else (time, time)
    removed = len(everything) - len(runs) * (2 if back else 1)
    return Candidate(everything, tuple(large), saved_of(time, *left), removed)


def _of(program: Program, part: Sequence[int], words: set[str]) -> bool:
    """Whether a run of the backward pass is that of the operators that are rare elsewhere."""
    nodes = {program.calls[number].operator for number in part}
    return bool(nodes & words & (_PROBABILITIES | _LOGARITHMS | _ROOTS | {"pow", "var", "std"}))
