"""Trace the kernels of this process with CUPTI, and write their times into a folder when the process ends.

``start`` loads the CUPTI that the program's packages bring, or the CUDA toolkit's. The file ``PID.json`` then holds
the number of kernels, the times in which at least one of them ran and in which none did, and how much of these was
beside copies between host and device. Where another profiler is
attached, or no CUPTI can be loaded, there is no file. It runs in the user's Python, from 3.8 on and without ncuview.

Variables:
    NCUVIEW_HOOK_RANGES: Only kernels between cudaProfilerStart and cudaProfilerStop count.
"""

from __future__ import annotations

import atexit
import ctypes
import glob
import json
import os
import re
import sys
from bisect import bisect
from typing import Any, Iterator, Sequence, Tuple

Identity = Tuple[int, Tuple[int, ...]]
"""Where the name of a kernel stands, which all its launches share, and its grid."""
Kernel = Tuple[int, int, Identity]
"""Start and end in ns, and the identity."""
NONE: Identity = (0, ())

Copy = Tuple[int, int]
"""Start and end in ns."""

CONCURRENT_KERNEL, MEMCPY = 10, 1
DIRECTIONS = {1, 2}
"""Of copies: host to device, and device to host."""
DRIVER_API, RUNTIME_API = 1, 2
PROFILER_STARTS = {(DRIVER_API, 308), (RUNTIME_API, 171)}
PROFILER_STOPS = {(DRIVER_API, 309), (RUNTIME_API, 172)}
ENTER, EXIT = 0, 1
FLUSH_FORCED = 1
NO_MORE_RECORDS = 12
# Offsets in a kernel's record, the same in CUpti_ActivityKernel4 (CUDA 8) to CUpti_ActivityKernel10 (CUDA 13), and in a
# copy's, the same in CUpti_ActivityMemcpy to CUpti_ActivityMemcpy6, which has its times at the same places.
START, END, GRID, NAME, DIRECTION = 16, 24, 52, 104, 4

BUFFER_BYTES = 8 << 20
MOST_BUFFERS = 24
"""Together a million kernels; a program that launches more is traced up to there, and the file says so."""
LONGEST_LAUNCH_GAP_NS = 100_000
"""A longer time between two kernels is work or a wait of the host; launching took 7.5 us in PyTorch, 12 us in CuPy."""
REPEATS = 3
"""A wait between the same two kernels that is seen less often is one of a start: of compilers, or of autotuning."""

REQUESTED = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
COMPLETED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
CALLED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))


class CuptiFailed(Exception):
    """CUPTI cannot be used, or a function of it did not return success."""


