"""A launch on the command line against the text of the .cu file: errors are named before the compiler runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.base.errors import KernelFileError
from ncuview.catalogue.user_kernel import LaunchOptions, user_launch

ROWSUM = "__global__ void rowsum(const float *__restrict__ a, double* out, unsigned n) { out[0] = a[n]; }\n"
ARGS = ("in float32[n]", "out float64[n]", "int32 = n")
RIGHT = LaunchOptions(kernel="rowsum", grid="1", block="32", args=ARGS, sizes=("n=32",))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "colsum.cu"
    path.write_text(f"/* rowsumm */\n{ROWSUM}")
    return path


def test_a_launch_that_fits_the_declaration_is_made(source: Path) -> None:
    assert user_launch(source, RIGHT).block == (32, 1, 1)


@pytest.mark.parametrize(
    ("wrong", "message", "hint"),
    [
        (replace(RIGHT, kernel="rowsumm"), "colsum.cu has no kernel 'rowsumm'", "Did you mean rowsum? It has rowsum."),
        (replace(RIGHT, block="2048"), "a block has at most 1024 threads, and the launch gives 2,048", "grid"),
        (replace(RIGHT, block="64, 32"), "a block has at most 1024 threads", "grid"),
        (
            replace(RIGHT, args=("in float64[n]", *ARGS[1:])),
            "argument 1 of rowsum is const float *__restrict__ a, and its launch gives float64",
            "Its elements are float32.",
        ),
        (replace(RIGHT, args=(ARGS[0], "out int64[n]", ARGS[2])), "argument 2 of rowsum is double* out", "float64"),
        (replace(RIGHT, args=("in flaot32[n]", *ARGS[1:])), "no kind of argument", "Did you mean float32? An array is"),
        (replace(RIGHT, args=("inn float32[n]", *ARGS[1:])), "no kind of argument", "Did you mean in"),
    ],
)
def test_a_contradiction_is_named(source: Path, wrong: LaunchOptions, message: str, hint: str) -> None:
    with pytest.raises(KernelFileError) as refused:
        user_launch(source, wrong)
    assert message in str(refused.value)
    assert hint in refused.value.hint
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    "elsewhere", ['#include "kernels.cuh"\n', "#define MAKE(name) __global__ void k_##name() {}\n"]
)
def test_a_kernel_that_may_be_elsewhere_is_left_to_the_compiler(source: Path, elsewhere: str) -> None:
    source.write_text(elsewhere + ROWSUM)
    assert user_launch(source, replace(RIGHT, kernel="k_far", args=())).kernel.name == "k_far"


@pytest.mark.parametrize(
    "declared",
    [
        "template <class T> __global__ void rowsum(const T *a, T *out, int n) { }",
        "__global__ void rowsum(const Pair<int, int> *a, real *out, int n) { }",
        "__global__ void rowsum(uint32_t *a, const int *const out, int n) { }",
    ],
)
def test_types_that_the_text_does_not_decide_are_left_to_the_compiler(source: Path, declared: str) -> None:
    source.write_text(declared)
    assert user_launch(source, replace(RIGHT, args=("in int32[n]", "out uint32[n]", "int32 = n")))
