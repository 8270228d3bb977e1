"""``shared_pipes``: the name of the unit ``fp64_tensor`` in each launch, by what runs on it.

Tensor and FP64 instructions share the dispatch that ``sm__pipe_shared_cycles_active_realtime`` counts. A product in
double precision (DMMA) counts as FP64.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np

from ncuview.base.patterns import LONGEST
from ncuview.sass.code import of_class
from ncuview.sass.opcode_classes import is_double_precision, is_low_precision_product

if TYPE_CHECKING:
    from ncuview.metrics.analysis import Analysis

UNIT = "fp64_tensor"
SharedPipes = Literal["tensor pipes", "FP64 pipes", "tensor and FP64 pipes", "tensor or FP64 pipes"]
_BY_USE: dict[tuple[bool, bool], SharedPipes] = {
    (True, False): "tensor pipes",
    (False, True): "FP64 pipes",
    (True, True): "tensor and FP64 pipes",
    (False, False): "tensor or FP64 pipes",
}
"""Whether tensor and FP64 instructions run -> the name."""
_EXECUTED = "inst_executed"
_DOUBLE_COUNTER = re.compile(r"sm(?:sp)?__.*(?:pipe_fp64|_op_dmma|_op_d(?:fma|add|mul)_)")
_TENSOR_COUNTER = re.compile(r"sm(?:sp)?__(?:inst_executed_)?pipe_tensor(?!.*dmma)")
_DOUBLE_NAME = re.compile(r"d884|f64f64|nvjet_(?:sm\d+_)?d[a-z]{2}_|(?:^|[_ ])[dz]gemm|(?:^|_)[dz](?:syrk|trsm)")
_TENSOR_NAME = re.compile(
    r"nvjet_(?:sm\d+_)?[a-z]{3}_|tensorop|_tensor\d+x|wgmma|hmma|imma|[hsi]\d*(?:884|1688|16816|16832|161616)"
    r"|xmma_\w+?_(?:f16f16|bf16bf16|tf32tf32|e4m3|e5m2|i8i8)"
)
"""By the types and shapes of instructions that cuBLAS, cuDNN and CUTLASS write into the names of their products."""


def shared_pipes(analysis: Analysis) -> list[SharedPipes]:
    """The name of the pipes that tensor and FP64 instructions share, for each launch.

    The instructions that the launch executed decide; without machine code its counters; else its name.
    """
    names = analysis.profile.launches["demangled"].tolist()
    return [_BY_USE[_of_launch(analysis, launch, str(name))] for launch, name in enumerate(names)]


def _of_launch(analysis: Analysis, launch: int, name: str) -> tuple[bool, bool]:
    """Whether tensor and whether FP64 instructions run."""
    if executed := analysis.instructions.get(launch):
        ran = executed[_EXECUTED] != 0 if _EXECUTED in executed else np.ones(len(executed), dtype=bool)
        tensor, double = (
            bool((of_class(executed.code, asked) & ran).any())
            for asked in (is_low_precision_product, is_double_precision)
        )
        return tensor, double
    counted = _used(analysis, launch, _TENSOR_COUNTER), _used(analysis, launch, _DOUBLE_COUNTER)
    if any(counted):
        return counted
    known = name[:LONGEST]
    double = bool(_DOUBLE_NAME.search(known))
    return not double and bool(_TENSOR_NAME.search(known)), double


def _used(analysis: Analysis, launch: int, counters: re.Pattern[str]) -> bool:
    """Whether one of these counters is above 0."""
    known: Iterable[str] = filter(counters.match, analysis.known_metrics[launch])
    return any(analysis.metric(counter)[launch] > 0 for counter in known)
