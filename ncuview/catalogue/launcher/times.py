"""Time repeated launches (``time_launch``), or a job entry's copies and kernel (``time_transfers``), by CUDA events.

Neither needs permission to read counters. ``device_words`` gives the GPU's name, compute capability, multiprocessors.

Before each launch of ``time_launch``, outputs are reset to their first state and the L2 cache is filled with other
data, so that every launch starts in the state of the first one. All of this is in one stream, and filling takes longer
than Python needs to queue the launch after it: the host adds no gap between the events.

``time_transfers`` copies the data in pieces over streams, from pageable or pinned memory, and returns median times.
The entry's ``transfers`` gives memory, pieces and streams. With one stream, all pieces are copied, the kernel is
launched once, and the results are copied back; with several, each piece has its copies and its launch on one of the
streams, in rotation, so that copies overlap with kernels and with copies the other way. ncu measures none of this.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pycuda.driver as cuda

from ncuview.catalogue.launcher.inputs import input_of, seeded

REPEATS = 7

Entry = Mapping[str, Any]


class _Buffer:
    """An array argument: its host memory and its device memory."""

    def __init__(self, argument: Entry, stream: int, *, pinned: bool) -> None:
        shape, dtype = tuple(argument["shape"]), argument["dtype"]
        self.comes_back = argument["role"] == "out"
        self.host = cuda.pagelocked_empty(shape, dtype) if pinned else np.empty(shape, dtype)
        # Writing maps every page, so that no timed copy causes page faults.
        self.host[...] = 0 if self.comes_back else seeded(input_of(argument, stream))
        self.device = cuda.mem_alloc(self.host.nbytes)
        self._flat = self.host.reshape(-1)

    def piece(self, index: int, pieces: int) -> tuple[Any, int]:
        """One of the equal pieces: the host's array, and the address in device memory."""
        length = self._flat.size // pieces
        return self._flat[index * length : (index + 1) * length], int(self.device) + index * length * self.host.itemsize


def time_transfers(entry: Entry) -> dict[str, Any]:
    """Medians over the repeats: copies to the device, kernel, copies back, and the end-to-end time.

    The keys are the metrics of ``reader/host_times.py``; times are in ns.
    """
    how = entry["transfers"]
    function = cuda.module_from_file(entry["cubin"]).get_function(entry["symbol"])
    buffers: list[_Buffer | None] = []
    for argument in entry["args"]:
        inputs = sum(buffer is not None and not buffer.comes_back for buffer in buffers)
        array = argument["role"] != "scalar"
        buffers.append(_Buffer(argument, inputs, pinned=how["memory"] == "pinned") if array else None)
    streams = [cuda.Stream() for _ in range(how["streams"])]
    timed = [_once(entry, function, buffers, streams) for _ in range(REPEATS + 1)][1:]
    medians = {key: statistics.median(times[key] for times in timed) for key in timed[0]}
    copied = sum(buffer.host.nbytes for buffer in buffers if buffer)
    for buffer in filter(None, buffers):
        buffer.device.free()
    return {
        "kernel": entry["kernel"],
        **medians,
        "host__copied_bytes": copied,
        "host__copies": how["pieces"],
        "host__streams": how["streams"],
        "host__pinned": int(how["memory"] == "pinned"),
    }


