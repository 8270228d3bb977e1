"""Fill the shared memory of all multiprocessors before a launch: ``fill``.

A GPU leaves in shared memory what the launch before wrote there, and that of a new process is mostly zero. So a kernel
that forgets to clear its counters there computes the right result by chance, unless something else is in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pycuda.driver as cuda

from ncuview.catalogue.reference import POISON

_THREADS = 1024
_ROUNDS = 2
"""Blocks for each multiprocessor: one takes all of its shared memory, so that the others wait."""
_PTX = """.version 7.0
.target sm_70
.address_size 64
.extern .shared .align 4 .b8 memory[];
.visible .entry fill(.param .u32 bytes, .param .u32 word)
{
    .reg .pred %done;
    .reg .u32 %at, %end, %step, %word, %base;
    ld.param.u32 %end, [bytes];
    ld.param.u32 %word, [word];
    mov.u32 %at, %tid.x;
    shl.b32 %at, %at, 2;
    mov.u32 %step, %ntid.x;
    shl.b32 %step, %step, 2;
    mov.u32 %base, memory;
    add.u32 %at, %at, %base;
    add.u32 %end, %end, %base;
next:
    setp.ge.u32 %done, %at, %end;
    @%done bra last;
    st.volatile.shared.u32 [%at], %word;
    add.u32 %at, %at, %step;
    bra next;
last:
    ret;
}
"""


def fill(function: Any) -> None:
    """Fill what a block can get of each multiprocessor's shared memory with ``POISON``, for a launch of this kernel.

    The kernel keeps the division of L1 that this makes: another one may clear shared memory.
    """
    function.set_attribute(cuda.function_attribute.PREFERRED_SHARED_MEMORY_CARVEOUT, 100)
    filling, size, multiprocessors = _filling()
    grid = (_ROUNDS * multiprocessors, 1, 1)
    filling(np.uint32(size), np.uint32(POISON), grid=grid, block=(_THREADS, 1, 1), shared=size)


@cache
def _filling() -> tuple[Any, int, int]:
    """The kernel, the bytes of shared memory that a block can get, and the number of multiprocessors."""
    device = cuda.Context.get_device()
    size = device.get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    function = cuda.module_from_buffer(_PTX.encode()).get_function("fill")
    function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, size)
    return function, size, device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
