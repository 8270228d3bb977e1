"""Run one variant of a program for ncu: some steps to warm up, then one step with the profiler on.

    python -m validation.calls.step PROGRAM.py VARIANT

The profiler is switched by the CUDA driver, which PyTorch, JAX, CuPy, Triton and Numba share.
"""

from __future__ import annotations

import ctypes
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

WARM_UP = 3


def main(program: str, variant: str) -> None:
    """Run the variant of the program in this file."""
    module = _loaded(Path(program))
    state = module.setup()
    driver = _Driver()
    step = module.VARIANTS[variant]
    for _ in range(WARM_UP):
        driver.finish(step(state))
    driver.call("cuProfilerStart")
    driver.finish(step(state))
    driver.call("cuProfilerStop")


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
    main(*sys.argv[1:])
