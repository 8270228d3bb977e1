"""``advise``: what to change in a program, from the sequence of its launches; what saves most comes first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from ncuview.programs.composites import attentions, losses, normalizations
from ncuview.programs.elementwise import chains, conversions, layouts
from ncuview.programs.launches import Candidate, Program
from ncuview.programs.operators import appended, messages, one_hot_products, real_transforms, sorted_for_few
from ncuview.programs.optimizers import optimizers
from ncuview.programs.products import on_fma_pipes
from ncuview.programs.repeats import host_work, launch_gaps, loops, same_again
from ncuview.programs.rule_file import ProgramRule, program_rules
from ncuview.programs.traffic import share_of
from ncuview.records.program import (
    Call,
    Change,
    Estimate,
    KernelTrace,
    ProgramFinding,
    ProgramGpu,
    ProgramLaunch,
)

Detector = Callable[[Program], Iterator[Candidate]]
DETECTORS: Mapping[str, Detector] = {
    "PROG001": chains,
    "PROG002": conversions,
    "PROG003": layouts,
    "PROG004": attentions,
    "PROG005": normalizations,
    "PROG006": losses,
    "PROG007": optimizers,
    "PROG008": on_fma_pipes,
    "PROG009": loops,
    "PROG010": same_again,
    "PROG011": launch_gaps,
    "PROG012": messages,
    "PROG013": appended,
    "PROG014": sorted_for_few,
    "PROG015": one_hot_products,
    "PROG016": host_work,
    "PROG017": real_transforms,
}
LEAST = 0.1
"""A change that saves less of the step is no advice."""
MOST_CALLS = 5
SAME_NUMBER = 0.1
"""Two runs of a program differ by no larger share of its launches."""
OPERATORS: frozenset[Change] = frozenset({"attention", "normalization", "loss", "optimizer"})
GENERIC: frozenset[Change] = frozenset({"fuse", "fewer_conversions", "memory_format"})
BETWEEN: frozenset[Change] = frozenset({"launch_overhead", "host_transfer"})
"""Changes that shorten the time between kernels, which no other finding counts."""
AROUND: frozenset[Change] = frozenset({"launch_overhead", "host_transfer", "repeated_work"})
"""Changes of the code around the calls."""
Found = tuple[ProgramRule, Candidate]


class Line(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int
    function: str


def advise(
    launches: Sequence[ProgramLaunch], trace: KernelTrace | None = None, gpu: ProgramGpu | None = None
) -> tuple[ProgramFinding, ...]:
    """What to change in a program; empty where nothing saves a tenth of the step.

    Without call stacks nothing shows which launches belong together, and there is no call to change. Savings are not
    added up: of launches that an earlier finding shortens, a later one counts only the others.

    Args:
        launches: The launches of the program, or of one step, in order.
        trace: The times between the kernels of the same program without the profiler. It says nothing where it has
            another number of launches, as of a program that chooses kernels by their times.
        gpu: The figures of the GPU that it ran on; None for those of a GPU without a table.
    """
    program = Program(launches, trace if trace and is_of(trace, len(launches)) else None, gpu or ProgramGpu())
    if len(launches) < 2 or not program.total_ns > 0:
        return ()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [
            (rule, each)
            for rule in program_rules()
            for each in DETECTORS[rule.code](program)
            if any(program.calls[number].function for number in each.calls) and _has_terms(program, rule, each)
        ]
    found = _without_generic(program, found)
    found.sort(key=lambda pair: _step_saved(program, pair[1]), reverse=True)
    kept, taken = list[Found](), set[int]()
    for rule, candidate in found:
        left = candidate if rule.change in BETWEEN else _apart_from(program, candidate, taken)
        if _step_saved(program, left) >= LEAST * program.step_ns:
            kept.append((rule, left))
            taken |= set() if rule.change in BETWEEN else {*left.launches}
    removed = sum(candidate.removed for _, candidate in kept)
    kept.sort(key=lambda pair: _saved_after(program, pair, removed), reverse=True)
    return tuple(_finding(program, rule, candidate) for rule, candidate in kept)


def _has_terms(program: Program, rule: ProgramRule, candidate: Candidate) -> bool:
    """Whether a rule names a change that the program can make: one in C++ has no use for an operator of Python."""
    return program.frameworks[candidate.calls[0]] != "cuda" or "cuda" in rule.frameworks


def _without_generic(program: Program, found: Sequence[Found]) -> list[Found]:
    """Of chains and conversions, only what no operator replaces: the bytes of an operator are known better."""
    replaced = {
        number
        for rule, each in found
        if rule.change in OPERATORS and _step_saved(program, each) >= LEAST * program.step_ns
        for number in each.launches
    }
    return [(rule, _apart_from(program, each, replaced) if rule.change in GENERIC else each) for rule, each in found]


def _apart_from(program: Program, candidate: Candidate, taken: AbstractSet[int]) -> Candidate:
    """The part of a candidate whose launches no other finding shortens, with its share of the saving."""
    own = tuple(number for number in candidate.launches if number not in taken)
    whole = program.time_of(candidate.launches)
    share = program.time_of(own) / whole if whole else 0.0
    calls = tuple(number for number in candidate.calls if number not in taken) or candidate.calls
    return Candidate(own, calls, share_of(candidate.saved, share), candidate.removed * share)


def is_of(trace: KernelTrace, launches: int) -> bool:
    """Whether a trace is of a program with so many launches, but for some that it chooses by their times."""
    return abs(trace.launches - launches) <= SAME_NUMBER * launches


def _step_saved(program: Program, candidate: Candidate) -> float:
    """The kernel time, and the time between kernels, that goes away with a candidate."""
    return candidate.saved.best + candidate.removed * program.gap_ns


def _saved_after(program: Program, found: Found, removed: float) -> float:
    """The time of the step that a change saves after those that remove so many launches, and the gaps beside them."""
    rule, candidate = found
    share = 1 - removed / len(program.launches) if rule.change == "launch_overhead" else 1.0
    return share * _step_saved(program, candidate)


def _finding(program: Program, rule: ProgramRule, candidate: Candidate) -> ProgramFinding:
    between = rule.change in BETWEEN
    base = program.step_ns if between else program.total_ns
    kept = Estimate(*(float(min(max(0.0, bound), base * (1 - 1e-6))) for bound in candidate.saved))
    first = candidate.calls[0]
    terms = rule.frameworks.get(program.frameworks[first]) or next(iter(rule.frameworks.values()))
    share = program.time_of(candidate.launches) / program.total_ns if program.total_ns else 0.0
    words = {"launches": f"{len(candidate.launches):,}", "share": f"{share:.0%}", "saved": f"{kept.best / 1e6:.2f} ms"}
    return ProgramFinding(
        rule.code,
        rule.name,
        rule.change,
        _calls(program, candidate, rule.change),
        candidate.launches,
        kept,
        Estimate(*(base / (base - bound) for bound in kept)),
        rule.message.format(**words),
        terms.advice,
        terms.link,
    )


def _calls(program: Program, candidate: Candidate, change: Change) -> tuple[Call, ...]:
    """The calls to change, one for each line, the costliest first; where a loop is to be changed, its line first."""
    times: dict[Line, float] = defaultdict(float)
    call_at: dict[Line, Call] = {}
    for number in candidate.calls:
        call = program.calls[number]
        line = Line(call.file, call.line, call.function)
        times[line] += float(program.duration[number])
        call_at.setdefault(line, call)
    costly = sorted(times, key=lambda line: times[line], reverse=True)
    around = _common_caller(program, candidate) if change in AROUND else None
    return tuple(([around] if around else []) + [call_at[line] for line in costly[:MOST_CALLS]])


def _common_caller(program: Program, candidate: Candidate) -> Call | None:
    """The innermost line of the user that all calls came through, where it is not the line of the calls themselves."""
    calls = [program.calls[number] for number in candidate.calls]
    shared = set.intersection(*({*call.callers} for call in calls))
    frame = next((frame for frame in calls[0].callers if frame in shared), None)
    if frame is None or len({(call.file, call.line) for call in calls}) == 1:
        return None
    return Call(frame.file, frame.line, frame.function)
