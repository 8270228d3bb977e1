"""Place a kernel's inputs in global, constant or texture memory of the GPU, and allocate its outputs.

``place`` returns the kernel arguments; ``poisoned`` and ``zeroed`` allocate output arrays filled with a known word.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as cuda

from ncuview.catalogue.launcher.inputs import Input, Shape, seeded, words_of
from ncuview.catalogue.reference import POISON, Array


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
