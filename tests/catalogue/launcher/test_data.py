"""The data of kernels: the same numbers in every run, and device memory that is neither leaked nor copied twice."""

from __future__ import annotations

import ctypes
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ncuview.catalogue.launcher.inputs import input_of, seeded
from ncuview.catalogue.reference import POISON
from tests.catalogue.launcher.fake_pycuda import Device, Memory, Module

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES = ["float16", "float32", "float64", *INTEGERS]


def described(*shape: int, dtype: str = "float32", below: int = 0, stream: int = 0) -> Any:
    return input_of({"shape": list(shape), "dtype": dtype, "below": below}, stream)


def put(data: ModuleType, asked: Any, role: str = "in", module: Any = None, name: str = "x") -> list[Any]:
    arguments: list[Any] = data.place(asked, {"role": role, "name": name}, module)
    return arguments


def on_device(device: Device, memory: Memory, asked: Any) -> Any:
    return device.array(memory, int(np.prod(asked.shape)), asked.dtype).reshape(asked.shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7,), (3, 5)])
def test_an_input_has_the_shape_and_type_that_were_asked_for(dtype: str, shape: tuple[int, ...]) -> None:
    array = seeded(described(*shape, dtype=dtype))
    assert (array.shape, array.dtype) == (shape, np.dtype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_below_a_bound_are_integers_and_reach_it(dtype: str) -> None:
    array = seeded(described(4000, dtype=dtype, below=7))
    assert array.dtype == np.dtype(dtype)
    assert sorted(set(array.tolist())) == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fractions_are_spread_from_0_to_1(dtype: str) -> None:
    array = seeded(described(4000, dtype=dtype))
    assert array.min() >= 0
    assert array.max() < 1
    assert np.histogram(array, bins=4, range=(0, 1))[0].min() > 800


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_spread_over_all_that_their_type_holds(dtype: str) -> None:
    array, bounds = seeded(described(8000, dtype=dtype)), np.iinfo(dtype)
    assert np.histogram(array.astype(np.float64), bins=4, range=(float(bounds.min), float(bounds.max)))[0].min() > 1600


def test_an_input_is_the_same_in_every_run() -> None:
    asked = described(6, dtype="uint32")
    first = seeded(asked).copy()
    seeded.cache_clear()
    np.testing.assert_array_equal(seeded(asked), first)
    np.testing.assert_array_equal(first, np.random.default_rng(20180604).integers(0, 1 << 32, 6, dtype=np.uint32))


def test_two_inputs_of_a_kernel_differ() -> None:
    first, second = (seeded(described(64, stream=stream)) for stream in (0, 1))
    assert not np.array_equal(first, second)


def test_an_input_lies_in_device_memory(data: ModuleType, device: Device) -> None:
    asked = described(3, 5)
    (memory,) = put(data, asked)
    assert device.log == [("alloc", 60), ("there", 60)]
    np.testing.assert_array_equal(on_device(device, memory, asked), seeded(asked))


def test_the_next_launch_on_the_same_data_copies_nothing(data: ModuleType, device: Device) -> None:
    first = [*put(data, described(8)), *put(data, described(8, stream=1))]
    log = list(device.log)
    assert [*put(data, described(8)), *put(data, described(8, stream=1))] == first
    assert device.log == log


def test_other_data_replace_those_of_the_launch_before(data: ModuleType, device: Device) -> None:
    put(data, described(8))
    put(data, described(8, stream=1))
    (memory,) = put(data, described(16))
    assert device.log[4:] == [("free", 32), ("free", 32), ("alloc", 64), ("there", 64)]
    assert list(device.live.values()) == [memory]


def test_a_second_input_that_is_not_used_again_is_given_up(data: ModuleType, device: Device) -> None:
    put(data, described(8))
    put(data, described(8, stream=1))
    memory = [*put(data, described(8)), *put(data, described(16, stream=1))]
    assert list(device.live.values()) == memory


def test_a_constant_goes_into_its_symbol_and_takes_no_argument(data: ModuleType, device: Device) -> None:
    device.constants["mask"] = Memory(device, 0x1000, 64)
    asked = described(8)
    assert put(data, asked, "constant", Module(device), "mask") == []
    assert device.log == [("there", 32)]
    np.testing.assert_array_equal(on_device(device, device.constants["mask"], asked), seeded(asked))
    assert (device.constants["mask"].bytes[32:] == 0xA5).all()


def test_a_constant_that_does_not_fit_is_refused(data: ModuleType, device: Device) -> None:
    device.constants["mask"] = Memory(device, 0x1000, 31)
    with pytest.raises(ValueError, match="__constant__ mask holds 31 bytes, not 32"):
        put(data, described(8), "constant", Module(device), "mask")
    assert device.log == []


@pytest.mark.parametrize(("shape", "dtype", "words"), [((8,), "float32", 8), ((3,), "float64", 6), ((5,), "uint8", 2)])
def test_an_output_is_filled_to_its_last_byte(
    data: ModuleType, device: Device, shape: tuple[int, ...], dtype: str, words: int
) -> None:
    memory = data.poisoned(shape, dtype)
    assert device.log == [("alloc", 4 * words), ("memset", int(POISON), words)]
    assert (memory.bytes == 0xFF).all()
    assert (data.zeroed(shape, dtype).bytes == 0).all()


def test_an_element_that_is_not_written_is_nan(data: ModuleType, device: Device) -> None:
    assert np.isnan(device.array(data.poisoned((4,), "float32"), 4, "float32")).all()


class FakeTextures:
    """The one function of the driver library that is used."""

    def __init__(self, result: int = 0) -> None:
        self.result = result
        self.seen: dict[str, Any] = {}

    def cuTexObjectCreate(self, texture: Any, resource: Any, sampling: Any, view: None) -> int:  # noqa: N802
        """Look at the structures as C sees them, by their offsets in cuda.h."""
        assert view is None
        described, sampled = bytes(resource._obj), bytes(sampling._obj)
        assert (len(described), len(sampled)) == (144, 104)
        self.seen = {
            "kind": int.from_bytes(described[:4], "little"),
            "array": int.from_bytes(described[8:16], "little"),
            "rest": set(described[16:]),
            "address mode, filter, flags": np.frombuffer(sampled[:20], np.int32).tolist(),
            "rest of the sampling": set(sampled[20:]),
        }
        texture._obj.value = 0x123456789A
        return self.result


def test_a_texture_wraps_interpolates_and_takes_coordinates_from_0_to_1(
    data: ModuleType, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeTextures()
    monkeypatch.setattr(ctypes, "CDLL", SimpleNamespace(**{"libcuda.so.1": library}).__dict__.__getitem__)
    (argument,) = put(data, described(4, 6), "texture")
    assert (argument, argument.dtype) == (0x123456789A, np.uint64)
    assert device.log == [("array", (4, 6))]
    assert library.seen == {
        "kind": 0,
        "array": 0xABCD0000,
        "rest": {0},
        "address mode, filter, flags": [0, 0, 0, 1, 2],
        "rest of the sampling": {0},
    }
    assert put(data, described(4, 6), "texture") == [argument]
    put(data, described(8))
    assert device.log[1:] == [("free array", 96), ("alloc", 32), ("there", 32)]


def test_a_texture_that_the_driver_refuses_is_an_error(data: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: FakeTextures(result=801))
    with pytest.raises(RuntimeError, match="cuTexObjectCreate fails with CUDA error 801"):
        put(data, described(4, 6), "texture")
