"""Some seeded wrong edits are refuted by the check that must find them; the right ones are verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.trial.verify import verify
from tests.emulation import needs_gpp
from tests.trial.emulated import edited, process, sanitizer
from tests.trial.seeds import SEEDS, Seed, original

pytestmark = needs_gpp


def named(seed: Seed) -> str:
    return seed.kind.replace(" ", "-")


FEW = [
    seed
    for seed in SEEDS
    if seed.kind in {"a dropped barrier", "a lost tail", "a vector load after the end", "a shuffle over inactive lanes"}
]
"""One for each kind of check; tests/nightly has all."""


@pytest.mark.parametrize("seed", FEW, ids=named)
def test_a_wrong_edit_is_refuted_by_the_check_for_it(seed: Seed, tmp_path: Path) -> None:
    before = original(seed.kernel)
    found = verify(before, edited(before, tmp_path, seed.wrong), process, sanitizer, reordered=seed.reordered)
    assert found.verdict == "refuted", found
    assert found.check in seed.checks, found


@pytest.mark.parametrize("seed", FEW[:2], ids=named)
def test_the_right_edit_is_verified(seed: Seed, tmp_path: Path) -> None:
    before = original(seed.kernel)
    found = verify(before, edited(before, tmp_path, seed.right), process, sanitizer, reordered=seed.reordered)
    assert found.verdict == "verified", found
    assert len(found.cases) >= 5
