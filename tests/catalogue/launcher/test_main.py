"""A job's launches: made once each, with the kernel's arguments, and every wrong element counted."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.catalogue.live import host_program
from ncuview.catalogue.reference import POISON
from tests.catalogue.launcher.fake_pycuda import Array, Device, Memory, Refused

N = 6
WORDS = {"dtype": "uint32", "shape": [N]}


def entry(*args: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A job's entry for a kernel ``run`` whose oracle says that the output is the input."""
    usual = {
        "kernel": "copy[n=6]",
        "cubin": "made.cubin",
        "symbol": "run",
        "oracle": "copy_CPU",
        "tolerance": 0.0,
        "sizes": {"n": N},
        "grid": [2, 1, 1],
        "block": [32, 4, 1],
        "shared": 0,
        "args": args or (given_words(), {"role": "out", **WORDS}),
        "transfers": None,
    }
    return usual | changed


def given_words(**changed: Any) -> dict[str, Any]:
    return {"role": "in", "name": "x", "below": 0, **WORDS} | changed


def copying(device: Device, grid: object, block: object, source: Memory, target: Memory, *_: object) -> None:
    device.array(target, N, "uint32")[:] = device.array(source, N, "uint32")


def failing(device: Device, *launch: Any) -> None:
    copying(device, *launch)
    device.array(launch[3], N, "uint32")[[1, 4]] ^= np.uint32(1)


def forgetting(device: Device, *launch: Any) -> None:
    before = device.array(launch[3], N, "uint32").copy()
    copying(device, *launch)
    device.array(launch[3], N, "uint32")[-1] = before[-1]


def test_a_launch_is_made_once_and_its_output_fetched(host: ModuleType, device: Device) -> None:
    device.kernels["run"] = copying
    assert host.launch(entry()) == {"kernel": "copy[n=6]", "wrong_elements": 0}
    assert device.log == [
        ("module", "made.cubin"),
        ("alloc", 4 * N),
        ("there", 4 * N),
        ("alloc", 4 * N),
        ("memset", int(POISON), N),
        ("launch", "run", (2, 1, 1), (32, 4, 1), 0, None),
        ("synchronize",),
        ("back", 4 * N),
        ("free", 4 * N),
    ]


def test_a_launch_without_an_oracle_is_made_and_not_checked(host: ModuleType, device: Device) -> None:
    device.kernels["run"] = failing
    assert host.launch(entry(oracle=None)) == {"kernel": "copy[n=6]", "wrong_elements": None}
    assert [event[0] for event in device.log].count("launch") == 1
    assert ("free", 4 * N) in device.log
    assert "back" not in {event[0] for event in device.log}


@pytest.mark.parametrize(("kernel", "wrong"), [(copying, 0), (failing, 2), (forgetting, 1)])
def test_wrong_and_forgotten_elements_are_counted(host: ModuleType, device: Device, kernel: Any, wrong: int) -> None:
    device.kernels["run"] = kernel
    assert host.launch(entry())["wrong_elements"] == wrong


def test_a_right_launch_after_a_wrong_one_is_right(host: ModuleType, device: Device) -> None:
    device.kernels["run"] = failing
    assert host.launch(entry())["wrong_elements"] == 2
    device.kernels["run"] = copying
    assert host.launch(entry())["wrong_elements"] == 0
    assert [call[0] for call in device.log].count("there") == 1


def test_a_kernel_that_changes_its_input_makes_the_next_launch_wrong(host: ModuleType, device: Device) -> None:
    def spoiling(device: Device, *launch: Any) -> None:
        copying(device, *launch)
        device.array(launch[2], N, "uint32")[0] ^= np.uint32(1)

    device.kernels["run"] = spoiling
    assert [host.launch(entry())["wrong_elements"] for _ in range(3)] == [0, 1, 0]


def test_an_output_that_is_added_to_starts_from_zero(host: ModuleType, device: Device) -> None:
    def counting(device: Device, grid: object, block: object, source: Memory, counts: Memory) -> None:
        np.add.at(device.array(counts, 4, "uint32"), device.array(source, N, "uint32"), 1)

    device.kernels["run"] = counting
    job = entry(
        given_words(below=4), {"role": "zeroed", "dtype": "uint32", "shape": [4]}, oracle="histogram_CPU", sizes={}
    )
    assert [host.launch(job)["wrong_elements"] for _ in range(2)] == [0, 0]
    assert ("memset", 0, 4) in device.log


