"""Detectors of streaming work: chains that could be fused, conversions of precision, and copies to another layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from ncuview.programs.launches import SHORT_NS, Candidate, Program, by_place, saved_of, together
from ncuview.programs.operators import REAL_TO_COMPLEX
from ncuview.programs.traffic import fused_rest, linked, sizable, streams, word_of
from ncuview.records.program import Estimate

FEWEST = 3
"""A chain has at least as many launches; shorter ones are often the epilogue of a product that stays."""
STREAMS_AT = 0.5
"""A user's own kernel counts as streaming where it attains this share of the program's best bandwidth."""
WIDENS = 2.5
"""Floating-point types widen by 2: a cast that writes more than this many times what it reads decodes bytes."""
EQUAL = 0.01
"""Counts of the same bytes differ by no larger share: a report counts parameters and instructions as well."""
READS = 3.5
"""A softmax reads its input up to twice, its backward pass three arrays of that size."""
PRODUCTS = {"linear", "matmul", "addmm", "mm", "bmm", "conv1d", "conv2d", "conv3d", "einsum"}
"""Operators whose operands autocast converts: in a training step after each update, in inference again and again."""


def chains(program: Program) -> Iterator[Candidate]:
    """PROG001: streaming launches from one function, each of which reads what the last one wrote."""
    found = [
        Candidate(
            tuple(chain),
            tuple(sizable(program, chain)),
            saved_of(program.time_of(chain), *fused_rest(program, chain)),
            len(chain) - 1,
        )
        for chain in (*_of_library(program), *_of_own_kernels(program))
    ]
    yield from by_place(program, found)


def _of_library(program: Program) -> Iterator[list[int]]:
    """Chains of places that have one of three launches or more: what is fused there is the whole function.

    Launches of another framework than the ones before, such as sums by CUB in CuPy, stay launches of their own.
    """
    parts = (list(part) for run in streams(program) for _, part in groupby(run, key=program.frameworks.__getitem__))
    found = [chain for part in parts for chain in linked(program, part) if _computes(program, chain)]
    places = {program.places[chain[0]] for chain in found if len(sizable(program, chain)) >= FEWEST}
    yield from (chain for chain in found if program.places[chain[0]] in places)


def _computes(program: Program, chain: Sequence[int]) -> bool:
    """Whether a chain has two sizable launches that do more than copy, and none that XLA has fused already."""
    large = sizable(program, chain)
    computing = [number for number in large if program.kinds[number] not in {"cast", "copy", "create"}]
    return len(computing) > 1 and (program.frameworks[large[0]] != "jax" or _is_eager(program, large[0]))


def _is_eager(program: Program, number: int) -> bool:
    """Whether launches come from many lines of the function: XLA has fused what one jitted call launches."""
    same = (at for at, place in enumerate(program.places) if place == program.places[number])
    return len({program.calls[at].line for at in same}) >= FEWEST


def _of_own_kernels(program: Program) -> Iterator[list[int]]:
    """Different kernels of the user in a row, of one configuration, that all are near the best bandwidth."""
    for _, run in program.runs():
        of_grid = groupby(run, key=lambda number: (program.launches[number].grid, program.launches[number].block))
        for different in (part for _, same in of_grid for part in _different_kernels(program, same)):
            yield from (chain for chain in linked(program, different) if len(chain) >= FEWEST)


def _different_kernels(program: Program, launches: Iterable[int]) -> Iterator[list[int]]:
    """Parts in which no kernel comes twice: the same kernel again is a step of time, or another array."""
    part: list[int] = []
    for number in launches:
        own = program.kinds[number] in {"other", "softmax", "reduction"} and _streams(program, number)
        again = program.launches[number].demangled in {program.launches[earlier].demangled for earlier in part}
        if part and (again or not own):
            yield part
            part = []
        if own:
            part.append(number)
    if part:
        yield part


def _streams(program: Program, number: int) -> bool:
    user_written = program.frameworks[number] in {"triton", "numba", "cupy"}
    rate = program.moved[number] / program.duration[number]
    return bool(user_written and rate >= STREAMS_AT * program.bandwidth > 0)


def conversions(program: Program) -> Iterator[Candidate]:
    """PROG002: casts that the program asks for, and what moves in the wider type until the result is cast back."""
    casts = [number for number, kind in enumerate(program.kinds) if kind == "cast" and _asked(program, number)]
    if not casts:
        return
    wide = {size for number in casts if (size := _wide(program, number))}
    later = [
        number
        for number in range(casts[0], len(program.launches))
        if program.kinds[number] in {"softmax", "norm", "reduction"}
        and any(0.8 * size <= program.read[number] <= READS * size for size in wide)
    ]
    halved = _reads_all(program, casts)
    later = [number for number in later if number not in halved]
    time = program.time_of(casts) + program.time_of(halved) / 2
    yield Candidate(
        (*casts, *halved, *later),
        tuple(number for number in casts if not program.calls[number].backward) or tuple(casts),
        Estimate(time, time + program.time_of(later) / 4, time + program.time_of(later) / 2),
        len(casts),
    )


def _reads_all(program: Program, casts: Sequence[int]) -> set[int]:
    """The launches that read what casts just before them made twice as wide, and nothing else: half of it is left."""
    found, asked = set[int](), {*casts}
    for number in range(casts[0] + 1, len(program.launches)):
        first = number
        while first - 1 in asked and _wide(program, first - 1):
            first -= 1
        wide = 2 * program.read[first:number].sum()
        one_place = {program.places[before] for before in range(first, number)} == {program.places[number]}
        if number not in asked and one_place and abs(program.read[number] - wide) <= EQUAL * wide:
            found.add(number)
    return found


def _asked(program: Program, number: int) -> bool:
    """Whether a cast is an operator of its own: autocast's are inside of products, and follow the weights.

    Real arrays are made complex by what transforms them.
    """
    call = program.calls[number]
    if REAL_TO_COMPLEX.match(program.launches[number].kernel):
        return False
    read, written = program.read[number], program.written[number]
    if np.isfinite(read) and np.isfinite(written) and written >= WIDENS * max(read, 1):
        return False
    if call.backward:  # of a forward cast of about the size, not of the weights that autocast converts
        return any(
            program.moved[forward] >= 0.5 * program.moved[number]
            for forward, kind in enumerate(program.kinds[:number])
            if kind == "cast" and not program.calls[forward].backward and _explicit(program, forward)
        ) and call.operator in {"to_copy", "to"}
    trains = any(each.backward for each in program.calls)
    return _explicit(program, number) or (not trains and call.operator in PRODUCTS)


def _explicit(program: Program, number: int) -> bool:
    call = program.calls[number]
    return call.operator in {"to", "_to_copy", "type_as", "float", "half", "bfloat16", "double", ""} and call.line > 0


def _wide(program: Program, number: int) -> float:
    """What a cast to a wider type writes; 0 for a cast to a narrower one."""
    read, written = program.read[number], program.written[number]
    return float(written) if written > 1.3 * read else 0.0


def _by_channel(program: Program) -> Iterator[Candidate]:
    """Batch normalisations in NCHW, a block for each channel of an image: in NHWC at best as fast as bytes move."""
    for number in range(len(program.launches)):
        if word_of(program, number) == "batch_norm" and program.moved[number] > 0 < program.bandwidth:
            time, least = float(program.duration[number]), float(program.moved[number] / program.bandwidth)
            yield Candidate((number,), (), saved_of(time, least, time))


def layouts(program: Program) -> Iterator[Candidate]:
    """PROG003: kernels that only change the layout around convolutions, and copies that transpose."""
    around = [number for number, kind in enumerate(program.kinds) if kind == "layout"]
    if around:
        time = program.time_of(around)
        kept = program.time_of([around[0], around[-1]]) if len(around) > 2 else time
        forward = tuple(number for number in around if program.calls[number].line) or tuple(around)
        conversions_ = Candidate(tuple(around), forward, saved_of(time, 0.0, kept), len(around))
        yield together([conversions_, *_by_channel(program)])
    copies = [number for number, kind in enumerate(program.kinds) if kind == "copy" and program.calls[number].line]
    slow = [
        number
        for number in copies
        if program.moved[number] / program.duration[number] < STREAMS_AT * program.bandwidth
        and program.duration[number] >= SHORT_NS
        and program.calls[number].operator in {"contiguous", "clone", "reshape", ""}
    ]
    found = [
        Candidate(
            (number,),
            (number,),
            saved_of(program.duration[number], 1.0, program.moved[number] / program.bandwidth),
            1,
        )
        for number in slow
    ]
    yield from by_place(program, found)
