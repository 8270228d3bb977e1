"""Kernel times of a program: what the tracing library writes is read, and what is missing is known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ncuview.profiling.machine import find_nvcc
from ncuview.trial.traced import KernelRun, traced_run, tracer

PROGRAM = """\
import os, sys
assert os.environ["CUDA_INJECTION64_PATH"] == sys.argv[1]
for number, text in enumerate(sys.argv[2:]):
    with open(os.path.join(os.environ["NCUVIEW_KERNEL_TIMES"], f"{number}.tsv"), "w") as file:
        file.write(text)
"""
FIRST = "1200\t8,1,1\t256,1,1\t_Z4copyPfPKfi\n300\t1,2,3\t32,2,1\t_Z3sumPf\n"


def traced(folder: Path, *written: str) -> tuple[tuple[KernelRun, ...], bool]:
    library = folder / "kernel_times.so"
    run = traced_run(library, folder, [sys.executable, "-c", PROGRAM, str(library), *written], 20)
    assert run.ran.failure == ""
    assert all(run.kernel_ns[name] > 0 for name in run.kernel_ns)
    return run.launches, run.complete


def test_the_launches_of_all_processes_are_read(tmp_path: Path) -> None:
    launches, complete = traced(tmp_path, f"{FIRST}complete\n", "7\t1,1,1\t1,1,1\t_Z3sumPf\ncomplete\n")
    assert launches == (
        KernelRun("_Z4copyPfPKfi", (8, 1, 1), (256, 1, 1), 1200),
        KernelRun("_Z3sumPf", (1, 2, 3), (32, 2, 1), 300),
        KernelRun("_Z3sumPf", (1, 1, 1), (1, 1, 1), 7),
    )
    assert complete


@pytest.mark.parametrize("text", [FIRST, FIRST[:-20], "nonsense\n"])
def test_a_trace_that_was_cut_is_not_complete(text: str, tmp_path: Path) -> None:
    launches, complete = traced(tmp_path, text)
    assert not complete
    assert len(launches) <= 2


def test_a_program_without_kernels_has_none(tmp_path: Path) -> None:
    assert traced(tmp_path) == ((), True)


def test_the_tracing_library_compiles(tmp_path: Path) -> None:
    if find_nvcc() is None:
        pytest.skip("nvcc is not installed")
    assert tracer(tmp_path).stat().st_size > 0
