"""Child process: launch a kernel and its variants on the same inputs, and compare outputs or time them interleaved.

``python -m ncuview.catalogue.launcher.variants JOB RESULT`` reads the JSON file JOB and appends a JSON object per line
to RESULT, so that what is there stays when a kernel ends the process or is ended itself.

The job has ``cases``, each with the arguments of the launch (as ``live.host_program`` writes them, all with names) and
``launches``: key -> cubin, symbol, grid, block, shared. The first key is the original's.

``mode`` = ``compare``: each launch is made twice, on poisoned outputs between guard bands, poison in shared memory.
A line with ``begins`` comes before it, and after it one with what went wrong: the driver's ``error``, ``guards`` and
``inputs`` that were overwritten, ``poison`` (elements that were not written), and the ``differences`` from the
original's first outputs. Where the original's own results may differ (``reordered`` inputs, floating-point atomics) it
is launched ``orders`` more times, on inputs in other orders if there are such, and variants may differ by a few times
this spread. These launches' own differences are those beyond the widest tolerance.

``mode`` = ``time``: all launches of the first case interleaved, until all ratios are precise or ``budget_s`` is over;
the line has all ``times_ns`` by key, and the GPU's name.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from ncuview.catalogue.launcher.data import place
from ncuview.catalogue.launcher.differences import GUARD, Spread, difference, poisoned
from ncuview.catalogue.launcher.inputs import RUNS, Shape, in_order, input_of, seeded, words_of
from ncuview.catalogue.launcher.ratios import LOOKS, ratio_of
from ncuview.catalogue.launcher.shared_memory import fill
from ncuview.catalogue.launcher.times import ColdClock, device_words
from ncuview.catalogue.reference import POISON, Array

GUARD_WORDS = 1 << 14
"""The length of a guard band: 64 KiB, which keeps the alignment of an allocation."""
_WORD = POISON.itemsize
_SHARED_WITHOUT_ASKING = 48 * 1024
Job = Mapping[str, Any]
Write = Callable[[Mapping[str, Any]], None]


@lru_cache(maxsize=64)
def _module(cubin: str) -> Any:
    return cuda.module_from_file(cubin)


@dataclass(frozen=True)
class _Output:
    """An output between its guard bands.

    Attributes:
        name: The argument's name.
        role: ``out`` or ``zeroed``.
        memory: The allocation, with the bands.
        shape: The array's shape.
        dtype: The type of its elements.
    """

    name: str
    role: str
    memory: Any
    shape: Shape
    dtype: str

    @property
    def address(self) -> np.intp:
        """Where the array begins."""
        return np.intp(int(self.memory) + GUARD_WORDS * _WORD)

    @property
    def refill(self) -> tuple[int, int, int]:
        """Address, word and number of words that reset the array."""
        return int(self.address), int(POISON) if self.role == "out" else 0, words_of(self.shape, self.dtype)

    def fetched(self) -> tuple[Array, bool]:
        """The array, and whether the guard bands are as they were."""
        words = np.empty(words_of(self.shape, self.dtype) + 2 * GUARD_WORDS, POISON.dtype)
        cuda.memcpy_dtoh(words, self.memory)
        bands = np.concatenate([words[:GUARD_WORDS], words[-GUARD_WORDS:]])
        size = int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize
        inside = words[GUARD_WORDS:-GUARD_WORDS].view(np.uint8)[:size]
        return inside.view(self.dtype).reshape(self.shape), bool((bands == GUARD).all())


def _output(argument: Mapping[str, Any]) -> _Output:
    shape, dtype = tuple(argument["shape"]), argument["dtype"]
    words = words_of(shape, dtype) + 2 * GUARD_WORDS
    memory = cuda.mem_alloc(words * _WORD)
    cuda.memset_d32(memory, int(GUARD), words)
    made = _Output(argument["name"], argument["role"], memory, shape, dtype)
    cuda.memset_d32(*made.refill)
    return made


class _Prepared:
    """A launch of ``function`` with its data on the device."""

    def __init__(self, launch: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]) -> None:
        module = _module(launch["cubin"])
        self.function = module.get_function(launch["symbol"])
        if launch["shared"] > _SHARED_WITHOUT_ASKING:
            attribute = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.function.set_attribute(attribute, launch["shared"])
        self._how = {"grid": tuple(launch["grid"]), "block": tuple(launch["block"]), "shared": launch["shared"]}
        self.outputs: list[_Output] = []
        self._inputs: list[tuple[str, Any, Array]] = []
        self._arguments: list[Any] = []
        for argument in arguments:
            if argument["role"] == "scalar":
                self._arguments.append(np.dtype(argument["dtype"]).type(argument["value"]))
            elif argument["role"] in {"out", "zeroed"}:
                self.outputs.append(_output(argument))
                self._arguments.append(self.outputs[-1].address)
            else:
                described = input_of(argument, stream=self._stream(arguments, argument))
                placed = place(described, argument, module)
                self._arguments += placed
                if argument["role"] == "in":
                    self._inputs.append((argument["name"], placed[0], seeded(described)))

    @staticmethod
    def _stream(arguments: Sequence[Mapping[str, Any]], argument: Mapping[str, Any]) -> int:
        """The input's place among the inputs."""
        inputs = [each["name"] for each in arguments if each["role"] in {"in", "constant", "texture"}]
        return inputs.index(argument["name"])

    def launch(self, **how: Any) -> None:
        """Make the launch, on a ``stream`` if one is given."""
        self.function(*self._arguments, **self._how, **how)

    def overwritten_inputs(self) -> list[str]:
        """The names of inputs that no longer hold what was put there; they are restored."""
        names = []
        for name, memory, array in self._inputs:
            found = _landing(array.shape, array.dtype.str)
            cuda.memcpy_dtoh(found, memory)
            if not _equal(found, array):
                names.append(name)
                cuda.memcpy_htod(memory, array)
        return names

    def free(self) -> None:
        """Free the outputs; inputs stay for the next launch."""
        for output in self.outputs:
            output.memory.free()


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _equal(one: Array, other: Array) -> bool:
    """Whether two arrays of one size have the same bytes, compared as large words, in less than half of the time."""
    a, b = _bytes(one), _bytes(other)
    words = a.size - a.size % 8
    same = np.array_equal(a[:words].view(np.uint64), b[:words].view(np.uint64))
    return same and np.array_equal(a[words:], b[words:])


