"""Sentences about a ``ProgramDiagnosis``: what its lines cost, the first change, where it is and what it saves."""

from __future__ import annotations

from ncuview.base.figures import duration, factor
from ncuview.base.paths import shown_path
from ncuview.records.program import Call, CallTime, ProgramDiagnosis, ProgramFinding

LARGE_CALL = 0.02
"""Calls with less of the kernel time are not listed."""


def program_sentence(program: ProgramDiagnosis) -> str:
    """``9.08 ms of kernels in 58 launches, 55 of them from 7 lines of the program``."""
    lines = [each for each in program.calls if each.call.file]
    known = sum(each.launches for each in lines)
    of_lines = f"{known:,} of them from {len(lines):,} line{'s'[: len(lines) != 1]} of the program"
    return f"{duration(program.time_ns)} of kernels in {program.launches:,} launches, {of_lines}"


def change_headline(finding: ProgramFinding) -> str:
    """``Call scaled_dot_product_attention: the program's kernels take 5.57 ms less, 2.42x faster``."""
    return f"{finding.advice.rstrip('.')}: {factor(finding.gain.best)} faster"


def change_bounds(finding: ProgramFinding) -> str:
    """``2.18x to 2.55x for all kernels of the program, 8.30 ms less``."""
    what = "the program" if finding.change == "launch_overhead" else "all kernels of the program"
    low, high = factor(finding.gain.low), factor(finding.gain.high)
    return f"{low} to {high} for {what}, {duration(finding.saved_ns.best)} less"


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


def call_time_words(each: CallTime) -> str:
    """``42%  train.py:34 attend (softmax), 12 launches``."""
    launches = f"{each.launches:,} launch{'es' if each.launches != 1 else ''}"
    return f"{each.share:.0%}  {call_words(each.call)}, {launches}"
