"""Pointers that are only read get const and __restrict__, in every declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.patch.building import PROGRAMS, applied, count, edit, refusal, sass


def kernel(body: str, a: str = "float *a", tail: str = "", head: str = "") -> str:
    return f"{head}__global__ void k({a}, float *b, int n)\n{{\n    int i = threadIdx.x;\n    {body}\n}}\n{tail}"


def marked(source: str, folder: Path) -> str:
    return applied(source, edit(source, "restrict"), folder)


@pytest.mark.parametrize(
    "body",
    [
        "b[i] = a[i];",
        "b[a[0] > 1 ? 1 : 0] = -a[i] * 2;",
        "b[i] = *(a + i) + *a++;",
        "const float *row = a + i * n; b[i] = row[0];",
        "b[i] = __ldg(&a[i]) + __ldg(a + i) + sqrtf(a[1]);",
        "a += i; if (a[0] > 0) b[i] = *a;",
        "for (float s = a[0]; s < n; s += a[1]) b[i] = s;",
    ],
)
def test_a_pointer_that_is_only_read_is_marked(body: str, tmp_path: Path) -> None:
    assert "k(const float *__restrict__ a, float *b, int n)" in marked(kernel(body), tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("const float *a", "const float *__restrict__ a"),
        ("float const *a", "float const *__restrict__ a"),
        ("float* a", "const float*__restrict__ a"),
        ("float * a", "const float *__restrict__ a"),
        ("float *const a", "const float *__restrict__ const a"),
        ("unsigned int *a", "const unsigned int *__restrict__ a"),
    ],
)
def test_marks_stand_where_c_wants_them(before: str, after: str, tmp_path: Path) -> None:
    edited = marked(kernel("b[i] = a[i];", before), tmp_path)
    assert " ".join(after.replace("*", " * ").split()) in " ".join(edited.replace("*", " * ").split())
    sass(edited, tmp_path / "compiled")


@pytest.mark.parametrize(
    "body",
    [
        "a[i] = b[i];",
        "a[i] += b[i];",
        "a[i]++; b[i] = 0;",
        "*a = b[i];",
        "float *alias = a; alias[i] = b[i];",
        "float &first = a[0]; first = b[i];",
        "atomicAdd(&a[i], b[i]);",
        "atomicAdd(a + i, b[i]);",
        "change(a, b);",
        "change(a[i], b[i]);",
        "b[i] = 0; auto f = [=] { a[0] = 1; }; f();",
        "reinterpret_cast<float4 *>(a)[i].x = b[i];",
        "((float2 *)a)[i] = ((float2 *)b)[i];",
        'asm("" : "+f"(a[0])); b[i] = 0;',
    ],
)
def test_a_pointer_that_may_be_written_is_not(body: str) -> None:
    assert "only read" in refusal(kernel(f"b[n] = 0; {body}"), "restrict")


@pytest.mark.parametrize("cast", ["const_cast<float *>(a)", "(float *)a", "reinterpret_cast<float *>(a)"])
def test_a_const_pointer_whose_const_is_cast_away_is_not_marked(cast: str) -> None:
    source = kernel(f"b[n] = 0; {cast}[i] = b[i];", "const float *a")
    assert "only read" in refusal(source, "restrict")


def test_a_pointer_to_what_others_change_meanwhile_is_not_marked() -> None:
    source = kernel("while (a[0] == 0) {} b[i] = 0;", "const volatile float *a")
    assert "only read" in refusal(source, "restrict")


def test_prototypes_and_instantiations_change_together(tmp_path: Path) -> None:
    source = (
        "template <typename T> __global__ void k(T *a, T *out);\n"
        "template <typename T> __global__ void k(T *a, T *out) { out[0] = a[0]; }\n"
        "template __global__ void k<float>(float *, float *);\n"
    )
    after = marked(source, tmp_path)
    assert after.count("const T *__restrict__ a") == 2
    assert "k<float>(const float *__restrict__, float *)" in after


def test_a_launch_that_passes_one_array_twice_is_refused() -> None:
    source = kernel("b[i] = a[i];", tail="void run(float *p, int n, int m) { k<<<1, n>>>(p, p + n, m); }\n")
    assert "passes p twice" in refusal(source, "restrict")
    apart = source.replace("(p, p + n, m)", "(p + n, q + n, m)").replace("float *p,", "float *p, float *q,")
    assert edit(apart, "restrict").assumes == "no array that k writes overlaps a"


def test_marked_pointers_are_refused() -> None:
    source = kernel("b[i] = a[i];", "const float *__restrict__ a")
    assert "already" in refusal(source, "restrict")


def test_another_use_of_the_kernel_is_refused() -> None:
    source = kernel("b[i] = a[i];", tail="void (*chosen)(float *, float *, int) = k;\n")
    assert "neither a launch nor a declaration" in refusal(source, "restrict")


def test_the_program_loads_its_coefficients_through_the_read_only_path(tmp_path: Path) -> None:
    source = (PROGRAMS / "restrict.cu").read_text(encoding="utf-8")
    after = applied(source, edit(source, "restrict", kernel="polynomial"), tmp_path)
    assert after.count("const float *__restrict__ c") == 2
    before_code, after_code = sass(source, tmp_path / "0", "polynomial"), sass(after, tmp_path / "1", "polynomial")
    assert count(before_code, r"LDG\.E\.CONSTANT") == 0
    assert count(after_code, r"LDG\.E\.CONSTANT") > 0
    assert count(after_code, "LDG") < count(before_code, "LDG")


@pytest.mark.parametrize(
    "host",
    [
        "float *a = new float[9], *b = a + 1; k<<<1, 32>>>(b, a, 4);",
        "float *a = new float[9], *b; b = a; k<<<1, 32>>>(b, a, 4);",
        "float *a = new float[9], *b = new float[9], *c = b; std::swap(a, b); k<<<1, 32>>>(c, a, 4);",
    ],
)
def test_arrays_that_the_host_derives_from_one_another_are_refused(host: str) -> None:
    source = f"__global__ void k(float *out, const float *in, int n) {{ out[n] = in[n]; }}\nint main() {{ {host} }}\n"
    assert "may overlap" in refusal(source, "restrict")
