"""Child process: load libcuda and print as JSON its file, cuInit's result, its CUDA version and the GPUs.

A broken driver may crash or hang the process that loads it, hence a child: ``python -I driver_probe.py``.
It prints one JSON object. Either ``error`` says why libcuda could not be loaded. Or ``library`` is the file that was
loaded, ``init`` the result of cuInit, with its name in ``init_name``, ``driver`` the newest CUDA that it supports, as
1000 x major + 10 x minor, and ``devices`` name and compute capability of each GPU in CUDA's order.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

_MAJOR, _MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*."""


def loaded_from(maps: str) -> str:
    """The file that libcuda was loaded from, by the process's memory map; empty when it is not in it."""
    files = (line.split(maxsplit=5)[-1] for line in maps.splitlines() if "/libcuda.so" in line)
    return next(files, "")


def describe(cuda: Any) -> dict[str, Any]:
    """Query the loaded driver."""
    init = cuda.cuInit(0)
    said: dict[str, Any] = {"init": init, "init_name": _name_of(cuda, init), "driver": _number(cuda.cuDriverGetVersion)}
    if init == 0:
        count = _number(cuda.cuDeviceGetCount) or 0
        said["devices"] = [_device(cuda, place) for place in range(count)]
    return said


def _device(cuda: Any, place: int) -> dict[str, Any]:
    device = _number(cuda.cuDeviceGet, place)
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, len(name), device)
    major, minor = (_number(cuda.cuDeviceGetAttribute, attribute, device) for attribute in (_MAJOR, _MINOR))
    return {"name": name.value.decode(errors="replace"), "compute_capability": f"{major}.{minor}"}


def _number(function: Any, *arguments: Any) -> int | None:
    """The int that a function writes to its first argument, or None when it fails."""
    number = ctypes.c_int()
    return None if function(ctypes.byref(number), *arguments) else number.value


def _name_of(cuda: Any, error: int) -> str:
    name = ctypes.c_char_p()
    cuda.cuGetErrorName(error, ctypes.byref(name))
    return (name.value or b"").decode(errors="replace")


def main() -> None:
    """Load the driver, query it and print the JSON."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        said: dict[str, Any] = {"error": str(error)}
    else:
        said = {"library": loaded_from(Path("/proc/self/maps").read_text(encoding="utf-8")), **describe(cuda)}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
