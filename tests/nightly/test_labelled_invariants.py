"""The invariants hold on every labelled launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.invariants import broken
from tests.profiles import labelled_diagnosis, profile_of
from tests.together import together

REPORTS = sorted((Path(__file__).parents[2] / "validation").glob("h?00/*.ncu-repz"))


@pytest.mark.validation
@together("report", REPORTS, name=lambda report: report.name)
def test_the_invariants_hold_on_the_labelled_programs(report: Path) -> None:
    assert broken(profile_of(report), labelled_diagnosis(report)) == []
