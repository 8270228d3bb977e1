"""Sentences about a ``ProgramDiagnosis``: what its lines cost, the first change and what it saves, its processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from ncuview.base.figures import duration, factor
from ncuview.base.paths import shown_path
from ncuview.records.program import REST, UNEVEN, Call, CallTime, Process, ProgramDiagnosis, ProgramFinding

LARGE_CALL = 0.02
"""Calls with less of the kernel time are not listed."""


def program_sentence(program: ProgramDiagnosis) -> str:
    """``9.08 ms of kernels in 58 launches, 55 of them from 7 lines of the program``; a backward pass is of its line."""
    known, lines = 0, set[tuple[str, int]]()
    for each in program.calls:
        if place := each.call.forward or (each.call if each.call.file else None):
            lines.add((place.file, place.line))
            known += each.launches
    of_lines = f"{known:,} of them from {len(lines):,} line{'s'[: len(lines) != 1]} of the program"
    count = sum(each.name != REST for each in program.processes)
    processes = f" of {count:,} processes" if count else ""
    return f"{duration(program.time_ns)} of kernels in {program.launches:,} launches{processes}, {of_lines}"


def change_headline(finding: ProgramFinding) -> str:
    """``Call scaled_dot_product_attention: the program's kernels take 5.57 ms less, 2.42x faster``."""
    return f"{finding.advice.rstrip('.')}: {factor(finding.gain.best)} faster"


def change_bounds(finding: ProgramFinding) -> str:
    """``2.18x to 2.55x for all kernels of the program, 8.30 ms less``."""
    what = "the program" if finding.change == "launch_overhead" else f"all kernels of {_judged(finding)}"
    low, high = factor(finding.gain.low), factor(finding.gain.high)
    return f"{low} to {high} for {what}, {duration(finding.saved_ns.best)} less"


def _judged(finding: ProgramFinding) -> str:
    names = finding.processes
    return "the program" if not names else names[0] if len(names) == 1 else f"{len(names):,} processes"


PROCESS_COLUMNS = ("process", "launches", "time", "share")


def process_name(process: Process) -> str:
    """``process 1 of 2 (python3.12, pid 4711)``."""
    about = ", ".join(filter(None, [process.program, f"pid {process.number}" if process.number else ""]))
    return f"{process.name} ({about})" if about else process.name


def process_words(process: Process) -> str:
    """``34%  rank 0 (python3.12, pid 4711), 50 launches, 5.1 ms``."""
    launches = f"{process.launches:,} launch{'es' if process.launches != 1 else ''}"
    return f"{process.share:.0%}  {process_name(process)}, {launches}, {duration(process.time_ns)}"


class UnevenLine(NamedTuple):
    """A line that takes longer in one process than in another."""

    each: CallTime
    ratio: float
    """The longest time over the shortest one."""
    longest: int
    """The position of the process where it takes longest."""
    shortest: int


def uneven_lines(program: ProgramDiagnosis) -> list[UnevenLine]:
    """The large lines whose time differs most among the processes that run them, the largest ratio first."""
    return sorted(_uneven(program), key=lambda line: -line.ratio)


def _uneven(program: ProgramDiagnosis) -> Iterator[UnevenLine]:
    for each in program.calls:
        ran = [place for place, time in enumerate(each.times_ns) if time > 0]
        if len(ran) > 1 and each.share >= LARGE_CALL:
            longest, shortest = (pick(ran, key=each.times_ns.__getitem__) for pick in (max, min))
            ratio = each.times_ns[longest] / each.times_ns[shortest]
            if ratio >= UNEVEN:
                yield UnevenLine(each, ratio, longest, shortest)


def uneven_words(program: ProgramDiagnosis, line: UnevenLine) -> str:
    """``2.03x the time in rank 1 (2.03 ms) as in rank 0 (1 ms): train.py:34 attend (softmax)``."""
    longest, shortest = (
        f"{program.processes[at].name} ({duration(line.each.times_ns[at])})" for at in (line.longest, line.shortest)
    )
    return f"{factor(line.ratio)} the time in {longest} as in {shortest}: {call_words(line.each.call)}"


def call_words(call: Call) -> str:
    """``train.py:34 attend (softmax)``, or ``backward of`` this; ``backward of softmax`` where no line is known."""
    if call.forward and not call.file:
        forward = Call(call.forward.file, call.forward.line, call.forward.function, call.operator)
        return f"backward of {call_words(forward)}"
    if call.backward and not call.file:
        return f"backward of {call.operator}" if call.operator else "a backward pass"
    place = f"{shown_path(call.file)}:{call.line}" if call.line else shown_path(call.file)
    operator = f"backward of {call.operator}" if call.backward and call.operator else call.operator
    of = f" ({operator})" if operator else ""
    return f"{place} {call.function}{of}".strip() if call.file else operator


def calls_words(calls: Sequence[Call]) -> str:
    """``train.py:34-36, 40 attend (matmul, softmax); train.py:50 loss (sum)``: lines of one function together."""
    functions: dict[tuple[str, str, bool], list[Call]] = {}
    for call in calls:
        functions.setdefault((call.file, call.function, bool(call.backward or not call.line)), []).append(call)
    parts = (
        map(call_words, of_one) if apart or len(of_one) == 1 else [_lines_words(of_one)]
        for (_, _, apart), of_one in functions.items()
    )
    return "; ".join(chain.from_iterable(parts))


def _lines_words(calls: Sequence[Call]) -> str:
    """The lines of one function, in the order of the source, with their operators."""
    by_line = sorted(calls, key=lambda call: call.line)
    lines = sorted({call.line for call in calls})
    starts = [line for line in lines if line - 1 not in lines]
    ends = [line for line in lines if line + 1 not in lines]
    spans = (f"{start}-{end}" if end > start else str(start) for start, end in zip(starts, ends, strict=True))
    operators = ", ".join(dict.fromkeys(call.operator for call in by_line if call.operator))
    place = f"{shown_path(by_line[0].file)}:{', '.join(spans)} {by_line[0].function}"
    return f"{place} ({operators})" if operators else place


def call_time_words(each: CallTime) -> str:
    """``42%  train.py:34 attend (softmax), 12 launches``."""
    launches = f"{each.launches:,} launch{'es' if each.launches != 1 else ''}"
    return f"{each.share:.0%}  {call_words(each.call)}, {launches}"
