"""Detectors of operators that are written out: attention, normalisations and losses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from ncuview.programs.kinds import Kind
from ncuview.programs.launches import Candidate, Place, Program, by_place, saved_of, together
from ncuview.programs.traffic import AGREES, ends, sizable, streams, word_of

_Left = Callable[[Program, Sequence[list[int]], Sequence[int]], tuple[float, float]]
"""The least and the most time that an operator takes in place of runs and of their backward pass, in ns."""
_Backward = Callable[[Program, list[int]], list[int]]
"""The part of a backward pass that an operator takes the place of."""
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

ELEMENTWISE_OF_XLA = "loop_"
"""What XLA's names of fusions without a reduction begin with: a softmax of rows is none."""
ROW_OF_A_BLOCK = 512.0
"""Elements of a row that PyTorch's layer and RMS norms take in one step: a block has 128 threads and one row, and each
thread reads four elements. A block takes as long for a shorter row."""


def attentions(program: Program) -> Iterator[Candidate]:
    """PROG004: a product, a softmax and a product from one function."""
    found = [_attention(program, part, products) for part, products in _written_out(program)]
    taken = {number for candidate in found for number in candidate.launches}
    back = [_attention_backward(program, part) for part in _between_gradients(program)]
    if len(back) == len(found):  # the last one comes first
        found = [together(pair) for pair in zip(found, reversed(back), strict=True)]
    by_bytes = [(part, products) for part, products in _scores_of_xla(program) if not taken & {*part}]
    found += [_attention(program, part, products) for part, products in by_bytes]
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
            if not all(program.launches[number].kernel.startswith(ELEMENTWISE_OF_XLA) for number in between):
                used |= {first, second}
                yield [first, *between, second], (first, second)


def _between_gradients(program: Program) -> Iterator[list[int]]:
    """The backward pass of a softmax between two products before it and two after it: gradients of both operands."""
    products = [number for number, call in enumerate(program.calls) if call.backward and _is_product(program, number)]
    for first, second in pairwise(products):
        between = range(first + 1, second)
        softmax = any(program.kinds[number] == "softmax" for number in between)
        streaming = all(program.kinds[number] in _BETWEEN and program.calls[number].backward for number in between)
        if softmax and streaming and {first - 1, second + 1} <= {*products}:
            yield list(range(first - 1, second + 2))


def _is_product(program: Program, number: int) -> bool:
    return program.kinds[number] == "product"


def _attention_backward(program: Program, part: Sequence[int]) -> Candidate:
    """What is left is the products, and the scores' once more, which are not kept."""
    products = [number for number in part if _is_product(program, number)]
    fast, slow = ((len(products) + 1) / len(products) * time for time in _products(program, products))
    return Candidate(tuple(part), (), saved_of(program.time_of(part), fast, slow), len(part) - 1)


def _products(program: Program, products: Sequence[int]) -> tuple[float, float]:
    """The time of products if each were as busy as the program's best one, and as it is."""
    busy = program.tensor[list(products)]
    best = np.nanmax(program.tensor, initial=0.0)
    shares = np.where(np.isfinite(busy) & (busy >= 5) & (best > 0), busy / max(best, 1e-9), 1.0)
    return float((program.duration[list(products)] * shares).sum()), program.time_of(products)


def _attention(program: Program, part: Sequence[int], products: tuple[int, int]) -> Candidate:
    """What is left is the products, at best as busy as the program's best one and without the masked half."""
    words = {word_of(program, number) for number in part}
    fast, slow = _products(program, products)
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
    yield from _operators(program, found, _norm)


def losses(program: Program) -> Iterator[Candidate]:
    """PROG006: probabilities, their logarithm, and a mean, sum or gather of them from one function."""
    found = []
    for run in streams(program, frozenset({"gather", "scatter"})):
        words = [word_of(program, number) for number in run]
        logarithms = {*words} & _LOGARITHMS
        if len(run) < SHORTEST_LOSS or not logarithms or not {*words} & _PROBABILITIES:
            continue
        if {*words[min(map(words.index, logarithms)) :]} & {"mean", "sum", "gather"}:
            first = min(words.index(word) for word in {*words} & _PROBABILITIES)
            found.append(run[first:])  # a cast or a scale of the logits stays
    yield from _operators(program, found, _loss, _without_casts_at_its_end)


