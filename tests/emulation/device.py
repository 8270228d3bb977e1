"""A GPU for the tests of ``launcher/variants.py``: its own code runs, over a PyCUDA whose kernels are emulated.

``run_job(job)`` does what the process does with a job file, and gives the lines of its result file. A cubin is a CUDA
source here, and a symbol the kernel's name with its template arguments: ``reduce<256>``.

Each launch of a source runs its threads in the next of the orders. As on the GPU, an access next to an output lands in
its guard band; one further away ends the process's launches. ``faults`` keeps what compute-sanitizer would have seen.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ncuview.catalogue.launcher.differences import GUARD
from ncuview.catalogue.reference import POISON
from tests.catalogue.launcher.fake_pycuda import Device, Driver, FakeStream, Function, Memory, Module
from tests.emulation import ORDERS, Array, Fault, emulated

HOST = "ncuview.catalogue.launcher"
_SYMBOL = re.compile(r"(?P<name>\w+)(?:<(?P<template>[\d, ]+)>)?")
_OUTSIDE = re.compile(
    r"a (?P<what>\w+) of (?P<size>\d+) bytes outside (?:argument (?P<argument>\d+)|.*)"
    r" \(\d+ bytes\) at byte (?P<at>-?\d+)"
)
_CONSTANT_BYTES = 1 << 16
_UNWRITTEN = 0xA5
_ALLOCATED = 512
"""Bytes next to an allocation that a GPU lets kernels reach."""

Clock = Callable[[str, int], float]
"""The source's path and the number of its timed launch -> ns."""


class CudaError(Exception):
    """``pycuda.driver.Error``."""


class EmulatedGpu(Driver):
    """A ``pycuda.driver`` whose kernels are emulated.

    Attributes:
        faults: What compute-sanitizer would have found in all launches.
        failure: Why the process was ended; empty where it ended by itself.
    """

    Error = CudaError

    def __init__(self, clock: Clock) -> None:
        super().__init__(Device())
        self.clock = clock
        self.faults: list[Fault] = []
        self.failure = ""
        self.launches: Counter[str] = Counter()
        self.timed: Counter[str] = Counter()

    def module_from_file(self, path: str) -> Module:
        return EmulatedModule(self, path)

    def module_from_buffer(self, ptx: bytes) -> Module:
        assert b".entry fill(.param .u32 bytes, .param .u32 word)" in ptx
        return FillingModule(self.device)


class EmulatedModule(Module):
    """A CUDA source."""

    def __init__(self, gpu: EmulatedGpu, path: str) -> None:
        super().__init__(gpu.device)
        self.gpu, self.path = gpu, path
        self.source = Path(path).read_text(encoding="utf-8")
        self.constants: dict[str, Memory] = {}

    def get_global(self, name: str) -> tuple[int, int]:
        if not re.search(rf"__constant__[^;]*\b{name}\b", self.source):
            raise CudaError(f"named symbol {name} not found")
        if name not in self.constants:
            self.constants[name] = self.gpu.device.allocate(_CONSTANT_BYTES)
        return int(self.constants[name]), _CONSTANT_BYTES

    def get_function(self, symbol: str) -> EmulatedFunction:
        return EmulatedFunction(self, symbol)


class FillingModule(Module):
    """The code that fills shared memory, which is always full of poison where kernels are emulated."""

    def get_function(self, symbol: str) -> FillingFunction:
        assert symbol == "fill"
        return FillingFunction(self.device)


class FillingFunction(Function):
    """The kernel that fills shared memory."""

    def __init__(self, device: Device) -> None:
        self.device, self.symbol = device, "fill"

    def __call__(
        self,
        *arguments: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int = 0,
        stream: FakeStream | None = None,
    ) -> None:
        size, word = arguments
        assert (int(size), int(word), stream) == (shared, int(POISON), None)
        assert ("set_attribute", "dynamic shared", shared) in self.device.log, "more shared memory than is allowed"
        self.device.log.append(("fill", grid, block, shared))