def _once(entry: Entry, function: Any, buffers: Sequence[_Buffer | None], streams: Sequence[Any]) -> dict[str, float]:
    pieces = entry["transfers"]["pieces"]
    launches = pieces if len(streams) > 1 else 1
    cuda.Context.synchronize()
    start, end = cuda.Event(), cuda.Event()
    start.record(streams[0])
    for stream in streams[1:]:
        stream.wait_for_event(start)
    spans: dict[str, list[tuple[Any, Any]]] = {
        "host__to_device_time": [],
        "host__kernel_time": [],
        "host__to_host_time": [],
    }
    for piece in range(launches):
        stream = streams[piece % len(streams)]
        share = range(piece * pieces // launches, (piece + 1) * pieces // launches)
        with _span(spans["host__to_device_time"], stream):
            _copy(buffers, share, pieces, stream, back=False)
        with _span(spans["host__kernel_time"], stream):
            _launch(entry, function, buffers, (piece, launches), stream)
        with _span(spans["host__to_host_time"], stream):
            _copy(buffers, share, pieces, stream, back=True)
    for stream in streams[1:]:
        done = cuda.Event()
        done.record(stream)
        streams[0].wait_for_event(done)
    end.record(streams[0])
    end.synchronize()
    times = {key: sum(first.time_till(last) for first, last in each) * 1e6 for key, each in spans.items()}
    return {**times, "host__whole_time": start.time_till(end) * 1e6}


@contextmanager
def _span(spans: list[tuple[Any, Any]], stream: Any) -> Iterator[None]:
    """Record events before and after what the body queues on the stream."""
    spans.append((cuda.Event(), cuda.Event()))
    spans[-1][0].record(stream)
    yield
    spans[-1][1].record(stream)


def _copy(buffers: Sequence[_Buffer | None], share: range, pieces: int, stream: Any, *, back: bool) -> None:
    for buffer in buffers:
        if buffer and buffer.comes_back == back:
            for index in share:
                host, device = buffer.piece(index, pieces)
                if back:
                    cuda.memcpy_dtoh_async(host, device, stream)
                else:
                    cuda.memcpy_htod_async(device, host, stream)


def _launch(
    entry: Entry, function: Any, buffers: Sequence[_Buffer | None], piece: tuple[int, int], stream: Any
) -> None:
    """Launch on one piece (its index, and the number of pieces), with its share of the blocks."""
    arguments = [
        np.intp(buffer.piece(*piece)[1]) if buffer else np.dtype(argument["dtype"]).type(argument["value"])
        for buffer, argument in zip(buffers, entry["args"], strict=True)
    ]
    x, y, z = entry["grid"]
    function(*arguments, grid=(x // piece[1], y, z), block=tuple(entry["block"]), stream=stream)


MOST, LEAST = 21, 3
"""Launches that are timed: the most, and the least where they take long."""
LONG_NS = 2e9
"""After this much time in launches no more than the least number is made."""
FILL_BYTES = 256 << 20
"""More than any GPU's L2 cache holds; filling it takes even an H200 more than 50 us."""
_WORD = 4

Refill = tuple[Any, int, int]
"""Memory, the word it is filled with, and how many."""


def time_launch(launch: Callable[..., None], refills: Sequence[Refill]) -> list[float]:
    """The time of each repeated launch in ns, in order; the first, which loads the kernel, has been made before.

    Args:
        launch: Makes one launch, on the ``stream`` that it is given.
        refills: How to reset the outputs before each launch.
    """
    clock = ColdClock()
    times: list[float] = []
    while len(times) < (MOST if sum(times) < LONG_NS else LEAST):
        times.append(clock.time(launch, refills))
    clock.free()
    return times


class ColdClock:
    """Times launches that start with reset outputs and an L2 cache full of other data."""

    def __init__(self) -> None:
        self._stream = cuda.Stream()
        self._filling = cuda.mem_alloc(FILL_BYTES)

    def time(self, launch: Callable[..., None], refills: Sequence[Refill]) -> float:
        """The time of one launch in ns; see ``time_launch`` for the arguments."""
        for memory, word, count in (*refills, (self._filling, 0, FILL_BYTES // _WORD)):
            cuda.memset_d32_async(memory, word, count, self._stream)
        start, end = cuda.Event(), cuda.Event()
        start.record(self._stream)
        launch(stream=self._stream)
        end.record(self._stream)
        end.synchronize()
        return float(start.time_till(end) * 1e6)

    def free(self) -> None:
        """Free the memory that fills the cache."""
        self._filling.free()


def device_words() -> dict[str, Any]:
    """The GPU's name, its compute capability as ``9.0``, and how many multiprocessors it has."""
    device = cuda.Context.get_device()
    return {
        "device": device.name(),
        "compute_capability": "{}.{}".format(*device.compute_capability()),
        "multiprocessors": device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT),
    }
