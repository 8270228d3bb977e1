"""Run variants of a program for ncu: of each some steps to warm up, then one step with the profiler on.

    python -m validation.calls.step PROGRAM.py VARIANT ...
    python -m validation.calls.step --time PROGRAM.py VARIANT     prints its wall time instead of marking it

The profiler is switched by the CUDA driver, which PyTorch, JAX, CuPy, Triton and Numba share. Before each step that is
profiled, and after the last one, a kernel called ``MARK`` is launched, so that a report shows where a variant begins.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

WARM_UP = 3
TIMED = 7
MARK = "ncuview_next_variant"
_PTX = f".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry {MARK}() {{ ret; }}\n"


def main(
    program: Path,
    variants: list[str],
    timed: Annotated[bool, typer.Option("--time", help="Print the median wall time of a step in ms.")] = False,
) -> None:
    """Run variants of a program."""
    module = _loaded(program)
    state = module.setup()
    driver = _Driver()
    for variant in variants:
        step = module.VARIANTS[variant]
        for _ in range(WARM_UP):
            driver.finish(step(state))
        if timed:
            print(f"{_median_ms(driver, step, state):.4f}")
        driver.call("cuProfilerStart")
        if not timed:
            driver.mark()
        driver.finish(step(state))
        if not timed and variant == variants[-1]:
            driver.mark()
        driver.call("cuProfilerStop")


def _median_ms(driver: _Driver, step: Callable[[object], object], state: object) -> float:
    took = []
    for _ in range(TIMED):
        started = time.perf_counter()
        driver.finish(step(state))
        took.append((time.perf_counter() - started) * 1e3)
    return statistics.median(took)


class _Driver:
    """The CUDA driver, with the context that all frameworks use: the primary one of the first GPU."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, function: str, *arguments: object) -> None:
        """Call a function of the driver.

        Raises:
            OSError: It returned an error.
        """
        status = getattr(self._library, function)(*arguments)
        if status:
            raise OSError(f"{function} returned {status}")

    def mark(self) -> None:
        """Launch an empty kernel of this name."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), _PTX.encode())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, MARK.encode())
        self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
        self.call("cuCtxSynchronize")

    def finish(self, result: object) -> None:
        """Wait for all kernels; JAX launches some from other threads after a function has returned."""
        if jax := sys.modules.get("jax"):
            jax.block_until_ready(result)
        self.call("cuCtxSynchronize")


def _loaded(program: Path) -> ModuleType:
    spec = spec_from_file_location(program.stem, program)
    assert spec  # the file ends in .py
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[program.stem] = module  # compilers look up the module of a function
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    typer.run(main)
