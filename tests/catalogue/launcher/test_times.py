"""The times of copies and kernel, on a clock that only work moves."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ncuview.reader.host_times import HOST_TIMES
from tests.catalogue.launcher.fake_pycuda import NS_PER_BYTE_BACK, NS_PER_BYTE_THERE, PAGE_LOCKED, Device

N, BLOCK = 1024, 32
BYTES = 4 * N
THERE, BACK = NS_PER_BYTE_THERE * BYTES, NS_PER_BYTE_BACK * BYTES
KERNEL = 5000.0
REPEATS = 8
"""Seven that count, after one that does not."""


def entry(memory: str = "pageable", pieces: int = 1, streams: int = 1) -> dict[str, Any]:
    """A job's entry for one step of a random generator."""
    return {
        "kernel": "made",
        "cubin": "made.cubin",
        "symbol": "step",
        "grid": [N // BLOCK, 1, 1],
        "block": [BLOCK, 1, 1],
        "args": [
            {"role": "out", "dtype": "uint32", "shape": [N]},
            {"role": "in", "name": "in", "dtype": "uint32", "shape": [N], "below": 0},
            {"role": "scalar", "dtype": "uint32", "value": 1664525.0},
        ],
        "transfers": {"memory": memory, "pieces": pieces, "streams": streams},
    }


def step(device: Device, grid: tuple[int, ...], block: tuple[int, ...], out: Any, source: Any, factor: Any) -> None:
    threads = grid[0] * block[0]
    assert (out.dtype, source.dtype, factor.dtype) == (np.intp, np.intp, np.uint32)
    device.array(out, threads, "uint32")[:] = device.array(source, threads, "uint32") * factor


@pytest.fixture
def timed(times: ModuleType, device: Device) -> Any:
    device.kernels["step"] = step
    device.kernel_ns = [KERNEL]
    return times.time_transfers


def once(log: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What is done in each repeat, which must be the same."""
    starts = [at for at, call in enumerate(log) if call == ("synchronize",)]
    assert len(starts) == REPEATS
    ends = [*starts[1:], next(at for at, call in enumerate(log) if call[0] == "free")]
    repeats = [log[start + 1 : end] for start, end in zip(starts, ends, strict=True)]
    assert all(repeat == repeats[0] for repeat in repeats)
    return repeats[0]


def launched(blocks: int, stream: int) -> tuple[Any, ...]:
    return ("launch", "step", (blocks, 1, 1), (BLOCK, 1, 1), 0, stream)


def test_on_one_stream_the_end_to_end_time_is_the_sum_of_its_parts(timed: Any) -> None:
    found = timed(entry())
    assert found["host__to_device_time"] == pytest.approx(THERE)
    assert found["host__kernel_time"] == pytest.approx(KERNEL)
    assert found["host__to_host_time"] == pytest.approx(BACK)
    assert found["host__whole_time"] == pytest.approx(THERE + KERNEL + BACK)


def test_only_inputs_go_there_and_only_outputs_come_back(timed: Any, device: Device) -> None:
    timed(entry())
    assert once(device.log) == [("there", BYTES, 0), launched(N // BLOCK, 0), ("back", BYTES, 0)]


def test_small_copies_go_in_pieces_around_one_launch(timed: Any, device: Device) -> None:
    found = timed(entry(pieces=4))
    assert once(device.log) == [
        *[("there", BYTES // 4, 0)] * 4,
        launched(N // BLOCK, 0),
        *[("back", BYTES // 4, 0)] * 4,
    ]
    assert found["host__whole_time"] == pytest.approx(THERE + KERNEL + BACK)


def test_several_streams_take_the_pieces_in_rotation(timed: Any, device: Device) -> None:
    timed(entry("pinned", pieces=4, streams=2))
    quarter = BYTES // 4
    pieces = [
        call
        for stream in (0, 1, 0, 1)
        for call in (("there", quarter, stream), launched(N // BLOCK // 4, stream), ("back", quarter, stream))
    ]
    # The other stream starts with the first, and the first ends after the other.
    assert once(device.log) == [("wait", 1), *pieces, ("wait", 0)]


def test_the_end_to_end_time_ends_with_the_last_stream(timed: Any, device: Device) -> None:
    device.kernel_ns = [1000.0, 9000.0] * REPEATS
    found = timed(entry("pinned", pieces=2, streams=2))
    assert found["host__kernel_time"] == pytest.approx(10_000.0)
    assert found["host__whole_time"] == pytest.approx((THERE + BACK) / PAGE_LOCKED / 2 + 9000.0)


@pytest.mark.parametrize(("pieces", "streams", "rounds"), [(4, 2, 2), (4, 4, 1), (8, 4, 2), (4, 3, 2)])
def test_streams_work_at_the_same_time(timed: Any, pieces: int, streams: int, rounds: int) -> None:
    found = timed(entry("pinned", pieces, streams))
    copies = (THERE + BACK) / PAGE_LOCKED
    assert found["host__to_device_time"] == pytest.approx(THERE / PAGE_LOCKED)
    assert found["host__to_host_time"] == pytest.approx(BACK / PAGE_LOCKED)
    assert found["host__kernel_time"] == pytest.approx(KERNEL * pieces)
    assert found["host__whole_time"] == pytest.approx(rounds * (copies / pieces + KERNEL))


@pytest.mark.parametrize(("memory", "speed", "pinned"), [("pageable", 1, 0), ("pinned", PAGE_LOCKED, 1)])
def test_pinned_memory_is_page_locked(timed: Any, device: Device, memory: str, speed: int, pinned: int) -> None:
    found = timed(entry(memory))
    assert found["host__to_device_time"] == pytest.approx(THERE / speed)
    assert found["host__pinned"] == pinned
    assert len(device.page_locked) == 2 * pinned


def test_the_median_of_seven_counts_and_the_first_run_does_not(timed: Any, device: Device) -> None:
    device.kernel_ns = [1e9, 7.0, 1.0, 6.0, 2.0, 5.0, 3.0, 4.0]
    found = timed(entry())
    assert found["host__kernel_time"] == pytest.approx(4.0)
    assert found["host__whole_time"] == pytest.approx(THERE + 4.0 + BACK)


@pytest.mark.parametrize("how", [("pageable", 1, 1), ("pinned", 16, 1), ("pinned", 8, 2), ("pinned", 8, 3)])
def test_every_element_is_copied_computed_and_brought_back(
    timed: Any, device: Device, times: ModuleType, how: tuple[str, int, int]
) -> None:
    timed(entry(*how))
    pieces = how[1]
    assert len(device.fetched) == pieces * REPEATS
    given = times.seeded(times.input_of(entry()["args"][1], 0))
    for repeat in range(REPEATS):
        output = np.concatenate(device.fetched[repeat * pieces : (repeat + 1) * pieces])
        np.testing.assert_array_equal(output, given * np.uint32(1664525))


def test_all_that_is_known_is_said_under_the_names_of_the_metrics(timed: Any) -> None:
    found = timed(entry("pinned", pieces=8, streams=2))
    assert found.keys() == {"kernel", *HOST_TIMES}
    assert (found["kernel"], found["host__copied_bytes"]) == ("made", 2 * BYTES)
    assert (found["host__copies"], found["host__streams"]) == (8, 2)
    assert json.loads(json.dumps(found)) == found


def test_no_device_memory_is_left(timed: Any, device: Device) -> None:
    timed(entry())
    assert device.live == {}


def test_a_job_that_asks_for_times_makes_no_other_launch(host: ModuleType, device: Device, tmp_path: Path) -> None:
    device.kernels["step"] = step
    job, result = tmp_path / "job.json", tmp_path / "result.json"
    job.write_text(json.dumps({"launches": [entry(), entry(pieces=2)], "timed": "transfers"}), encoding="utf-8")
    host.main(str(job), str(result))
    found = json.loads(result.read_text(encoding="utf-8"))["launches"]
    assert [each["host__copies"] for each in found] == [1, 2]
    assert len([call for call in device.log if call[0] == "launch"]) == 2 * REPEATS
