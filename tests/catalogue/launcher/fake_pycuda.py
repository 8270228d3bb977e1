"""A stand-in for PyCUDA: a device of plain bytes and a clock that only work moves, which refuses what CUDA would.

Kernels are Python functions. Memory that was not allocated, freed memory, copies beyond an allocation, arrays that are
not contiguous, events that were not recorded, and any call before there is a context are errors; a name of PyCUDA
that is not here is an AttributeError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
NS_PER_BYTE_THERE, NS_PER_BYTE_BACK, NS_PER_BYTE_SET = 1.0, 2.0, 0.5
PAGE_LOCKED = 4
"""Copies from and to page-locked memory are so many times as fast."""


class Refused(Exception):
    """What a real device would crash on, or compute nonsense from."""


class Memory:
    """An allocation, which PyCUDA takes for a pointer."""

    def __init__(self, device: Device, address: int, size: int) -> None:
        self.device, self.address = device, address
        self.bytes = np.full(size, 0xA5, np.uint8)

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        if self.device.live.pop(self.address, None) is not self:
            raise Refused(f"{self.address:#x} is freed twice")
        self.device.log.append(("free", len(self.bytes)))


class FakeEvent:
    """A point on a stream."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.at: float | None = None

    def record(self, stream: FakeStream) -> None:
        self.at = stream.now

    def synchronize(self) -> None:
        self.device.reached = max(self.device.reached, self.known())

    def known(self) -> float:
        if self.at is None:
            raise Refused("an event that was never recorded")
        return self.at

    def time_till(self, other: FakeEvent) -> float:
        """In milliseconds."""
        if other.known() > self.device.reached:
            raise Refused("an event that was not awaited")
        return (other.known() - self.known()) / 1e6


class FakeStream:
    """Work in order, at its own time in ns."""

    def __init__(self, device: Device) -> None:
        self.device, self.now = device, device.reached
        device.streams.append(self)

    def wait_for_event(self, event: FakeEvent) -> None:
        self.device.log.append(("wait", self.device.streams.index(self)))
        self.now = max(self.now, event.known())


Kernel = Callable[..., None]
"""Takes the device, grid, block and the arguments; writes to memory."""


class Device:
    """What the functions of ``pycuda.driver`` work on.

    Attributes:
        log: Every call that does something, in order.
        live: Address -> allocation.
        kernels: Symbol -> what it does; ``kernel_ns`` gives the time of each launch in order, the last for the rest.
        constants: Name -> memory of the module's ``__constant__`` symbols.
    """

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.live: dict[int, Memory] = {}
        self.kernels: dict[str, Kernel] = {}
        self.kernel_ns: list[float] = [0.0]
        self.constants: dict[str, Memory] = {}
        self.streams: list[FakeStream] = []
        self.reached = 0.0
        self.page_locked: list[Array] = []
        self.fetched: list[Array] = []
        self.has_context = False
        self._next = 0x7F0000000000

    def allocate(self, size: int) -> Memory:
        self.need_context()
        if not isinstance(size, int) or size <= 0:
            raise Refused(f"an allocation of {size!r} bytes")
        memory = self.live[self._next] = Memory(self, self._next, size)
        self._next += (size + 511) // 256 * 256
        return memory

    def need_context(self) -> None:
        if not self.has_context:
            raise Refused("no context")

    def view(self, pointer: Any, size: int) -> Array:
        """The bytes at a pointer: an allocation, or an address in one."""
        self.need_context()
        address = int(pointer)
        for memory in (*self.live.values(), *self.constants.values()):
            if memory.address <= address and address + size <= memory.address + len(memory.bytes):
                return memory.bytes[address - memory.address : address - memory.address + size]
        raise Refused(f"{size} bytes at {address:#x} are not allocated")

    def array(self, pointer: Any, count: int, dtype: str) -> Array:
        """Device memory as an array, for kernels."""
        return self.view(pointer, count * np.dtype(dtype).itemsize).view(dtype)

    def copy_there(self, there: Any, array: Array) -> float:
        self.view(there, array.nbytes)[:] = _raw(array)
        return NS_PER_BYTE_THERE * array.nbytes / self._speed(array)

    def copy_back(self, array: Array, there: Any) -> float:
        _raw(array)[:] = self.view(there, array.nbytes)
        self.fetched.append(array)
        return NS_PER_BYTE_BACK * array.nbytes / self._speed(array)

    def _speed(self, array: Array) -> int:
        return PAGE_LOCKED if any(np.shares_memory(array, locked) for locked in self.page_locked) else 1

    def launch(self, symbol: str, arguments: Sequence[Any], how: dict[str, Any]) -> float:
        self.need_context()
        for each in arguments:
            if not isinstance(each, Memory | np.generic):
                raise Refused(f"{each!r} has no size")
        for extent in ("grid", "block"):
            if len(how[extent]) != 3 or min(how[extent]) < 1 or not all(isinstance(each, int) for each in how[extent]):
                raise Refused(f"a launch with {extent} {how[extent]}")
        self.kernels[symbol](self, how["grid"], how["block"], *arguments)
        return self.kernel_ns.pop(0) if len(self.kernel_ns) > 1 else self.kernel_ns[0]


