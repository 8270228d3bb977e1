"""Loops of constant length get a pragma, on a line of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncuview.patch import NoEdit, propose
from ncuview.patch.loops import counted
from ncuview.patch.program import Program
from tests.patch.building import PROGRAMS, applied, count, edit, refusal, sass

UNROLLING = "unroll"


def looping(loop: str, head: str = "", before: str = "") -> str:
    return f"""{head}
__global__ void k(unsigned *data, int n)
{{
    unsigned word = data[threadIdx.x];
{before}    {loop}
        word ^= word << 1;
    data[threadIdx.x] = word;
}}
"""


@pytest.mark.parametrize(
    ("loop", "head", "pragma"),
    [
        ("for (int i = 0; i < 8; i++)", "", "#pragma unroll"),
        ("for (int i = 7; i >= 0; --i)", "", "#pragma unroll"),
        ("for (unsigned i = 1; i <= N; i += 2)", "#define N (3 * 5)", "#pragma unroll"),
        ("for (int i = 0; i != N; ++i)", "constexpr int N = 4;", "#pragma unroll"),
        ("for (int i = 0, j = 3; i < 64; i++)", "", "#pragma unroll"),
        ("for (int i = 0; i < 65; i++)", "", "#pragma unroll 16"),
        ("for (int i = 0; i < n; i++)", "", "#pragma unroll 4"),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x)", "", "#pragma unroll 4"),
        ("for (int i = 0; i < N; i++)", "#ifndef N\n#define N 8\n#endif", "#pragma unroll 4"),
    ],
)
def test_a_loop_of_constant_length_is_marked(loop: str, head: str, pragma: str, tmp_path: Path) -> None:
    source = looping(loop, head)
    after = applied(source, edit(source, UNROLLING, "word <<"), tmp_path)
    assert after == looping(loop, head, f"    {pragma}\n")
    assert "marked for unrolling" in refusal(after, UNROLLING, "word <<")


def test_the_pragma_has_the_files_own_margin_and_line_ends(tmp_path: Path) -> None:
    source = looping("for (int i = 0; i < 8; i++)").replace("    ", "\t").replace("\n", "\r\n")
    after = applied(source, edit(source, UNROLLING, "word <<"), tmp_path)
    assert "\r\n\t#pragma unroll\r\n\tfor" in after
    assert after.count("\n") == after.count("\r\n")


def test_a_pragma_that_forbids_is_changed(tmp_path: Path) -> None:
    source = looping("for (int i = 0; i < 8; i++)", before="    #pragma unroll 1  // why?\n    // a remark\n")
    after = applied(source, edit(source, UNROLLING, "word <<"), tmp_path)
    assert after == source.replace("unroll 1  //", "unroll  //")


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("for (int i = 0; i < 8; i *= 2)", "equal steps"),
        ("for (int i = 0; i < 8; i += data[i])", "equal steps"),
        ("for (int i = 0; i < word; i++)", "equal steps"),
        ("for (int i = 0; i < 8; i += word)", "equal steps"),
        ("while (word < 8)", "no for loop"),
        ("for (int i = 0; i < 1; i++)", "no second iteration"),
        ("if (n) for (int i = 0; i < 8; i++)", "is not at the beginning of its line"),
        ("if (n)\n    for (int i = 0; i < 8; i++)", "is the body of another"),
        ("for (int i = 0; i < 8; i++) i += word,", "equal steps"),
    ],
)
def test_other_loops_are_refused(loop: str, reason: str) -> None:
    assert reason in refusal(looping(loop), UNROLLING, "word <<")


def test_loads_of_an_open_loop_are_issued_together(tmp_path: Path) -> None:
    source = """
__global__ void k(const float *__restrict__ in, float *out, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += in[i];
    out[threadIdx.x] = sum;
}
"""
    after = applied(source, edit(source, UNROLLING, "sum +="), tmp_path)
    assert count(sass(after, tmp_path / "1"), "LDG") > count(sass(source, tmp_path / "0"), "LDG")


def test_all_loops_over_a_local_array_are_unrolled_or_none(tmp_path: Path) -> None:
    source = """
__global__ void k(float *data, int n)
{
    float window[8];
    for (int i = 0; i < 8; i++)
        window[i] = data[i];
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 8; i++)
            window[i] += window[(i + 1) % 8];
    data[0] = window[7];
}
"""
    after = applied(source, edit(source, UNROLLING, "window[i] +="), tmp_path)
    assert after.count("#pragma unroll\n") == 2
    open_ended = source.replace(
        "for (int i = 0; i < 8; i++)\n        window[i] = data[i]",
        "for (int i = 0; i < n; i++)\n        window[i] = data[i]",
    )
    assert "not constant" in refusal(open_ended, UNROLLING, "window[i] +=")


def test_the_program_has_no_loop_afterwards(tmp_path: Path) -> None:
    source = (PROGRAMS / "unroll.cu").read_text(encoding="utf-8")
    after = applied(source, edit(source, UNROLLING, "word <<", kernel="scrambled"), tmp_path)
    before_code, after_code = sass(source, tmp_path / "0", "scrambled"), sass(after, tmp_path / "1", "scrambled")
    assert count(before_code, "ISETP|UISETP") > 0
    assert count(after_code, "ISETP|UISETP") == 0


@settings(max_examples=200)
@given(
    st.integers(-20, 20),
    st.integers(-20, 20),
    st.sampled_from(["<", "<=", ">", ">=", "!="]),
    st.integers(-5, 5).filter(bool),
)
def test_iterations_are_counted_as_in_c(first: int, last: int, comparison: str, step: int) -> None:
    source = looping(f"for (int i = {first}; i {comparison} {last}; i += {step})")
    kernel = Program.read(source, "a.cu").kernel("k")
    found = counted(kernel, kernel.of_type("for_statement")[0])
    assert found is not None
    i, iterations = first, 0
    while iterations <= 100 and eval(f"{i} {comparison} {last}"):
        i, iterations = i + step, iterations + 1
    assert found.iterations == (iterations if iterations <= 100 else None)


def test_editing_twice_is_refused() -> None:
    source = looping("for (int i = 0; i < 8; i++)", before="    #pragma unroll\n")
    assert isinstance(propose(source, "a.cu", "k", UNROLLING, []), NoEdit)
