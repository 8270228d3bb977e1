"""The detector of matrix products and convolutions on FMA pipes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ncuview.programs.launches import Candidate, Program
from ncuview.records.program import Estimate

BUSY = 40.0
"""Percent of the FMA pipes' peak from which on a product is bound by them, not by memory or its small size."""
IDLE = 5.0
"""Percent below which the tensor pipes are idle."""
OWN = {"triton", "numba", "cupy"}
"""Frameworks in which users write kernels."""
_SINGLE = re.compile(r"sgemm|simt|ffma|f32f32_f32f32|gemmSN|gemmk1|\bscudnn|_sgemm|dgrad_engine|fft2d")
_DOUBLE = re.compile(r"dgemm|f64|double|zgemm|cgemm|complex")
_OWN = re.compile(r"gemm|matmul|dense|linear|(?:^|_)(?:mm|dot|conv|product|mlp)(?:_|$|\d)", re.IGNORECASE)


def on_fma_pipes(program: Program) -> Iterator[Candidate]:
    """PROG008: products in single precision that keep the FMA pipes busy while the tensor pipes idle.

    A library has another kernel for tensor pipes; a kernel of the user still waits as long as it does now. The bytes of
    a product bound its time at the best bandwidth of the launches that no pipe limits; where they are unknown, nothing
    is saved.
    """
    found = [number for number in range(len(program.launches)) if _is_single(program, number)]
    if not found:
        return
    time = program.duration[found]
    waiting = time * (1 - program.fma[found].clip(max=100.0) / 100)
    own = np.array([program.frameworks[number] in OWN for number in found])
    streaming = program.bandwidth_of(np.flatnonzero((program.fma < BUSY) & (program.tensor < BUSY)))
    moved = program.moved[found]
    by_memory = np.where(np.isfinite(moved), moved / streaming, time) if streaming else 0 * time
    slow, likely, fast = program.gpu.tensor_speedup
    left = (
        waiting + (time - waiting) / slow,
        np.where(own, waiting + (time - waiting) / likely, time / likely),
        time / fast,
    )
    saved = Estimate(*(float((time - np.maximum(each, by_memory)).clip(min=0.0).sum()) for each in left))
    with_line = tuple(number for number in found if program.calls[number].line)
    yield Candidate(tuple(found), with_line or tuple(found), saved)


def _is_single(program: Program, number: int) -> bool:
    launch = program.launches[number]
    name = launch.demangled or launch.kernel
    own = program.frameworks[number] in OWN and _OWN.search(launch.kernel)
    if not (_SINGLE.search(name) or own) or _DOUBLE.search(name):
        return False
    return bool(program.fma[number] >= BUSY and program.tensor[number] <= IDLE)