def _raw(array: Array) -> Array:
    if not array.flags.c_contiguous:
        raise Refused("an array that is not contiguous")
    return array.reshape(-1).view(np.uint8)


class Function:
    """A kernel of a module."""

    def __init__(self, device: Device, symbol: str) -> None:
        self.device, self.symbol = device, symbol
        if symbol not in device.kernels:
            raise Refused(f"no function {symbol}")

    def set_attribute(self, attribute: str, value: int) -> None:
        self.device.log.append(("set_attribute", attribute, value))

    def __call__(
        self,
        *arguments: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int = 0,
        stream: FakeStream | None = None,
    ) -> None:
        self.device.log.append(
            ("launch", self.symbol, grid, block, shared, self.device.streams.index(stream) if stream else None)
        )
        took = self.device.launch(self.symbol, arguments, {"grid": grid, "block": block})
        if stream:
            stream.now += took


class Module:
    """A loaded cubin."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def get_function(self, symbol: str) -> Function:
        return Function(self.device, symbol)

    def get_global(self, name: str) -> tuple[int, int]:
        return int(self.device.constants[name]), len(self.device.constants[name].bytes)


class CudaArray:
    """The memory of a texture."""

    def __init__(self, device: Device, matrix: Array) -> None:
        self.device, self.matrix = device, matrix.copy()
        self.handle = 0xABCD0000

    def free(self) -> None:
        self.device.log.append(("free array", self.matrix.nbytes))


class PhysicalDevice:
    """What the driver says of the GPU."""

    def name(self) -> str:
        return "NVIDIA Fake"

    def compute_capability(self) -> tuple[int, int]:
        return 9, 0

    def get_attribute(self, attribute: str) -> int:
        return {"multiprocessors": 132, "shared memory of a block": 232448}[attribute]


class Driver(ModuleType):
    """What stands in for ``pycuda.driver``."""

    function_attribute = SimpleNamespace(
        MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic shared", PREFERRED_SHARED_MEMORY_CARVEOUT="carve-out"
    )
    device_attribute = SimpleNamespace(
        MULTIPROCESSOR_COUNT="multiprocessors", MAX_SHARED_MEMORY_PER_BLOCK_OPTIN="shared memory of a block"
    )

    def __init__(self, device: Device) -> None:
        super().__init__("pycuda.driver")
        self.device = device
        self.Context = SimpleNamespace(synchronize=self._synchronize, get_device=PhysicalDevice)

    def Event(self) -> FakeEvent:  # noqa: N802
        return FakeEvent(self.device)

    def Stream(self) -> FakeStream:  # noqa: N802
        return FakeStream(self.device)

    def module_from_file(self, path: str) -> Module:
        self.device.need_context()
        self.device.log.append(("module", path))
        return Module(self.device)

    def mem_alloc(self, size: int) -> Memory:
        self.device.log.append(("alloc", size))
        return self.device.allocate(size)

    def memset_d32(self, there: Memory, word: int, count: int) -> None:
        self.device.log.append(("memset", word, count))
        self.device.array(there, count, "uint32")[:] = word

    def memset_d32_async(self, there: Memory, word: int, count: int, stream: FakeStream) -> None:
        self.device.log.append(("memset", word, count, self.device.streams.index(stream)))
        self.device.array(there, count, "uint32")[:] = word
        stream.now += NS_PER_BYTE_SET * 4 * count

    def memcpy_htod(self, there: Any, array: Array) -> None:
        self.device.log.append(("there", array.nbytes))
        self.device.copy_there(there, array)

    def memcpy_dtoh(self, array: Array, there: Any) -> None:
        self.device.log.append(("back", array.nbytes))
        self.device.copy_back(array, there)

    def memcpy_htod_async(self, there: Any, array: Array, stream: FakeStream) -> None:
        self.device.log.append(("there", array.nbytes, self.device.streams.index(stream)))
        stream.now += self.device.copy_there(there, array)

    def memcpy_dtoh_async(self, array: Array, there: Any, stream: FakeStream) -> None:
        self.device.log.append(("back", array.nbytes, self.device.streams.index(stream)))
        stream.now += self.device.copy_back(array, there)

    def pagelocked_empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        self.device.need_context()
        self.device.page_locked.append(np.full(shape, 77, dtype))
        return self.device.page_locked[-1]

    def matrix_to_array(self, matrix: Array, order: str) -> CudaArray:
        if order != "C" or matrix.ndim != 2 or not matrix.flags.c_contiguous:
            raise Refused("a texture needs a matrix by rows")
        self.device.log.append(("array", matrix.shape))
        return CudaArray(self.device, matrix)

    def _synchronize(self) -> None:
        device = self.device
        device.log.append(("synchronize",))
        device.reached = max([device.reached, *(stream.now for stream in device.streams)])
        for stream in device.streams:
            stream.now = device.reached
