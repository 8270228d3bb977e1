"""Marked regions of kernel files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base.errors import RuleFileError
from ncuview.engine.regions import region

SOURCE = """\
// ncuview: begin kernel
__global__ void f(float *a)
{
    // ncuview: begin tile
    __shared__ float tile[32];

        int i = 0;
    // ncuview: end tile
}
// ncuview: end kernel
# ncuview: begin launch
block = ["32"]
# ncuview: end launch
// ncuview: begin open
"""


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    """A rule file in the folder of a kernel with regions."""
    (tmp_path / "f.cu").write_text(SOURCE)
    return tmp_path / "rule.toml"


def test_a_region_is_what_stands_between_its_marks_without_its_indentation(rule: Path) -> None:
    assert region("f.cu#tile", rule) == "__shared__ float tile[32];\n\n    int i = 0;"


def test_marks_of_inner_regions_are_left_out(rule: Path) -> None:
    assert "ncuview" not in region("f.cu#kernel", rule)


def test_front_matter_can_be_marked_too(rule: Path) -> None:
    assert region("f.cu#launch", rule) == 'block = ["32"]'


def test_a_path_below_kernels_is_a_shipped_kernel_wherever_the_rule_lies(rule: Path) -> None:
    assert region("kernels/transpose/transposeNoBankConflicts.cu#tile", rule).endswith("[TILE_DIM + 1];")


@pytest.mark.parametrize("reference", ["f.cu#none", "f.cu#open", "f.cu", "f.cu#", "no.cu#tile", "kernels/x/y.cu#tile"])
def test_a_region_that_is_not_there_is_named_with_the_rule(rule: Path, reference: str) -> None:
    with pytest.raises(RuleFileError, match=r"rule\.toml: fix: "):
        region(reference, rule)
