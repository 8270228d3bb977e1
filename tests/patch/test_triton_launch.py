"""Constants in the launch of a Triton kernel: other values are edits where the grid follows, or refused by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.patch import Edit, NoEdit, changes_for
from tests.render.sample import advice_finding

APP = """import torch, triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, mask), mask=mask)

def run(x, y, out):
    n = out.numel()
    grid = lambda META: (triton.cdiv(n, META["BLOCK"]),)
    add[grid](x, y, out, n, BLOCK=1024, num_warps=4, num_stages=2)
"""
CALL = "add[grid](x, y, out, n, BLOCK=1024, num_warps=4, num_stages=2)"


def changes(source: str) -> list[Edit | NoEdit]:
    return [change for _, change in changes_for(source, "app.py", "add", None)]


def test_each_constant_has_its_neighbours() -> None:
    found = [change for change in changes(APP) if isinstance(change, Edit)]
    assert [change.title.rpartition(" ")[2] for change in found] == [
        "BLOCK=2048",
        "BLOCK=512",
        "num_warps=8",
        "num_warps=2",
        "num_stages=3",
        "num_stages=1",
    ]
    assert found[0].edited == APP.replace("BLOCK=1024", "BLOCK=2048")
    assert all(change.diff("app.py").startswith("--- a/app.py\n") for change in found)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('META["BLOCK"]', "1024", "the grid does not follow BLOCK by triton.cdiv"),
        ('triton.cdiv(n, META["BLOCK"])', 'n // META["BLOCK"]', "the grid does not follow BLOCK by triton.cdiv"),
        ("lambda META: (triton", "(triton", "the grid is no lambda"),
        ("x_ptr + offsets, mask=mask", "x_ptr + offsets, mask=None", "the access on line 8 has no mask"),
        ("x_ptr + offsets, mask=mask", "x_ptr + offsets", "the access on line 8 has no mask"),
        ("    mask = off", "    helper(x_ptr)\n    mask = off", "calls helper, whose accesses are not known"),
        ("    mask = off", "    tl.atomic_xchg(x_ptr, 1)\n    mask = off", "has no mask"),
    ],
)
def test_a_block_size_that_the_grid_does_not_follow_is_refused(before: str, after: str, says: str) -> None:
    assert before in APP
    found = changes(APP.replace(before, after, 1))
    (reason,) = [change.reason for change in found if isinstance(change, NoEdit)]
    assert says in reason
    assert [change.title[-5:] for change in found if isinstance(change, Edit)] == ["rps=8", "rps=2", "ges=3", "ges=1"]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("@triton.jit", "@triton.autotune(configs=c, key=[])\n@triton.jit", "is tuned by Triton itself"),
        (CALL, f"{CALL}\n    {CALL}", "is launched in 2 places"),
        (CALL, f"pick(add)\n    {CALL}", "in a way that is no launch"),
        (CALL, "add[grid](x, y, out, n, **options)", "takes constants from elsewhere"),
        (CALL, "add[grid](x, y, out, n, BLOCK=size)", "gives no num_warps, num_stages or block size as a number"),
        ("def run", "add = wrap(3)\ndef run", "is defined more than once"),
    ],
)
def test_a_launch_that_is_not_the_only_one_is_refused(before: str, after: str, says: str) -> None:
    assert before in APP
    (found,) = changes(APP.replace(before, after, 1))
    assert isinstance(found, NoEdit)
    assert says in found.reason


def test_a_finding_about_something_else_changes_nothing() -> None:
    ((optimization, found),) = changes_for(APP, "app.py", "add", replace(advice_finding(), optimization="coalescing"))
    assert (optimization, isinstance(found, NoEdit)) == ("coalescing", True)
