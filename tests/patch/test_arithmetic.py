"""Patches of precision, fast functions, and constant divisors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ncuview.patch import NoEdit, propose
from tests.patch.building import PROGRAMS, applied, count, edit, refusal, sass

LOWER, FAST, STRENGTH = "float_literals", "fast_functions", "constant_divisor"
DOUBLES = r"D(?:ADD|MUL|FMA|SETP)|F2F\.F64"


def float_kernel(line: str, head: str = "") -> str:
    return f"""{head}
__global__ void k(float *a, float4 *v, const int *m, double *d, int n)
{{
    int i = threadIdx.x;
    float x = a[i];
    {line}
    a[i] = x;
}}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = x * 0.999 + .5;", "x = x * 0.999f + .5f;"),
        ("x += 2.; x -= 1e-3;", "x += 2.f; x -= 1e-3f;"),
        ("float y = -0.5 * (i * i) / (x * x); x = y;", "float y = -0.5f * (i * i) / (x * x); x = y;"),
        ("x = exp(-0.5 * x) * fabs(x);", "x = expf(-0.5f * x) * fabs(x);"),
        ("x = pow(x, 2) + sqrt(i);", "x = powf(x, 2) + sqrtf(i);"),
        ("if (x > 1.0 && i < 2) x = max(x, 0.0);", "if (x > 1.0f && i < 2) x = max(x, 0.0f);"),
        ("x = v[i].x * 0.3 + v[0].y * 0.6;", "x = v[i].x * 0.3f + v[0].y * 0.6f;"),
        ("x = m[i] ? 0.5 * x : 1.0;", "x = m[i] ? 0.5f * x : 1.0f;"),
        ("x = float(i) * 0.1 + (float)i * static_cast<float>(n) * 0.2;",
         "x = float(i) * 0.1f + (float)i * static_cast<float>(n) * 0.2f;"),
        ("int cell = x * 0.125; x = cell;", "int cell = x * 0.125f; x = cell;"),
    ],
)  # fmt: skip
def test_literals_in_single_precision_get_their_suffix(before: str, after: str, tmp_path: Path) -> None:
    source = float_kernel(before)
    edited = applied(source, edit(source, LOWER), tmp_path)
    assert edited == float_kernel(after)
    assert count(sass(edited, tmp_path / "1"), DOUBLES) == 0
    assert isinstance(propose(edited, "a.cu", "k", LOWER, []), NoEdit)


@pytest.mark.parametrize(
    "line",
    [
        "x = x * d[i] * 0.5;",
        "double y = 0.5 * x; x = y;",
        "auto y = 0.5 * x; x = y;",
        "d[i] = 0.5 * x;",
        "x = unknown(0.5);",
        "x = x * 1e-300;",
        "x = x * 1e300;",
        "x = x * SCALE * 0.5;",
        "x = (double)x * 0.5;",
        "T y = x; x = y * 0.5;",
        'printf("%f", 0.5);',
    ],
)  # fmt: skip
def test_literals_that_may_be_meant_as_double_stay(line: str) -> None:
    head = "#define SCALE 3.14159265358979\nusing T = double;\n__device__ float unknown(double);"
    assert refusal(float_kernel(line, head), LOWER)


def test_a_function_of_the_users_own_is_not_renamed() -> None:
    source = float_kernel("x = exp(i);", "__device__ float exp(int);\n__device__ float exp(int i) { return i; }")
    assert refusal(source, LOWER)


def test_a_device_function_that_others_call_is_left_alone(tmp_path: Path) -> None:
    own = "__device__ float half_of(float x) { return x * 0.5; }\n"
    alone = float_kernel("x = half_of(x);", own)
    assert "x * 0.5f" in applied(alone, edit(alone, LOWER), tmp_path)
    shared = alone + "__global__ void other(float *a) { a[0] = half_of(a[0]); }\n"
    assert "have no double literal" in refusal(shared, LOWER)


def test_other_kernels_comments_and_strings_keep_their_literals(tmp_path: Path) -> None:
    other = '__global__ void other(float *a) { a[0] *= 0.5; /* 0.5 */ printf("0.5"); }\n'
    source = float_kernel("x *= 0.5; // 0.5\n    /* x = 0.5 */", other)
    edited = applied(source, edit(source, LOWER), tmp_path)
    assert edited == source.replace("x *= 0.5;", "x *= 0.5f;")


def test_the_program_has_no_double_precision_afterwards(tmp_path: Path) -> None:
    source = (PROGRAMS / "float_literals.cu").read_text(encoding="utf-8")
    edited = applied(source, edit(source, LOWER, "0.999 + 0.001;\n".strip(), kernel="decayed"), tmp_path)
    assert count(sass(source, tmp_path / "0", "decayed"), DOUBLES) > 0
    assert count(sass(edited, tmp_path / "1", "decayed"), DOUBLES) == 0
    assert "double x = value(i);" in edited