def _operators(
    program: Program, runs: Iterable[list[int]], left: _Left, backward: _Backward | None = None
) -> Iterator[Candidate]:
    """An operator in place of all runs from one place, and of what ``backward`` takes of their backward passes."""
    of_place: dict[Place, list[list[int]]] = defaultdict(list)
    for run in runs:
        of_place[program.places[run[0]]].append(run)
    for each in of_place.values():
        if np.isfinite(program.moved[[number for run in each for number in run]]).all():
            yield _operator(program, each, left, backward)


def _operator(program: Program, runs: Sequence[list[int]], left: _Left, backward: _Backward | None) -> Candidate:
    words = {word_of(program, number) for run in runs for number in run} - {"to"}
    parts = (part for part in program.backward_runs(words) if _of(program, part, words))
    back = [number for part in parts for number in (backward(program, part) if backward else part)]
    large = [number for run in runs for number in sizable(program, run)]
    everything = tuple(sorted({*back, *(number for run in runs for number in run)}))
    removed = len(everything) - len(runs) * (2 if back else 1)
    return Candidate(
        everything, tuple(large), saved_of(program.time_of(everything), *left(program, runs, back)), removed
    )


def _without_casts_at_its_end(program: Program, part: list[int]) -> list[int]:
    """A backward pass without the casts of its gradient, which follow the casts of its input."""
    last = next(at for at in reversed(range(len(part))) if program.kinds[part[at]] != "cast" or not at)
    return part[: last + 1]


def _norm(program: Program, runs: Sequence[list[int]], back: Sequence[int]) -> tuple[float, float]:
    """The operator reads its input and writes its output, at the bandwidth of the best launch or at the usual one.

    Its backward pass reads two such arrays and writes one. Short rows leave threads of PyTorch's blocks idle.
    """
    used = min(1.0, _row(program, runs) / ROW_OF_A_BLOCK)
    fast, typical = _moves(program, runs, back, 1.0)
    return fast / used, typical / used


def _row(program: Program, runs: Sequence[list[int]]) -> float:
    """How many elements a row has: a root reads one for each row, a mean or sum all of them; infinite if unknown."""
    everything = [number for run in runs for number in run]
    sums = [program.read[number] for number in everything if word_of(program, number) in _REDUCTIONS]
    roots = [program.read[number] for number in everything if word_of(program, number) in _ROOTS]
    of_torch = program.frameworks[everything[0]] == "pytorch"
    return max(sums) / max(roots) if of_torch and max(roots) > 0 else np.inf


def _loss(program: Program, runs: Sequence[list[int]], back: Sequence[int]) -> tuple[float, float]:
    """A whole softmax stays, forward and backward, as the operator's own, and its backward pass fills an array.

    Of others, the operator moves two arrays forward and three backward.
    """
    passes = [number for run in runs for number in run if program.kinds[number] == "softmax"]
    again = [number for number in back if program.kinds[number] == "softmax"]
    if not passes or (back and not again):
        return _moves(program, runs, back, 2.0)
    filled = float(np.nansum(program.written[again])) / program.bandwidth if program.bandwidth else 0.0
    return (program.time_of([*passes, *again]) + filled,) * 2


def _moves(program: Program, runs: Sequence[list[int]], back: Sequence[int], least: float) -> tuple[float, float]:
    """The time to read and write at least so many arrays of the input's size, and three more backward."""
    large = [number for run in runs for number in sizable(program, run)]
    inputs = [float(program.read[sizable(program, run)[0]]) for run in runs]
    moved = sum(max(ends(program, run), least * size) for run, size in zip(runs, inputs, strict=True))
    moved += 3 * sum(inputs) if back else 0.0
    fast, typical = program.bandwidth_of(large), float(program.moved[large].sum() / program.duration[large].sum())
    if not fast or not typical:
        return np.inf, np.inf
    binary = any(word_of(program, number) == "sigmoid" for run in runs for number in run)
    return moved / fast, max(moved, BINARY * sum(inputs) if binary else 0.0) / typical


def _of(program: Program, part: Sequence[int], words: set[str]) -> bool:
    """Whether a run of the backward pass is that of the operators that are rare elsewhere."""
    nodes = {program.calls[number].operator for number in part}
    return bool(nodes & words & (_PROBABILITIES | _LOGARITHMS | _ROOTS | {"pow", "var", "std"}))