@lru_cache(maxsize=1)
def _landing(shape: Shape, dtype: str) -> Array:
    """Host memory that an input is read back into, kept for the next launch: mapping new pages takes as long."""
    return np.empty(shape, dtype)


def _launched(launch: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]) -> tuple[list[Array], dict[str, Any]]:
    """Make one launch: its outputs, and what is wrong without looking at their numbers."""
    made = _Prepared(launch, arguments)
    fill(made.function)
    made.launch()
    cuda.Context.synchronize()
    fetched = [output.fetched() for output in made.outputs]
    found = {
        "guards": [each.name for each, (_, intact) in zip(made.outputs, fetched, strict=True) if not intact],
        "inputs": made.overwritten_inputs(),
        "poison": sum(int(np.count_nonzero(poisoned(array))) for array, _ in fetched),
    }
    made.free()
    return [array for array, _ in fetched], found


def compare_case(job: Job, case: int, write: Write) -> None:
    """Launch the original and its variants on one case, and write a line for each launch.

    Raises:
        pycuda.driver.Error: A launch failed; its line has been written. The device accepts no more launches.
    """
    launches, arguments = job["cases"][case]["launches"], job["cases"][case]["arguments"]
    original = next(iter(launches))

    def run(key: str, number: int, *, answers: list[Array] | None, given: Sequence[Any] = arguments) -> list[Array]:
        about = {"case": case, "key": key, "run": number}
        write({**about, "begins": True})
        try:
            outputs, found = _launched(launches[key], given)
        except cuda.Error as error:
            write({**about, "error": str(error)})
            raise
        differences = []
        for answer, output, spread in zip(answers or (), outputs if answers else (), spreads, strict=True):
            if spread and key == original:
                spread.add(output)
            differences.append(
                asdict(difference(answer, output, spread.widest() if key == original and spread else spread))
            )
        # The first results of the original show whether they depend on the inputs.
        sums = {} if answers is not None else {"crc": [zlib.crc32(_bytes(output).data) for output in outputs]}
        write({**about, "error": "", **found, **sums, "differences": differences})
        return outputs

    spreads: list[Spread | None] = []
    answers = run(original, 0, answers=None)
    spreads = [None] * len(answers)
    again = run(original, 1, answers=answers)
    if job["reordered"] or _differ_as_sums(answers, again):
        spreads = [Spread(answer) for answer in answers]
        for number in range(job["orders"]):
            given = in_order(arguments, job["reordered"], number)
            run(original, RUNS + number, answers=answers, given=given)
    for key in list(launches)[1:]:
        for number in range(RUNS):
            run(key, number, answers=answers)


def _differ_as_sums(one: Sequence[Array], other: Sequence[Array]) -> bool:
    """Whether two results of the original differ where they are floating-point numbers, as sums by atomics do."""
    return any(a.dtype.kind == "f" and difference(a, b).elements for a, b in zip(one, other, strict=True))


def time_case(job: Job, write: Write) -> None:
    """Time all launches of the first case, interleaved."""
    case = job["cases"][0]
    made = {key: _Prepared(launch, case["arguments"]) for key, launch in case["launches"].items()}
    for each in made.values():
        each.launch()  # the first launch loads the kernel
    cuda.Context.synchronize()
    clock, ends = ColdClock(), time.monotonic() + job["budget_s"]
    times: dict[str, list[float]] = {key: [] for key in made}
    original = times[next(iter(made))]
    for look in LOOKS:
        while len(original) < look and (time.monotonic() < ends or not original):
            # Every other round goes the other way, so that no launch always has the same predecessor.
            for key in list(made)[:: -1 if len(original) % 2 else 1]:
                times[key].append(clock.time(made[key].launch, [output.refill for output in made[key].outputs]))
        ratios = [ratio_of(original, each) for each in times.values() if each is not original]
        if len(original) < look or all(ratio.precise for ratio in ratios):
            break
    write({"times_ns": times, **device_words()})


def main(job_file: str, result_file: str) -> None:
    """Do the job; a launch that fails ends it, after its line."""
    import pycuda.autoinit  # noqa: F401  (makes the context)

    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    with Path(result_file).open("a", encoding="utf-8") as result:

        def write(record: Mapping[str, Any]) -> None:
            result.write(json.dumps(record) + "\n")
            result.flush()

        if job["mode"] == "time":
            time_case(job, write)
            return
        for case in range(len(job["cases"])):
            try:
                compare_case(job, case, write)
            except cuda.Error:
                return
        write({"ended": True})


if __name__ == "__main__":
    main(*sys.argv[1:])