@settings(max_examples=60)
@given(st.floats(allow_nan=False, allow_infinity=False, width=64), st.sampled_from(["{!r}", "{:e}", "{:.3f}"]))
def test_a_literal_changes_by_its_suffix_and_only_where_it_fits(value: float, form: str) -> None:
    text = form.format(abs(value))
    assume(any(letter in text for letter in ".e") and len(text) < 60)
    source = float_kernel(f"x *= {text};")
    made = propose(source, "a.cu", "k", LOWER, [])
    fits = float(text) == 0 or 2.0**-126 <= float(text) <= 3.4028234663852886e38
    assert isinstance(made, NoEdit) != fits
    if not isinstance(made, NoEdit):
        assert [each.text for each in made.replacements] == ["f"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = sinf(x) + exp(x);", "x = __sinf(x) + __expf(x);"),
        ("x = a[i] / x;", "x = __fdividef(a[i], x);"),
        ("x = a[i] / x / (x + 1);", "x = __fdividef(__fdividef(a[i], x), (x + 1));"),
        ("x = 1 / logf(x / x);", "x = __fdividef(1, __logf(__fdividef(x, x)));"),
        ("x = powf(x, n);", "x = __powf(x, n);"),
        ("x = a[i] /* over */ / x;", "x = __fdividef(a[i] /* over */ , x);"),
    ],
)
def test_precise_functions_become_fast_ones(before: str, after: str, tmp_path: Path) -> None:
    source = float_kernel(before)
    edited = applied(source, edit(source, FAST), tmp_path)
    assert edited == float_kernel(after)
    assert len(sass(edited, tmp_path / "1")) < len(sass(source, tmp_path / "0"))
    assert isinstance(propose(edited, "a.cu", "k", FAST, []), NoEdit)


@pytest.mark.parametrize(
    "line", ["x = x / 3.0f;", "i = i / n;", "d[i] = exp(d[i]);", "x = sqrtf(x);", "d[i] = x / d[i];"]
)
def test_what_has_no_fast_form_is_refused(line: str) -> None:
    assert "have no precise function" in refusal(float_kernel(line), FAST)


def test_only_the_lines_of_the_finding_get_less_exact(tmp_path: Path) -> None:
    source = float_kernel("x = sinf(x);\n    x = cosf(x);")
    assert applied(source, edit(source, FAST, "cosf"), tmp_path) == source.replace("cosf", "__cosf")


def divided(line: str, head: str = "#define BASE 48", launch: str = "k<<<1, 32>>>(a, BASE, 7);") -> str:
    return f"""{head}
__global__ void k(unsigned *a, int n, unsigned m)
{{
    int i = threadIdx.x;
    {line}
}}
void run(unsigned *a, int c) {{ {launch} }}
"""


@pytest.mark.parametrize(
    ("line", "head", "launch", "after"),
    [
        ("a[i] = i / n + i % n;", "#define BASE 48", "k<<<1, 32>>>(a, BASE, 7);", "a[i] = i / BASE + i % BASE;"),
        ("a[i] = i / n;", "#define BASE 48u", "k<<<1, 32>>>(a, BASE, 7);", "a[i] = i / static_cast<int>(BASE);"),
        (
            "a[i] = i / m;",
            "const unsigned BASE = 5;",
            "k<<<1, 32>>>(a, 3, BASE);",
            "a[i] = i / static_cast<unsigned>(BASE);",
        ),
    ],
)
def test_an_argument_that_is_always_a_constant_becomes_one(
    line: str, head: str, launch: str, after: str, tmp_path: Path
) -> None:
    source = divided(line, head, launch)
    edited = applied(source, edit(source, STRENGTH), tmp_path)
    assert edited == divided(after, head, launch)
    assert len(sass(edited, tmp_path / "1")) < len(sass(source, tmp_path / "0"))
    assert "nvcc already" in refusal(edited, STRENGTH)


@pytest.mark.parametrize(
    ("line", "launch", "reason"),
    [
        ("a[i] = i / 32;", "k<<<1, 32>>>(a, BASE, 7);", "nvcc already"),
        ("a[i] = i + n;", "k<<<1, 32>>>(a, BASE, 7);", "divide no integers"),
        ("a[i] = i / (n + 1);", "k<<<1, 32>>>(a, BASE, 7);", "not arguments"),
        ("a[i] = i / n;", "k<<<1, 32>>>(a, c, 7);", "not a constant that the kernel"),
        ("a[i] = i / n;", "k<<<1, 32>>>(a, BASE, 7); k<<<1, 32>>>(a, 3, 7);", "different values"),
        ("n++; a[i] = i / n;", "k<<<1, 32>>>(a, BASE, 7);", "changes in k"),
        ("a[i] = i / n;", "", "no launch"),
    ],
)
def test_divisors_that_are_not_known_are_refused(line: str, launch: str, reason: str) -> None:
    assert reason in refusal(divided(line, launch=launch), STRENGTH, "a[i] =")