def test_scalars_have_the_type_that_the_kernel_takes(host: ModuleType, device: Device) -> None:
    seen: list[Any] = []

    def looking(device: Device, grid: object, block: object, *arguments: Any) -> None:
        copying(device, grid, block, *arguments)
        seen.extend(arguments[2:])

    device.kernels["run"] = looking
    scalars = [("int32", -3.0), ("uint32", 4294967295.0), ("float32", 0.1), ("float64", 0.1)]
    args = [{"role": "scalar", "dtype": dtype, "value": value} for dtype, value in scalars]
    assert host.launch(entry(given_words(), {"role": "out", **WORDS}, *args))["wrong_elements"] == 0
    assert [scalar.dtype.name for scalar in seen] == [dtype for dtype, _ in scalars]
    assert [scalar.item() for scalar in seen] == [-3, 4294967295, float(np.float32(0.1)), 0.1]


@pytest.mark.parametrize(("shared", "asks"), [(0, False), (48 * 1024, False), (48 * 1024 + 4, True)])
def test_more_shared_memory_than_usual_is_asked_for(host: ModuleType, device: Device, shared: int, asks: bool) -> None:
    device.kernels["run"] = copying
    host.launch(entry(shared=shared))
    assert (("set_attribute", "dynamic shared", shared) in device.log) is asks
    assert ("launch", "run", (2, 1, 1), (32, 4, 1), shared, None) in device.log


def test_inputs_reach_the_oracle_in_the_order_of_the_arguments(host: ModuleType, device: Device) -> None:
    def product(device: Device, grid: object, block: object, target: Memory, right: Memory) -> None:
        left = device.array(device.constants["left"], 6, "float32").reshape(2, 3)
        device.array(target, 8, "float32")[:] = (left @ device.array(right, 12, "float32").reshape(3, 4)).reshape(-1)

    device.kernels["run"] = product
    device.constants["left"] = Memory(device, 0x1000, 24)
    matrices = {"dtype": "float32", "below": 4}
    job = entry(
        {"role": "out", "dtype": "float32", "shape": [2, 4]},
        {"role": "constant", "name": "left", "shape": [2, 3], **matrices},
        {"role": "in", "name": "right", "shape": [3, 4], **matrices},
        oracle="matrix_product",
    )
    assert host.launch(job)["wrong_elements"] == 0


def test_a_tolerance_lets_neighbouring_numbers_pass(host: ModuleType, device: Device) -> None:
    def scaling(device: Device, grid: object, block: object, source: Memory, target: Memory) -> None:
        numbers = device.array(source, N, "float32") * np.float32(1 + 1e-5)
        numbers[2] *= np.float32(1.5)
        device.array(target, N, "float32")[:] = numbers

    device.kernels["run"] = scaling
    fractions = {"dtype": "float32", "shape": [N]}
    args = (given_words(**fractions), {"role": "out", **fractions})
    assert host.launch(entry(*args, tolerance=1e-4))["wrong_elements"] == 1
    assert host.launch(entry(*args))["wrong_elements"] == N


def written(folder: Path, job: dict[str, Any]) -> tuple[str, str]:
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    return str(folder / "job.json"), str(folder / "result.json")


def test_a_job_is_read_and_its_results_are_written(host: ModuleType, device: Device, tmp_path: Path) -> None:
    device.has_context = False
    device.kernels |= {"run": copying, "fail": failing}
    launches = [entry(), entry(kernel="wrong", symbol="fail")]
    job, result = written(tmp_path, {"launches": launches, "timed": ""})
    host.main(job, result)
    assert json.loads(Path(result).read_text(encoding="utf-8")) == {
        "launches": [{"kernel": "copy[n=6]", "wrong_elements": 0}, {"kernel": "wrong", "wrong_elements": 2}]
    }
    assert [call for call in device.log if call[0] == "launch"] == [
        ("launch", symbol, (2, 1, 1), (32, 4, 1), 0, None) for symbol in ("run", "fail")
    ]


def test_nothing_is_written_when_a_launch_fails(host: ModuleType, device: Device, tmp_path: Path) -> None:
    job, result = written(tmp_path, {"launches": [entry()], "timed": ""})
    with pytest.raises(Refused, match="no function run"):
        host.main(job, result)
    assert not Path(result).exists()


