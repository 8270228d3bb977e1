"""Of many mistakes made by rules in many kernels, none is verified that the kernel's oracle finds wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ncuview.base.errors import KernelFileError
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.catalogue.reference import ORACLES, Problem
from ncuview.trial.cases import Build
from ncuview.trial.verify import Verification, verify
from tests.emulation import NotEmulated, emulated_launch, needs_gpp
from tests.trial.emulated import build, of_source, process, sanitizer
from tests.trial.mutations import Mutation, mutations_of

pytestmark = needs_gpp

KERNELS = (
    "transposeNaive", "transposeCoalesced", "transposeNoBankConflicts", "transposeDiagonal", "copySharedMem",
    "transformSmem", "transformSmemPad1", "matrixTranspose", "matrixTransposeSharedPad", "mtran_coalesced",
    "mmul", "mmul_tiled", "mmul_transposedBs_padded", "MatrixMulKernel", "mmul_jam_j",
    "reduce_v1", "reduce_v3", "reduce_v5_1", "reduce_shuffle", "rowSums_block",
    "histogram_global", "histogram_shared", "histogram_warp", "count_block", "count_warp", "count_coarsened",
    "row_smooth", "column_smooth", "row_smooth_four", "sobel_global", "sobel_shared",
    "preciseSine", "scalarLoads", "vectorLoads", "loopRolled", "pairs_tiled",
)  # fmt: skip
EACH = 4
"""Mistakes of each kernel, of different kinds where there are so many."""


def chosen(name: str) -> list[Mutation]:
    """Mistakes of a kernel that its compiler accepts: first one of each kind."""
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int, Mutation]] = []
    for mutation in mutations_of(find_kernel(name)):
        ranked.append((seen[mutation.kind], len(ranked), mutation))
        seen[mutation.kind] += 1
    return [mutation for *_, mutation in sorted(ranked, key=lambda each: each[:2])][:EACH]


def right(made: Build, order: str) -> bool:
    """Whether a launch has the outputs of the oracle."""
    try:
        launch = launch_of(made.kernel)
    except KernelFileError:
        return False
    launched = emulated_launch(launch, order=order)
    outputs = [each for each in launch.args if each["role"] in {"out", "zeroed"}]
    if not launched.outputs:
        return False
    for argument, output in zip(outputs, launched.outputs, strict=True):
        problem = Problem(launched.inputs, tuple(argument["shape"]), argument["dtype"], launch.sizes)
        close = max(made.kernel.text.tolerance, 1e-5 if output.dtype.kind == "f" else 0)
        answer = ORACLES[made.kernel.text.oracle or ""](problem)
        if not np.allclose(output, answer, rtol=close, atol=close):
            return False
    return True


@pytest.mark.parametrize("name", KERNELS[::3])
def test_no_mistake_that_the_oracle_finds_is_verified(name: str, tmp_path: Path) -> None:
    before = build(find_kernel(name))
    wrong, refuted = 0, 0
    for mutation in chosen(name):
        after = of_source(before, tmp_path, mutation.source)
        try:
            found: Verification = verify(before, after, process, sanitizer, sizes=[before.kernel.text.sizes])
            is_right = all(right(after, order) for order in ("forward", "shuffled"))
        except NotEmulated:
            continue
        assert is_right or found.verdict != "verified", mutation.kind
        wrong += not is_right
        refuted += found.verdict == "refuted"
    assert wrong, "at least one mistake matters"
    assert refuted >= wrong


def test_there_are_a_hundred_mistakes_in_thirty_kernels() -> None:
    assert len(KERNELS) >= 30
    assert sum(len(chosen(name)) for name in KERNELS) >= 100
    assert len({mutation.kind for name in KERNELS for mutation in chosen(name)}) >= 10
