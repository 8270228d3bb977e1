"""The child process that launches: the only module that imports PyCUDA.

``python -m ncuview.collect.host JOB RESULT`` reads the launches to make from the JSON file JOB, makes each exactly
once, compares every output with the NumPy oracle and writes what it saw to the JSON file RESULT. Under ncu, the
report then has one launch for each entry of the job.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from ncuview.collect.oracle import ORACLES, POISON, Array, Problem

SEED = 20180604
_KEPT = 8
"""Arrays kept for the next launches; each is a few hundred megabytes."""
_NO_INPUT = (0,), "uint32"
_PIECE = 1 << 18

Shape = tuple[int, ...]


@lru_cache(maxsize=_KEPT)
def seeded(shape: Shape, dtype: str) -> Array:
    """The same numbers in every run, so that counters of data-dependent kernels repeat."""
    random = np.random.default_rng(SEED)
    if dtype == "uint32":
        return random.integers(0, 2**32, shape, dtype=np.uint32)
    return random.random(shape, dtype=np.dtype(dtype).type)


@lru_cache(maxsize=_KEPT)
def expected(oracle: str, given: tuple[Shape, str], shape: Shape, sizes: tuple[tuple[str, int], ...]) -> Array:
    """The oracle's answer, kept for the next launch on the same data."""
    return ORACLES[oracle](Problem(seeded(*given), shape, dict(sizes)))


@lru_cache(maxsize=1)
def on_device(shape: Shape, dtype: str) -> Any:
    """The input in device memory, kept for the next launch on the same data.

    Only one is kept, and none of the host's memory is page-locked: ncu saves and restores all memory that the device
    can reach before each pass, whether the kernel uses it or not.
    """
    array = seeded(shape, dtype)
    memory = cuda.mem_alloc(array.nbytes)
    cuda.memcpy_htod(memory, array)
    return memory


def poisoned(shape: Shape, dtype: str) -> Any:
    """Device memory for an output, filled so that an element that is not written shows."""
    words = int(np.prod(shape)) * np.dtype(dtype).itemsize // POISON.itemsize
    memory = cuda.mem_alloc(words * POISON.itemsize)
    cuda.memset_d32(memory, int(POISON), words)
    return memory


@lru_cache(maxsize=_KEPT)
def _landing(shape: Shape, dtype: str) -> Array:
    """Host memory that outputs are copied into, kept so that its pages are touched only once."""
    return np.empty(shape, dtype)


def wrong_elements(got: Array, want: Array) -> int:
    """How many 32-bit words differ; a NaN equals itself."""
    words, wanted = got.reshape(-1).view(np.uint32), want.reshape(-1).view(np.uint32)
    # In pieces that stay in the cache, which takes a third of the time.
    pieces = range(0, len(words), _PIECE)
    return sum(int(np.count_nonzero(words[at : at + _PIECE] != wanted[at : at + _PIECE])) for at in pieces)


def launch(entry: dict[str, Any]) -> dict[str, Any]:
    """Make one launch of the job and count the elements that it got wrong."""
    function = cuda.module_from_file(entry["cubin"]).get_function(entry["symbol"])
    arguments: list[Any] = []
    outputs: list[tuple[Any, Shape, str]] = []
    given = _NO_INPUT
    for argument in entry["args"]:
        dtype = argument["dtype"]
        if argument["role"] == "scalar":
            arguments.append(np.dtype(dtype).type(argument["value"]))
        elif argument["role"] == "in":
            given = (tuple(argument["shape"]), dtype)
            arguments.append(on_device(*given))
        else:
            shape = tuple(argument["shape"])
            arguments.append(poisoned(shape, dtype))
            outputs.append((arguments[-1], shape, dtype))

    function(*arguments, grid=tuple(entry["grid"]), block=tuple(entry["block"]))
    cuda.Context.synchronize()

    wrong = 0
    for memory, shape, dtype in outputs:
        got = _landing(shape, dtype)
        cuda.memcpy_dtoh(got, memory)
        memory.free()
        wrong += wrong_elements(got, expected(entry["oracle"], given, shape, tuple(entry["sizes"].items())))
    return {"kernel": entry["kernel"], "wrong_elements": wrong}


def main(job_file: str, result_file: str) -> None:
    """Make all launches of the job."""
    import pycuda.autoinit  # noqa: F401  (makes the context)

    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    results = [launch(entry) for entry in job["launches"]]
    Path(result_file).write_text(json.dumps({"launches": results}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