def test_what_live_writes_is_what_the_host_reads(host: ModuleType, device: Device, tmp_path: Path) -> None:
    def transposing(device: Device, grid: object, block: object, target: Memory, source: Memory, n: Any) -> None:
        matrix = device.array(source, int(n) ** 2, "float32").reshape(int(n), int(n))
        device.array(target, int(n) ** 2, "float32")[:] = matrix.T.reshape(-1)

    mangled = "_Z18transposeCoalescedPfPKfi"
    device.kernels[mangled] = transposing
    (tmp_path / "made.cubin").write_bytes(b"\x7fELF.text." + mangled.encode() + b"\0")
    launch = launch_of(find_kernel("transposeCoalesced"), {"n": 64})
    assert [argument["role"] for argument in launch.args] == ["out", "in", "scalar"]
    compiled = {"transposeCoalesced": Compiled(tmp_path / "made.cubin", launch.kernel)}
    program, result = host_program([launch], compiled, tmp_path)
    host.main(*program[-2:])
    assert json.loads(result.read_text(encoding="utf-8"))["launches"] == [
        {"kernel": "transposeCoalesced", "wrong_elements": 0}
    ]
    assert ("launch", mangled, (2, 2, 1), (32, 8, 1), 0, None) in device.log


floats = st.lists(st.floats(width=32), min_size=1, max_size=40).map(lambda values: np.array(values, np.float32))
# Hypothesis calls the same imported function again and again, which keeps nothing that matters here.
same_host = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@same_host
@given(numbers=floats, places=st.sets(st.integers(0, 39)))
def test_exactly_the_elements_that_differ_in_a_bit_are_wrong(
    host: ModuleType, numbers: Array, places: set[int]
) -> None:
    changed = numbers.copy()
    for place in places:
        changed.view(np.uint32)[place % len(numbers)] ^= np.uint32(1 << place % 32)
    different = int((changed.view(np.uint32) != numbers.view(np.uint32)).sum())
    assert host.wrong_elements(changed, numbers, 0.0) == different
    assert host.wrong_elements(numbers, numbers, 0.0) == 0


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint32", "float32", "float64"])
def test_elements_of_every_width_are_compared(host: ModuleType, dtype: str) -> None:
    answer = np.arange(12, dtype=dtype).reshape(3, 4)
    output = answer.copy()
    output[1, 2] += 1
    output[2, 3] += 1
    assert host.wrong_elements(output, answer, 0.0) == 2
    assert host.wrong_elements(output, np.asfortranarray(answer), 0.0) == 2


def test_every_piece_of_a_large_output_is_compared(host: ModuleType) -> None:
    answer = np.zeros((1 << 18) * 2 + 3, np.uint32)
    output = answer.copy()
    output[[0, (1 << 18) - 1, 1 << 18, -1]] = 1
    assert host.wrong_elements(output, answer, 0.0) == 4


def test_a_nan_that_was_expected_is_right(host: ModuleType) -> None:
    poison = np.full(3, POISON).view(np.float32)
    assert host.wrong_elements(poison, poison.copy(), 0.0) == 0
    assert host.wrong_elements(np.zeros(3, np.float32), poison, 0.0) == 3


@pytest.mark.parametrize(
    ("output", "answer", "wrong"),
    [(1.0009, 1.0, 0), (1.0011, 1.0, 1), (1000.9, 1000.0, 0), (1001.1, 1000.0, 1), (0.0009, 0.0, 0), (-0.0011, 0.0, 1)],
)
def test_a_tolerance_is_relative_above_1_and_absolute_below(
    host: ModuleType, output: float, answer: float, wrong: int
) -> None:
    assert host.wrong_elements(np.array([output], np.float32), np.array([answer]), 1e-3) == wrong


def test_poison_is_wrong_whatever_the_tolerance(host: ModuleType) -> None:
    assert host.wrong_elements(np.full(3, POISON).view(np.float32), np.zeros(3), 0.9) == 3


@pytest.mark.parametrize("answer", [np.inf, -np.inf, np.nan])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_finite_number_is_not_what_an_infinite_one_should_be(host: ModuleType, answer: float) -> None:
    assert host.wrong_elements(np.ones(1, np.float32), np.array([answer]), 1e-3) == 1