def candidates() -> list[str]:
    """The CUPTI libraries to try: the one that is loaded, those of pip's packages, and those of CUDA toolkits."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        found = re.findall(r"(/\S*/libcupti\.so\S*)", maps.read())
    for folder in sys.path:
        found += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcupti.so.*")), reverse=True)
    for toolkit in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        for below in ("lib64", os.path.join("extras", "CUPTI", "lib64"), "lib"):
            if toolkit:
                found.append(os.path.join(toolkit, below, "libcupti.so"))
    return [each for each in dict.fromkeys(found) if os.path.exists(each)] + ["libcupti.so.13", "libcupti.so.12"]


class Trace:
    """The records of one process."""

    def __init__(self, cupti: Any, *, only_ranges: bool) -> None:
        self._cupti = cupti
        self._only_ranges = only_ranges
        self._free: list[Any] = []
        self._full: list[tuple[Any, int, int]] = []
        self._lent: dict[int, Any] = {}
        self.cut = False
        self.ranges: list[list[int]] = []
        # kept, because CUPTI calls them as long as the process lives
        self._callbacks = REQUESTED(self._requested), COMPLETED(self._completed), CALLED(self._called)

    def begin(self) -> None:
        """Switch the trace on.

        Raises:
            CuptiFailed: CUPTI refuses.
        """
        self._call("cuptiActivityRegisterCallbacks", self._callbacks[0], self._callbacks[1])
        if self._only_ranges:
            subscriber = ctypes.c_void_p()
            self._call("cuptiSubscribe", ctypes.byref(subscriber), self._callbacks[2], None)
            for domain, function in sorted(PROFILER_STARTS | PROFILER_STOPS):
                self._call("cuptiEnableCallback", ctypes.c_uint32(1), subscriber, domain, function)
        for kind in (CONCURRENT_KERNEL, MEMCPY):
            self._call("cuptiActivityEnable", kind)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cupti, name)(*arguments)
        if status:
            raise CuptiFailed(f"{name} returned {status}")

    def _requested(self, buffer: Any, size: Any, most_records: Any) -> None:
        made = self._free.pop() if self._free else ctypes.create_string_buffer(BUFFER_BYTES + 8)
        address = (ctypes.addressof(made) + 7) & ~7  # CUPTI asks for an alignment of 8 bytes
        self._lent[address] = made
        buffer[0], size[0], most_records[0] = address, BUFFER_BYTES, 0

    def _completed(self, _context: int, _stream: int, address: int, _size: int, valid: int) -> None:
        made = self._lent.pop(address, None)
        if made is None:
            return
        if valid and len(self._full) < MOST_BUFFERS:
            self._full.append((made, address, valid))
            return
        self.cut = self.cut or bool(valid)
        self._free.append(made)

    def _called(self, _user: int, domain: int, function: int, data: Any) -> None:
        """Note when a range starts and stops; before both, wait for the kernels that were launched so far."""
        site = data[0]
        if (domain, function) in PROFILER_STARTS and site == EXIT and (not self.ranges or self.ranges[-1][1]):
            self.ranges.append([self._now(), 0])
        elif (domain, function) in PROFILER_STOPS and site == ENTER and self.ranges and not self.ranges[-1][1]:
            self.ranges[-1][1] = self._now()

    def _now(self) -> int:
        ctypes.CDLL("libcuda.so.1").cuCtxSynchronize()
        now = ctypes.c_uint64()
        self._call("cuptiGetTimestamp", ctypes.byref(now))
        return now.value

    def records(self) -> tuple[list[Kernel], list[Copy]]:
        """Every kernel that counts, and every copy between host and device, by start.

        Raises:
            CuptiFailed: CUPTI refuses.
        """
        self._call("cuptiActivityFlushAll", FLUSH_FORCED)
        kernels: list[Kernel] = []
        copies: list[Copy] = []
        for buffer in self._full:
            for at in self._places(*buffer):
                start, end = (ctypes.c_uint64.from_address(at + place).value for place in (START, END))
                if not 0 < start <= end:  # 0: it has not ended, or CUPTI could not measure it
                    continue
                kind = ctypes.c_uint32.from_address(at).value
                if kind == CONCURRENT_KERNEL:
                    grid = tuple((ctypes.c_int32 * 3).from_address(at + GRID))
                    kernels.append((start, end, (ctypes.c_uint64.from_address(at + NAME).value, grid)))
                elif kind == MEMCPY and ctypes.c_uint8.from_address(at + DIRECTION).value in DIRECTIONS:
                    copies.append((start, end))
        if self._only_ranges:
            ranges = [(first, last or sys.maxsize) for first, last in self.ranges]
            kernels = [each for each in kernels if any(first <= each[0] < last for first, last in ranges)]
        return sorted(kernels), sorted(copies)

    def _places(self, _made: Any, address: int, valid: int) -> Iterator[int]:
        record = ctypes.c_void_p()
        while True:
            status = self._cupti.cuptiActivityGetNextRecord(
                ctypes.c_void_p(address), ctypes.c_size_t(valid), ctypes.byref(record)
            )
            if status == NO_MORE_RECORDS:
                return
            if status:
                raise CuptiFailed(f"cuptiActivityGetNextRecord returned {status}")
            yield record.value or 0


def summary(kernels: Sequence[Kernel], copies: Sequence[Copy] = (), *, cut: bool = False) -> dict[str, int]:
    """What ``PID.json`` holds of kernels and copies in the order of their starts, in ns.

    ``launch_gap_ns`` is the median time without a kernel between two kernels, of those that launching explains; waits
    longer than that stand in ``waits_ns`` where the host waits again and again between the same two kernels, and in
    ``once_ns`` otherwise. ``copied_ns`` is the part of ``waits_ns`` between kernels of which at least every second pair
    has a copy between it.
    """
    short: list[int] = []
    long: dict[tuple[Identity, Identity], list[int]] = {}
    with_copy: dict[tuple[Identity, Identity], int] = {}
    starts = [copy[0] for copy in copies]
    busy, end, last = 0, 0, NONE
    for start, stop, kernel in kernels:
        if end and start - end > LONGEST_LAUNCH_GAP_NS:
            long.setdefault((last, kernel), []).append(start - end)
            with_copy[last, kernel] = with_copy.get((last, kernel), 0) + (bisect(starts, end) < bisect(starts, start))
        elif end:
            short.append(max(0, start - end))
        busy += max(0, stop - max(start, end))
        if stop >= end:
            end, last = stop, kernel
    repeated = {pair: each for pair, each in long.items() if len(each) >= REPEATS}
    waits = {pair: _median(each) * len(each) for pair, each in repeated.items()}
    return {
        "launches": len(kernels),
        "busy_ns": busy,
        "span_ns": end - kernels[0][0] if kernels else 0,
        "launch_gap_ns": _median(short),
        "waits": sum(map(len, repeated.values())),
        "waits_ns": sum(waits.values()),
        "copied_ns": sum(waits[pair] for pair, each in repeated.items() if 2 * with_copy[pair] >= len(each)),
        "once_ns": sum(map(sum, long.values())) - sum(waits.values()),
        "cut": cut,
    }


def _median(numbers: Sequence[int]) -> int:
    return sorted(numbers)[len(numbers) // 2] if numbers else 0


_started: list[object] = []


def start(folder: str) -> None:
    """Trace this process from now on, once.

    Raises:
        CuptiFailed: No CUPTI can be loaded, or none can be switched on.
    """
    if _started:
        return
    _started.append(folder)
    refusals = []
    for library in candidates():
        try:
            trace = Trace(ctypes.CDLL(library), only_ranges=bool(os.environ.get("NCUVIEW_HOOK_RANGES")))
            _started.append(trace)  # CUPTI may keep its callbacks even where it refuses
            trace.begin()
        except (OSError, AttributeError, CuptiFailed) as error:
            refusals.append(f"{library}: {error}")
            continue
        atexit.register(_write, trace, folder, os.getpid())
        return
    raise CuptiFailed("; ".join(refusals))


def _write(trace: Trace, folder: str, process: int) -> None:
    if os.getpid() != process:  # a fork has no trace
        return
    try:
        text = json.dumps({**summary(*trace.records(), cut=trace.cut), "pytorch": "torch" in sys.modules})
        beside = os.path.join(folder, f"{process}.part")
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(beside, os.path.join(folder, f"{process}.json"))
    except Exception as error:
        if os.environ.get("NCUVIEW_HOOK_DEBUG"):
            sys.stderr.write(f"ncuview's kernel trace: {type(error).__name__}: {error}\n")
