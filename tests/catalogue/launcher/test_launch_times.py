"""Launches that are timed with events, on a clock that only work moves."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ncuview.catalogue.reference import POISON
from tests.catalogue.launcher.conftest import HOST
from tests.catalogue.launcher.fake_pycuda import Device
from tests.catalogue.launcher.test_main import WORDS, N, entry

FILL = 4096
LAUNCH_NS = 5000.0
MOST = 21


@pytest.fixture
def times(device: Device, host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``ncuview.catalogue.launcher.times`` as the host process has it, with a small cache to fill."""
    module = importlib.import_module(f"{HOST}.times")
    monkeypatch.setattr(module, "FILL_BYTES", FILL)
    device.kernel_ns = [1e9, LAUNCH_NS]  # the first launch loads the kernel, and is not timed
    return module


def copies(device: Device, grid: tuple[int, ...], block: tuple[int, ...], source: Any, out: Any) -> None:
    device.array(out, N, "uint32")[:] = device.array(source, N, "uint32")


def adds(device: Device, grid: tuple[int, ...], block: tuple[int, ...], source: Any, out: Any) -> None:
    """What is right once, on an output that holds zeros."""
    device.array(out, N, "uint32")[:] += device.array(source, N, "uint32")


def launched(device: Device) -> list[tuple[Any, ...]]:
    return [call for call in device.log if call[0] == "launch"]


def test_each_launch_is_timed_by_itself(host: ModuleType, times: ModuleType, device: Device) -> None:
    device.kernels["run"] = copies
    device.kernel_ns = [1e9, *(1000.0 * place for place in range(1, MOST + 1))]
    found = host.launch_and_time(entry())
    assert found["times_ns"] == pytest.approx([1000.0 * place for place in range(1, MOST + 1)])
    assert (found["kernel"], found["wrong_elements"]) == ("copy[n=6]", 0)
    assert len(launched(device)) == 1 + MOST


def test_the_gpu_is_named(host: ModuleType, times: ModuleType, device: Device) -> None:
    device.kernels["run"] = copies
    found = host.launch_and_time(entry())
    assert (found["device"], found["compute_capability"], found["multiprocessors"]) == ("NVIDIA Fake", "9.0", 132)
    assert json.loads(json.dumps(found)) == found


def test_what_is_done_before_a_launch_is_in_its_stream_and_not_in_its_time(
    host: ModuleType, times: ModuleType, device: Device
) -> None:
    device.kernels["run"] = copies
    found = host.launch_and_time(entry())
    first = device.log.index(launched(device)[1])
    before = [("memset", int(POISON), N, 0), ("memset", 0, FILL // 4, 0)]
    assert device.log[first - 2 : first] == before
    assert launched(device)[1][-1] == 0
    assert found["times_ns"] == pytest.approx([LAUNCH_NS] * MOST)


def test_an_output_that_is_added_to_starts_from_zero_each_time(
    host: ModuleType, times: ModuleType, device: Device
) -> None:
    seen = []

    def watched(device: Device, grid: tuple[int, ...], block: tuple[int, ...], source: Any, out: Any) -> None:
        seen.append(device.array(out, N, "uint32").copy())
        adds(device, grid, block, source, out)

    device.kernels["run"] = watched
    args = (entry()["args"][0], {"role": "zeroed", **WORDS})
    host.launch_and_time(entry(*args))
    assert len(seen) == 1 + MOST
    assert not np.any(seen)


def test_long_launches_are_fewer(host: ModuleType, times: ModuleType, device: Device) -> None:
    device.kernels["run"] = copies
    device.kernel_ns = [0.0, times.LONG_NS * 0.9]
    assert len(host.launch_and_time(entry())["times_ns"]) == times.LEAST
    device.kernel_ns = [0.0, times.LONG_NS * 0.21]
    assert len(host.launch_and_time(entry())["times_ns"]) == 5


def test_a_wrong_kernel_is_not_timed(host: ModuleType, times: ModuleType, device: Device) -> None:
    device.kernels["run"] = lambda *_: None
    found = host.launch_and_time(entry())
    assert (found["wrong_elements"], found["times_ns"]) == (N, [])
    assert len(launched(device)) == 1


def test_a_kernel_without_an_oracle_is_timed(host: ModuleType, times: ModuleType, device: Device) -> None:
    device.kernels["run"] = lambda *_: None
    found = host.launch_and_time(entry(oracle=None))
    assert found["wrong_elements"] is None
    assert len(found["times_ns"]) == MOST


def test_no_memory_but_the_inputs_stays(host: ModuleType, times: ModuleType, device: Device) -> None:
    device.kernels["run"] = copies
    host.launch_and_time(entry())
    assert [len(memory.bytes) for memory in device.live.values()] == [4 * N]


def test_a_job_asks_for_it(host: ModuleType, times: ModuleType, device: Device, tmp_path: Path) -> None:
    device.kernels["run"] = copies
    job, result = tmp_path / "job.json", tmp_path / "result.json"
    job.write_text(json.dumps({"launches": [entry()], "timed": "launches"}), encoding="utf-8")
    host.main(str(job), str(result))
    (found,) = json.loads(result.read_text(encoding="utf-8"))["launches"]
    assert len(found["times_ns"]) == MOST
