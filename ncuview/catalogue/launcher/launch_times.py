"""Measure the duration of repeated launches of a kernel by CUDA events, with outputs and L2 cache reset before each.

``time_launch`` returns ns per launch; ``device_words`` the GPU's name, compute capability and multiprocessors.
Neither needs permission to read counters. Outputs are reset to their first state and the L2 cache is filled with other
data, so that every launch starts in the state of the first one. All of this is in one stream, and filling takes longer
than Python needs to queue the launch after it: the host adds no gap between the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pycuda.driver as cuda

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
    stream = cuda.Stream()
    filling = cuda.mem_alloc(FILL_BYTES)
    times: list[float] = []
    while len(times) < (MOST if sum(times) < LONG_NS else LEAST):
        for memory, word, count in (*refills, (filling, 0, FILL_BYTES // _WORD)):
            cuda.memset_d32_async(memory, word, count, stream)
        start, end = cuda.Event(), cuda.Event()
        start.record(stream)
        launch(stream=stream)
        end.record(stream)
        end.synchronize()
        times.append(start.time_till(end) * 1e6)
    filling.free()
    return times


def device_words() -> dict[str, Any]:
    """The GPU's name, its compute capability as ``9.0``, and how many multiprocessors it has."""
    device = cuda.Context.get_device()
    return {
        "device": device.name(),
        "compute_capability": "{}.{}".format(*device.compute_capability()),
        "multiprocessors": device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT),
    }
