"""Child process: launch or time a JSON job file's kernels with PyCUDA, count wrong outputs, and write results as JSON.

``python -m ncuview.catalogue.launcher JOB RESULT`` makes each launch of the file JOB once, compares every output with
the NumPy oracle, where there is one, and writes the number of wrong elements to the file RESULT.
Under ncu, the report then has one launch for each entry of the job. A job whose ``timed`` says ``launches`` has each
launch made many times more, and timed with events; one that says ``transfers`` has only the host's copies and the
launches between them timed. Both are for a run without ncu, which would serialise what overlaps.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from ncuview.catalogue.launcher.data import Input, Shape, input_of, place, poisoned, seeded, words_of, zeroed
from ncuview.catalogue.launcher.launch_times import device_words, time_launch
from ncuview.catalogue.launcher.times import time_transfers
from ncuview.catalogue.reference import ORACLES, POISON, Array, Problem

_KEPT = 8
"""Answers kept for the next launches; each is up to a few hundred megabytes."""
_PIECE = 1 << 18
_SHARED_WITHOUT_ASKING = 48 * 1024
"""Bytes of dynamic shared memory that a kernel gets without opting in."""

Sizes = tuple[tuple[str, int], ...]


@lru_cache(maxsize=_KEPT)
def expected(oracle: str, inputs: tuple[Input, ...], shape: Shape, dtype: str, sizes: Sizes) -> Array:
    """The oracle's answer, kept for the next launch on the same data."""
    given = tuple(seeded(wanted) for wanted in inputs)
    return ORACLES[oracle](Problem(given, shape, dtype, dict(sizes)))


@lru_cache(maxsize=_KEPT)
def _landing(shape: Shape, dtype: str) -> Array:
    """Host memory that outputs are copied into, kept so that its pages are touched only once."""
    return np.empty(shape, dtype)


def wrong_elements(got: Array, want: Array, tolerance: float) -> int:
    """How many elements differ: bit by bit, where a NaN equals itself, or by more than the tolerance."""
    if tolerance:
        with np.errstate(invalid="ignore"):
            close = np.abs(got.astype(np.float64) - want) <= tolerance * np.maximum(1.0, np.abs(want))
        known = np.isfinite(got) & np.isfinite(want)
        return int(np.count_nonzero(~(close & known)))
    word = f"u{got.dtype.itemsize}"
    words, wanted = (np.ascontiguousarray(array).reshape(-1).view(word) for array in (got, want))
    # In pieces that stay in the cache, which takes a third of the time.
    pieces = range(0, len(words), _PIECE)
    return sum(int(np.count_nonzero(words[at : at + _PIECE] != wanted[at : at + _PIECE])) for at in pieces)


@dataclass(frozen=True)
class Prepared:
    """A kernel with everything that its launch needs on the device.

    Attributes:
        entry: Of the job.
        function: The kernel.
        arguments: In order.
        outputs: Memory, shape and dtype of each.
        inputs: What it is given.
    """

    entry: dict[str, Any]
    function: Any
    arguments: list[Any]
    outputs: list[tuple[Any, Shape, str]]
    inputs: tuple[Input, ...]

    def launch(self, **how: Any) -> None:
        """Make the launch, on a ``stream`` if one is given."""
        extents = {"grid": tuple(self.entry["grid"]), "block": tuple(self.entry["block"])}
        self.function(*self.arguments, **extents, shared=self.entry["shared"], **how)

    def wrong(self) -> int | None:
        """How many elements the launch got wrong; None where no oracle knows them."""
        if self.entry["oracle"] is None:
            return None
        wrong = 0
        for memory, shape, dtype in self.outputs:
            got = _landing(shape, dtype)
            cuda.memcpy_dtoh(got, memory)
            want = expected(self.entry["oracle"], self.inputs, shape, dtype, tuple(self.entry["sizes"].items()))
            wrong += wrong_elements(got, want, self.entry["tolerance"])
        return wrong

    def free(self) -> None:
        """Give up the outputs; inputs stay for the next launch."""
        for memory, _, _ in self.outputs:
            memory.free()


def prepared(entry: dict[str, Any]) -> Prepared:
    """Load a kernel of the job and put its data where it expects them."""
    module = cuda.module_from_file(entry["cubin"])
    arguments: list[Any] = []
    outputs: list[tuple[Any, Shape, str]] = []
    inputs: list[Input] = []
    for argument in entry["args"]:
        dtype = argument["dtype"]
        if argument["role"] == "scalar":
            arguments.append(np.dtype(dtype).type(argument["value"]))
        elif argument["role"] in {"out", "zeroed"}:
            shape = tuple(argument["shape"])
            arguments.append((poisoned if argument["role"] == "out" else zeroed)(shape, dtype))
            outputs.append((arguments[-1], shape, dtype))
        else:
            inputs.append(input_of(argument, stream=len(inputs)))
            arguments += place(inputs[-1], argument, module)
    function = module.get_function(entry["symbol"])
    if entry["shared"] > _SHARED_WITHOUT_ASKING:
        function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, entry["shared"])
    return Prepared(entry, function, arguments, outputs, tuple(inputs))


def launch(entry: dict[str, Any]) -> dict[str, Any]:
    """Make one launch of the job and count the elements that it got wrong; None where no oracle knows them."""
    made = prepared(entry)
    made.launch()
    cuda.Context.synchronize()
    wrong = made.wrong()
    made.free()
    return {"kernel": entry["kernel"], "wrong_elements": wrong}


def launch_and_time(entry: dict[str, Any]) -> dict[str, Any]:
    """As ``launch``, and the times of further launches with the same data, in ns."""
    made = prepared(entry)
    made.launch()
    cuda.Context.synchronize()
    wrong = made.wrong()
    times = time_launch(made.launch, _refills(made)) if not wrong else []
    made.free()
    return {"kernel": entry["kernel"], "wrong_elements": wrong, "times_ns": times, **device_words()}


def _refills(made: Prepared) -> list[tuple[Any, int, int]]:
    """Memory, word and number of words that put each output into the state which the first launch found."""
    roles = [argument["role"] for argument in made.entry["args"] if argument["role"] in {"out", "zeroed"}]
    return [
        (memory, int(POISON) if role == "out" else 0, words_of(shape, dtype))
        for role, (memory, shape, dtype) in zip(roles, made.outputs, strict=True)
    ]


def main(job_file: str, result_file: str) -> None:
    """Make all launches of the job, and time what it says."""
    import pycuda.autoinit  # noqa: F401  (makes the context)

    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    make = {"": launch, "launches": launch_and_time, "transfers": time_transfers}[job["timed"]]
    Path(result_file).write_text(json.dumps({"launches": [make(entry) for entry in job["launches"]]}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
