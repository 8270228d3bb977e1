"""Fill a kernel's input arrays with seeded numbers and place them in global, constant or texture memory of the GPU.

``place`` returns the kernel arguments; ``poisoned`` and ``zeroed`` allocate output arrays filled with a known word.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pycuda.driver as cuda

from ncuview.catalogue.reference import POISON, Array

SEED = 20180604
_KEPT = 8
"""Arrays kept for the next launches; each is up to a few hundred megabytes."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """The description of an input array's numbers; equal descriptions give equal numbers.

    Attributes:
        shape: The array's shape.
        dtype: The type of its elements.
        below: They are integers from 0 to below this; when it is 0, random in [0, 1), or integers of any size.
        stream: Its position among the inputs, so that two inputs differ.
    """

    shape: Shape
    dtype: str
    below: int
    stream: int


def input_of(argument: Mapping[str, Any], stream: int) -> Input:
    """The input that an argument of the job describes."""
    return Input(tuple(argument["shape"]), argument["dtype"], argument["below"], stream)


@lru_cache(maxsize=_KEPT)
def seeded(described: Input) -> Array:
    """The same numbers in every run, so that counters of data-dependent kernels repeat."""
    random = np.random.default_rng(SEED + described.stream)
    dtype = np.dtype(described.dtype)
    if described.below:
        return random.integers(0, described.below, described.shape, dtype=np.uint32).astype(dtype)
    if dtype.kind in "ui":
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, int(bounds.max) + 1, described.shape, dtype=dtype)
    return random.random(described.shape, dtype=max(dtype, np.dtype(np.float32)).type).astype(dtype, copy=False)


def place(described: Input, argument: Mapping[str, Any], module: Any) -> list[Any]:
    """Put an input into the memory that the kernel expects; returns its kernel argument, or none for a constant."""
    role = argument["role"]
    _release(other_than=(role, described))
    if role == "constant":
        _fill_constant(module, argument["name"], seeded(described))
        return []
    if (role, described) not in _resident:
        _resident[role, described] = _texture(described) if role == "texture" else _global(described)
    return [_resident[role, described].argument]


@dataclass(frozen=True)
class _Resident:
    """An input on the device: its memory, and the kernel argument that refers to it."""

    memory: Any
    argument: Any


_resident: dict[tuple[str, Input], _Resident] = {}
"""The inputs of one launch, kept for the next launch on the same data.

Only those of one launch are kept, and none of the host's memory is page-locked: ncu saves and restores all memory that
the device can reach before each pass, whether the kernel uses it or not.
"""


def _release(other_than: tuple[str, Input]) -> None:
    """Free the input at this one's place in the launch; if this is a new first input, free all."""
    place = other_than[1].stream
    given_up = [
        key
        for key in _resident
        if key != other_than and (key[1].stream == place or (place == 0 and other_than not in _resident))
    ]
    for key in given_up:
        _resident.pop(key).memory.free()


def _global(described: Input) -> _Resident:
    array = seeded(described)
    memory = cuda.mem_alloc(array.nbytes)
    cuda.memcpy_htod(memory, array)
    return _Resident(memory, memory)


def _fill_constant(module: Any, name: str, array: Array) -> None:
    address, size = module.get_global(name)
    if array.nbytes > size:
        raise ValueError(f"__constant__ {name} holds {size} bytes, not {array.nbytes}")
    cuda.memcpy_htod(address, array)


def poisoned(shape: Shape, dtype: str) -> Any:
    """Device memory for an output, filled with ``POISON``, so that elements that are not written are found."""
    return _filled(shape, dtype, int(POISON))


def zeroed(shape: Shape, dtype: str) -> Any:
    """Device memory for an output that is added to."""
    return _filled(shape, dtype, 0)


def _filled(shape: Shape, dtype: str, word: int) -> Any:
    words = words_of(shape, dtype)
    memory = cuda.mem_alloc(words * POISON.itemsize)
    cuda.memset_d32(memory, word, words)
    return memory


def words_of(shape: Shape, dtype: str) -> int:
    """How many words of 32 bits hold an output."""
    return -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // POISON.itemsize)


class _Resource(ctypes.Structure):
    """CUDA_RESOURCE_DESC of cuda.h, for a CUDA array (type 0)."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("array", ctypes.c_void_p),
        ("reserved", ctypes.c_int * 30),
        ("flags", ctypes.c_uint),
    )


class _Sampling(ctypes.Structure):
    """CUDA_TEXTURE_DESC of cuda.h."""

    _fields_ = (
        ("address_mode", ctypes.c_int * 3),
        ("filter_mode", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("max_anisotropy", ctypes.c_uint),
        ("mipmap_filter_mode", ctypes.c_int),
        ("mipmap", ctypes.c_float * 3),
        ("border_color", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    )


_LINEAR, _NORMALIZED = 1, 2


def _texture(described: Input) -> _Resident:
    """A texture object over the input: linear filter, wrap addressing, normalised coordinates, as simpleTexture has.

    PyCUDA supports only texture references, which CUDA 12 removed; the driver is called directly.
    """
    array = cuda.matrix_to_array(seeded(described), "C")
    resource = _Resource(array=array.handle)
    sampling = _Sampling(filter_mode=_LINEAR, flags=_NORMALIZED)
    texture = ctypes.c_uint64()
    driver = ctypes.CDLL("libcuda.so.1")
    failure = driver.cuTexObjectCreate(ctypes.byref(texture), ctypes.byref(resource), ctypes.byref(sampling), None)
    if failure:
        raise RuntimeError(f"cuTexObjectCreate fails with CUDA error {failure}")
    return _Resident(array, np.uint64(texture.value))
