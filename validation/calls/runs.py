"""How variants of a program are run, Python or C++: ``PythonProgram``, ``CompiledProgram``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ncuview.base.errors import CompileFailed, CompilerNotFound, ProgramFailed
from ncuview.profiling.machine import find_nvcc
from ncuview.profiling.options import CallStacks
from ncuview.profiling.python_hook import trace_variables
from ncuview.trial.traced import traced_run, tracer
from validation.calls import step
from validation.calls.step import MARK

LIMIT_S = 120.0
OPTIONS = ("-O3", "-std=c++17", "-arch=native", "-lineinfo", "-g")
"""Debug information of the host is for call stacks; it changes no machine code."""
LIBRARIES = {"cublas_v2.h": "cublas", "cufft.h": "cufft"}
"""The header of a library -> its name."""


class Took(NamedTuple):
    """What a step of a variant takes."""

    wall_ms: float
    """The median of seven steps."""
    kernel_ms: float
    """The time of its kernels, without copies."""
    kernels: int


class PythonProgram:
    """A program that ``step.py`` runs."""

    call_stacks = CallStacks.PYTHON

    def __init__(self, source: Path) -> None:
        self.words: Sequence[str] = (sys.executable, "-m", step.__name__, str(source))

    def took(self, variant: str) -> Took:
        """Time a variant.

        Raises:
            ProgramFailed: It does not end well, or its kernels could not be traced.
        """
        *start, source = self.words
        with TemporaryDirectory() as folder:
            environment = {**os.environ, **trace_variables(Path(folder), only_ranges=True)}
            environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
            words = [*start, "--time", source, variant]
            try:
                ended = subprocess.run(
                    words, env=environment, timeout=LIMIT_S, check=True, capture_output=True, text=True
                )
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
                raise ProgramFailed(f"{failed} {str(failed.stderr)[-800:]}") from None
            traces = [json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).glob("*.json")]
        if len(traces) != 1:
            raise ProgramFailed(f"{len(traces)} traces")
        return Took(float(ended.stdout.split()[-1]), traces[0]["busy_ns"] / 1e6, traces[0]["launches"])


class CompiledProgram:
    """A C++ program with ``step.cuh``.

    Args:
        source: The program.
        folder: An existing folder for what is compiled.

    Raises:
        CompilerNotFound: There is no nvcc here.
        CompileFailed: It does not compile.
    """

    call_stacks = CallStacks.NATIVE

    def __init__(self, source: Path, folder: Path) -> None:
        self._folder = folder
        self.words: Sequence[str] = (str(folder / source.stem),)
        nvcc = find_nvcc()
        if nvcc is None:
            raise CompilerNotFound("no nvcc here")
        words = [str(nvcc), *OPTIONS, "-o", *self.words, str(source), *_library_options(nvcc)]
        compiled = subprocess.run(words, check=False, capture_output=True, text=True)
        if compiled.returncode:
            raise CompileFailed(f"{source.name} does not compile:\n{compiled.stderr[-1500:]}")

    def took(self, variant: str) -> Took:
        """Time a variant.

        Raises:
            CompilerNotFound: The CUDA toolkit here has no CUPTI.
            ProgramFailed: It does not end well, or its kernels could not be traced.
        """
        run = traced_run(self._tracer, self._folder, [*self.words, "--time", variant], LIMIT_S)
        if run.ran.failure or not run.complete:
            raise ProgramFailed(run.ran.failure or "kernels are missing in its trace")
        marks = [number for number, launch in enumerate(run.launches) if launch.name == MARK]
        if len(marks) != 2:
            raise ProgramFailed(f"its trace has {len(marks)} marks")
        launches = run.launches[marks[0] + 1 : marks[1]]
        kernel_ms = sum(launch.duration_ns for launch in launches) / 1e6  # one stream: no two at a time
        return Took(float(run.ran.output.split()[-1]), kernel_ms, len(launches))

    @cached_property
    def _tracer(self) -> Path:
        return tracer(self._folder)


Program = PythonProgram | CompiledProgram


def program_of(source: Path, folder: Path) -> Program:
    """How to run a program.

    Args:
        source: Its file; a ``.cu`` is compiled now.
        folder: An existing folder for what is compiled.

    Raises:
        CompilerNotFound, CompileFailed: It cannot be compiled.
    """
    return CompiledProgram(source, folder) if source.suffix == ".cu" else PythonProgram(source)


def _library_options(nvcc: Path) -> Iterator[str]:
    """What links cuBLAS and cuFFT: those of the CUDA toolkit, else those of NVIDIA's Python packages."""
    for header, name in LIBRARIES.items():
        package = next((each for each in _nvidia_packages() if (each / "include" / header).exists()), None)
        if package is None or (nvcc.resolve().parents[1] / "include" / header).exists():
            yield f"-l{name}"
            continue
        # A package has libcublas.so.13 alone, without the link that -lcublas looks for.
        library = next((package / "lib").glob(f"lib{name}.so*")).name
        yield from (f"-I{package / 'include'}", f"-L{package / 'lib'}", f"-l:{library}")
        yield from ("-Xlinker", f"-rpath={package / 'lib'}")


def _nvidia_packages() -> Iterator[Path]:
    """The folders of NVIDIA's Python packages, such as ``site-packages/nvidia/cu13``."""
    found = find_spec("nvidia")
    for folder in (found.submodule_search_locations or ()) if found else ():
        yield from sorted(path for path in Path(folder).iterdir() if path.is_dir())
