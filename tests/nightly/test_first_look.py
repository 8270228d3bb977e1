"""On every recorded launch, a first look loses no advice and excuses most launches that need none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nightly.diagnose.test_first_look import RULES, first_look_of, lost, whole_diagnosis
from tests.profiles import LABELLED, RECORDED

PROGRAMS = [path for path in LABELLED if path.name.startswith("p")]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_first_look_loses_no_first_advice(path: Path) -> None:
    assert lost(first_look_of(path), whole_diagnosis(path), first_only=True) == []


def test_the_first_look_excuses_most_launches_that_need_no_advice() -> None:
    """Of 739 launches without advice it excuses 357, and it leaves one in 20 pairs of rule and launch at most."""
    excused = silent = left = pairs = 0
    for path in [*RECORDED, *PROGRAMS]:
        look = first_look_of(path)
        for place, launch in enumerate(whole_diagnosis(path).launches):
            silent += not launch.findings
            excused += not launch.findings and place not in look.launches
            left += len(look.possible(place))
            pairs += len(RULES)
    assert excused >= 0.48 * silent
    assert left <= 0.05 * pairs
