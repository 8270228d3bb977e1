"""The child process that ncu profiles for a Python function: unpickles it and calls it between profiler start and stop.

``python -P call.py FILE`` reads from FILE the module search path and the function, pickled by ``callable.py``.
It imports nothing of ncuview, so that only the user's modules are loaded, and starts the profiler through the CUDA
driver, which every GPU library uses.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
from pathlib import Path
from typing import Any


class DriverFailed(Exception):
    """A call of the CUDA driver failed."""


def checked(driver: Any, name: str, *arguments: Any) -> None:
    """Call a function of the driver.

    Raises:
        DriverFailed: It did not return success.
    """
    status = getattr(driver, name)(*arguments)
    if status:
        raise DriverFailed(f"{name} failed with CUDA error {status}")


def make_context_current(driver: Any) -> None:
    """Make a context current for the profiler to start in: the one that is current already, else the first GPU's."""
    checked(driver, "cuInit", 0)
    context = ctypes.c_void_p()
    checked(driver, "cuCtxGetCurrent", ctypes.byref(context))
    if context.value is None:
        # The primary context, which CuPy, PyTorch, Numba and the CUDA runtime use too.
        device = ctypes.c_int()
        checked(driver, "cuDeviceGet", ctypes.byref(device), 0)
        checked(driver, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        checked(driver, "cuCtxSetCurrent", context)


def main(file: str) -> None:
    """Read the function, import what it needs, and call it once under the profiler."""
    with Path(file).open("rb") as sent:
        sys.path[:] = pickle.load(sent)  # noqa: S301  (written by the process that started this one)
        function = pickle.load(sent)  # noqa: S301
    driver = ctypes.CDLL("libcuda.so.1")
    make_context_current(driver)
    checked(driver, "cuProfilerStart")
    function()
    checked(driver, "cuCtxSynchronize")  # errors of asynchronous launches are returned here
    checked(driver, "cuProfilerStop")


if __name__ == "__main__":
    main(sys.argv[1])
