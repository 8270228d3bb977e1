"""Decide whether the lanes that a warp operation names are those that arrive.

Where they are not, CUDA leaves the result undefined. Today's GPUs mostly compute the right one nevertheless, and
synccheck finds nothing (on an H200 in 4 of 4 kernels), so that neither outputs nor tools can show that such an edit is
right: ``new_mask`` reads the masks in its source, ``missing_lanes`` counts who executes its shuffles.
"""

from __future__ import annotations

import re
from math import prod

from ncuview.patch import Edit
from ncuview.trial.work import LANES, Counted

WARP = 32
_MASK = re.compile(r"\b__(?:\w+_sync|syncwarp)\s*\(\s*(?P<mask>[^,()]*(?:\([^()]*\)[^,()]*)*)[,)]")
_ALL = re.compile(r"0x[fF]{8}[uUlL]*|~0[uUlL]*|-1|")


def new_mask(edit: Edit) -> str:
    """The mask that an edit writes in a warp operation and the source does not have, as a clause; empty without one.

    The mask of all lanes is none: ``missing_lanes`` sees whether they arrive.
    """
    before, after = (set(_masks(text)) for text in (edit.source.decode("utf-8", "surrogateescape"), edit.edited))
    new = min((mask for mask in after - before if not _ALL.fullmatch(mask)), default="")
    return f"that just the lanes {new} come to a warp operation is not proven" if new else ""


def _masks(source: str) -> list[str]:
    return [found["mask"].strip() for found in _MASK.finditer(source)]


def missing_lanes(before: Counted, after: Counted) -> str:
    """Which shuffles of a changed kernel run without lanes that the original's have, as a clause; empty where none do.

    Where blocks end with a part of a warp, its shuffles miss lanes as well.
    """
    arrived = after.amounts.get(LANES, WARP)
    if arrived >= before.amounts.get(LANES, WARP) or any(prod(block) % WARP for _, _, block in after.launches):
        return ""
    return f"{arrived:.1f} of {WARP} lanes execute a shuffle of its, and which ones it needs is not proven"
