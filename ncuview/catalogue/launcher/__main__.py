"""Child process: launch or time a JSON job file's kernels with PyCUDA, count wrong outputs, and write results as JSON.

``python -m ncuview.catalogue.launcher JOB RESULT`` reads the file JOB and writes counts, or times, to the file RESULT.
Each launch of the job is made once, and every output is compared with the NumPy oracle, where the kernel has one.
Under ncu, the report then has one launch for each entry of the job. With ``timed`` = ``launches``, each launch is
repeated and timed with events; with ``transfers``, only the host's copies and the launches between them are timed. Both
are for a run without ncu, which would serialise what overlaps.
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

from ncuview.catalogue.launcher.data import place, poisoned, zeroed
from ncuview.catalogue.launcher.inputs import Input, Shape, input_of, seeded, words_of
from ncuview.catalogue.launcher.times import device_words, time_launch, time_transfers
from ncuview.catalogue.reference import ORACLES, POISON, Array, Problem

_KEPT = 8
"""Answers kept for the next launches; each is up to a few hundred megabytes."""
_PIECE = 1 << 18
_SHARED_WITHOUT_ASKING = 48 * 1024
"""Bytes of dynamic shared memory that a kernel may use without opting in."""

Sizes = tuple[tuple[str, int], ...]


@lru_cache(maxsize=_KEPT)
def expected(oracle: str, inputs: tuple[Input, ...], shape: Shape, dtype: str, sizes: Sizes) -> Array:
    """The oracle's answer, kept for the next launch on the same data."""
    given = tuple(seeded(each) for each in inputs)
    return ORACLES[oracle](Problem(given, shape, dtype, dict(sizes)))


@lru_cache(maxsize=_KEPT)
def _landing(shape: Shape, dtype: str) -> Array:
    """Host memory that outputs are copied into, kept so that its pages are mapped only once."""
    return np.empty(shape, dtype)


def wrong_elements(output: Array, answer: Array, tolerance: float) -> int:
    """How many elements differ: bit by bit, where a NaN equals itself, or by more than the tolerance."""
    if tolerance:
        with np.errstate(invalid="ignore"):
            close = np.abs(output.astype(np.float64) - answer) <= tolerance * np.maximum(1.0, np.abs(answer))
        known = np.isfinite(output) & np.isfinite(answer)
        return int(np.count_nonzero(~(close & known)))
    word = f"u{output.dtype.itemsize}"
    words, right = (np.ascontiguousarray(array).reshape(-1).view(word) for array in (output, answer))
    # In pieces that stay in the cache, which takes a third of the time.
    pieces = range(0, len(words), _PIECE)
    return sum(int(np.count_nonzero(words[at : at + _PIECE] != right[at : at + _PIECE])) for at in pieces)


@dataclass(frozen=True)
class Prepared:
    """A kernel with all that its launch needs on the device.

    Attributes:
        entry: The entry of the job.
        function: The kernel.
        arguments: Its arguments, in order.
        outputs: Memory, shape and dtype of each output.
        inputs: Its inputs.
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
        """How many elements of the outputs are wrong; None where the kernel has no oracle."""
        if self.entry["oracle"] is None:
            return None
        wrong = 0
        for memory, shape, dtype in self.outputs:
            output = _landing(shape, dtype)
            cuda.memcpy_dtoh(output, memory)
            answer = expected(self.entry["oracle"], self.inputs, shape, dtype, tuple(self.entry["sizes"].items()))
            wrong += wrong_elements(output, answer, self.entry["tolerance"])
        return wrong

    def free(self) -> None:
        """Free the outputs; inputs stay for the next launch."""
        for memory, _, _ in self.outputs:
            memory.free()


def prepared(entry: dict[str, Any]) -> Prepared:
    """Load a kernel of the job and place its data in the memory that it expects."""
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
    """Make one launch of the job and count wrong elements; None where the kernel has no oracle."""
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
    """Memory, word and number of words that reset each output to its state before the first launch."""
    roles = [argument["role"] for argument in made.entry["args"] if argument["role"] in {"out", "zeroed"}]
    return [
        (memory, int(POISON) if role == "out" else 0, words_of(shape, dtype))
        for role, (memory, shape, dtype) in zip(roles, made.outputs, strict=True)
    ]


def main(job_file: str, result_file: str) -> None:
    """Make all launches of the job, and time what the job selects."""
    import pycuda.autoinit  # noqa: F401  (makes the context)

    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    make = {"": launch, "launches": launch_and_time, "transfers": time_transfers}[job["timed"]]
    Path(result_file).write_text(json.dumps({"launches": [make(entry) for entry in job["launches"]]}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