class EmulatedFunction(Function):
    """A kernel of a source."""

    def __init__(self, module: EmulatedModule, symbol: str) -> None:
        self.module, self.symbol, self.device = module, symbol, module.gpu.device
        named = _SYMBOL.fullmatch(symbol)
        assert named, symbol
        self.name = named["name"]
        self.template = [int(each) for each in named["template"].split(",")] if named["template"] else []

    def __call__(
        self,
        *arguments: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int = 0,
        stream: FakeStream | None = None,
    ) -> None:
        gpu, path = self.module.gpu, self.module.path
        if stream:
            assert gpu.launches[path], "a kernel is timed that was never launched"
            stream.now += gpu.clock(path, gpu.timed[path])
            gpu.timed[path] += 1
            return
        places = [self._place(each) for each in arguments]
        # A copy, so that what the kernel wrote is seen by comparing.
        given = [
            argument if place is None else place[2].copy() for argument, place in zip(arguments, places, strict=True)
        ]
        gpu.device.log.append(("launch", self.symbol, grid, block, shared, None))
        order = list(ORDERS)[gpu.launches[path] % len(ORDERS)]
        gpu.launches[path] += 1
        found = [place for place in places if place]
        ran = emulated(
            self.module.source,
            self.name,
            given,
            grid,
            block,
            template=self.template,
            shared=shared,
            constants={name: _written(memory) for name, memory in self.module.constants.items()},
            names=[f"argument {number}" for number in range(len(found))],
            order=order,
        )
        gpu.faults += ran.faults
        for (_, _, inside), after in zip(found, ran.arrays, strict=False):
            inside[:] = after
        for fault in ran.faults:
            if fault.kind == "memory":
                _carry_out(fault, found)
        if any(fault.kind == "time" for fault in ran.faults):
            raise TimeoutError(f"{self.name} does not end")

    def _place(self, argument: Any) -> tuple[Memory, int, Array] | None:
        """The allocation that an argument points into, the offset of the array in it, and its bytes without guards."""
        if not isinstance(argument, Memory) and argument.dtype != np.intp:
            return None
        for memory in self.device.live.values():
            offset = int(argument) - memory.address
            if 0 <= offset < len(memory.bytes):
                inside = memory.bytes[offset : len(memory.bytes) - offset]
                assert offset == 0 or (memory.bytes[:4].view(np.uint32) == GUARD).all()
                return memory, offset, inside
        assert not isinstance(argument, Memory), "freed memory"
        return None


def _carry_out(fault: Fault, places: Sequence[tuple[Memory, int, Array]]) -> None:
    """Do what a GPU does at a wrong access: nothing to see, a broken guard band, or an error."""
    outside = _OUTSIDE.match(fault.text)
    if outside is None:
        raise CudaError(fault.text)
    if not outside["argument"]:
        return  # of shared memory a block has more than it asked for
    memory, offset, inside = places[int(outside["argument"])]
    first = int(outside["at"])
    at = offset + (first if first < 0 else first + int(outside["size"]) - 1)
    if not -_ALLOCATED <= at < len(memory.bytes) + _ALLOCATED:
        raise CudaError("an illegal memory access was encountered")
    if outside["what"] == "write" and 0 <= at < len(memory.bytes):
        assert not np.shares_memory(memory.bytes[at : at + 1], inside)
        memory.bytes[at] ^= 1


def _written(memory: Memory) -> Array:
    used = np.flatnonzero(memory.bytes != _UNWRITTEN)
    return memory.bytes[: used[-1] + 1 if len(used) else 0]


def run_job(
    job: Mapping[str, Any], clock: Clock = lambda path, number: 1000.0
) -> tuple[list[dict[str, Any]], EmulatedGpu]:
    """Do a job as the process does.

    Args:
        job: The job.
        clock: The time of each launch.

    Returns:
        The lines of the result file, and the GPU.

    Raises:
        NotEmulated: A kernel uses what is not emulated.
    """
    gpu = EmulatedGpu(clock)
    with tempfile.TemporaryDirectory() as folder, _pycuda(gpu):
        given, result = Path(folder) / "job.json", Path(folder) / "result.jsonl"
        given.write_text(json.dumps(job), encoding="utf-8")
        try:
            importlib.import_module(f"{HOST}.variants").main(str(given), str(result))
        except TimeoutError as error:
            gpu.failure = str(error)
        return [json.loads(line) for line in result.read_text(encoding="utf-8").splitlines()], gpu


@contextmanager
def _pycuda(gpu: EmulatedGpu) -> Iterator[None]:
    """PyCUDA and the modules that import it, for the time of one process."""
    package, autoinit = ModuleType("pycuda"), ModuleType("pycuda.autoinit")
    package.driver, package.autoinit = gpu, autoinit  # type: ignore[attr-defined]
    package.__path__ = []
    gpu.device.has_context = True
    replaced: dict[str, ModuleType | None] = {"pycuda": package, "pycuda.driver": gpu, "pycuda.autoinit": autoinit}
    replaced |= dict.fromkeys(f"{HOST}.{part}" for part in ("data", "shared_memory", "times", "variants"))
    before = {name: sys.modules.pop(name, None) for name in replaced}
    sys.modules.update({name: module for name, module in replaced.items() if module})
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module:
                sys.modules[name] = module
