"""Places of calls in words."""

from __future__ import annotations

import pytest

from ncuview.records.profile import Frame
from ncuview.records.program import Call, CallTime, ProgramDiagnosis
from ncuview.render.program_words import calls_words, program_sentence


def call(line: int, operator: str = "", file: str = "a.py", function: str = "f") -> Call:
    return Call(file, line, function, operator)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([call(5, "mul")], "a.py:5 f (mul)"),
        ([call(7, "softmax"), call(5, "matmul"), call(6, "div")], "a.py:5-7 f (matmul, div, softmax)"),
        ([call(9, "add"), call(5, "add"), call(6, "div")], "a.py:5-6, 9 f (add, div)"),
        ([call(5), call(8)], "a.py:5, 8 f"),
        ([call(5, "mul"), call(6, "add"), call(2, "sum", function="g")], "a.py:5-6 f (mul, add); a.py:2 g (sum)"),
        ([call(5, "mul"), call(6, "add", file="b.py")], "a.py:5 f (mul); b.py:6 f (add)"),
        (
            [
                Call("", 0, "", "mul", "MulBackward0", forward=Frame("f", "a.py", 3)),
                Call("", 0, "", "add", "AddBackward0"),
            ],
            "backward of a.py:3 f (mul); backward of add",
        ),
    ],
)
def test_lines_of_a_function_stand_together(calls: list[Call], words: str) -> None:
    assert calls_words(calls) == words


def test_launches_of_a_backward_pass_count_to_their_line() -> None:
    calls = [
        call(3, "mul"),
        Call("", 0, "", "mul", "MulBackward0", forward=Frame("f", "a.py", 3)),
        Call("", 0, "", "add", "AddBackward0"),
    ]
    times = tuple(CallTime(each, 2, 500.0, 0.5) for each in calls)
    program = ProgramDiagnosis(1_500.0, 6, times, (), ())
    assert program_sentence(program) == "1.5 us of kernels in 6 launches, 4 of them from 1 line of the program"
