"""The line tables of all labelled programs agree with the lines that ncu gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.reader.inlining import with_call_sites
from tests.profiles import LABELLED, profile_of


@pytest.mark.parametrize("report", LABELLED, ids=lambda path: path.stem)
def test_every_labelled_module_agrees_with_ncu_on_every_instruction(report: Path) -> None:
    profile = with_call_sites(profile_of(report))
    assert sorted(profile.call_sites) == list(profile.launches.index)
