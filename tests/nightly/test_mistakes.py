"""Of the wrong edits that validation checks on a GPU, the emulation keeps none, and a sample compiles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.emulation import NotEmulated, needs_gpp
from tests.trial.emulated import process, reload_of, tools
from tests.trial.seeds import original
from validation.trial import wrong as script
from validation.trial.mistakes import WrongEdit, wrong_edits

WRONG = wrong_edits()
EMULATED, COMPILED = WRONG[::5], WRONG[::40]
"""Samples; ``python -m validation.trial.wrong`` takes all of them."""
ONE_BLOCK = {
    "transformSmemPad1: kernel: a block's index without the block 0",
    "transformNaiveRow: Process 4 elements per thread: an index that is no bijection 0",
    "mtran: Process 4 elements per thread: an index that is no bijection 0",
}
"""Mistakes that need several blocks in a row; at the sizes that are emulated there is one."""


def named(wrong: WrongEdit) -> str:
    return wrong.name.replace(" ", "-")


def test_there_are_a_hundred_in_thirty_kernels_of_all_classes() -> None:
    assert len(WRONG) >= 200
    assert len({wrong.kernel for wrong in WRONG}) >= 30
    assert len({wrong.name for wrong in WRONG}) == len(WRONG)
    kinds = Counter(wrong.kind for wrong in WRONG)
    assert {
        "a dropped barrier", "padding without the index", "restrict on aliases", "a lost tail",
        "an unroll without remainder", "fast math where it matters", "an index that is no bijection",
        "a private histogram without the merge", "a shuffle over inactive lanes", "an early return before a barrier",
    } <= kinds.keys()  # fmt: skip
    assert sum(wrong.origin not in {"seed", "kernel"} for wrong in WRONG) >= 60, "mistakes of makers"


@needs_gpp
@pytest.mark.parametrize("wrong", EMULATED, ids=named)
def test_none_is_kept(wrong: WrongEdit, tmp_path: Path) -> None:
    kernel = original(wrong.kernel).kernel
    try:
        found = script.checked(wrong, kernel, reload_of(kernel), tmp_path, tools(process))
    except NotEmulated:
        pytest.skip("the edit is not emulated")
    if found.verdict == "not built" or found.check == "process":
        pytest.skip(f"nothing can be compared at a size that can be emulated: {found.reason}")
    assert (found.verdict == "verified") == (wrong.name in ONE_BLOCK), found


@pytest.mark.parametrize("wrong", COMPILED, ids=named)
def test_a_sample_compiles(wrong: WrongEdit) -> None:
    row = dict(zip(script.COLUMNS, script.compiled(wrong), strict=True))
    assert row["verdict"] == "compiles", row
