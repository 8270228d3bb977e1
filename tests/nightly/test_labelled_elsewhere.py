"""The diagnoses of the labelled programs' launches on another GPU are those of the snapshot."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.validation
def test_the_labelled_programs_are_diagnosed_as_before_on_another_gpu(
    matches_snapshot: Callable[[str, str], None],
) -> None:
    matches_snapshot("labelled-elsewhere", "nightly/labelled-elsewhere.txt")
