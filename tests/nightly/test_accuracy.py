"""The accuracy set does not get worse: what docs/accuracy.md says of the programs, from their recorded reports."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from benchmarks.accuracy.score import ADVICE, OURS, SETS, VENDOR, programs
from tests.profiles import labelled_diagnosis

ROOT = Path(__file__).resolve().parents[2]
REPORTS, PROGRAMS = (ROOT / "benchmarks" / "accuracy" / folder for folder in ("h200", "programs"))


(
    ODD,
    EVEN,
    SECOND,
    THIRD,
    FOURTH,
    FIFTH,
    SIXTH,
    SEVENTH,
    EIGHTH,
    NINTH,
    TENTH,
    ELEVENTH,
    TWELFTH,
    THIRTEENTH,
    FOURTEENTH,
    FIFTEENTH,
    SIXTEENTH,
    SEVENTEENTH,
    EIGHTEENTH,
) = SETS
FLOORS = {
    ODD: (39, 41),
    EVEN: (39, 41),
    SECOND: (90, 94),
    THIRD: (34, 36),
    FOURTH: (33, 35),
    FIFTH: (29, 29),
    SIXTH: (19, 20),
    SEVENTH: (22, 23),
    EIGHTH: (66, 69),
    NINTH: (55, 56),
    TENTH: (49, 55),
    ELEVENTH: (58, 60),
    TWELFTH: (60, 60),
    THIRTEENTH: (49, 50),
    FOURTEENTH: (50, 53),
    FIFTEENTH: (38, 38),
    SIXTEENTH: (52, 53),
    SEVENTEENTH: (53, 56),
    EIGHTEENTH: (41, 45),
}
"""Set -> launches whose first advice is right, and among the first three."""
FALSE_ADVICE = {
    "k40e",
    "k45c",
    "k47c",
    "k47d",
    "k55c",
    "k56h",
    "k64c",
    "k67f",
    "k68e",
    "k71f",
    "k73e",
    "k80b",
    "k96e",
    "k113i",
    "k126h",
    "k160d",
    "k169c",
    "k225g",
}
"""Launches that their authors call finished and that get advice all the same; docs/accuracy.md says why."""


@pytest.mark.parametrize("name", SETS)
def test_programs_are_advised_as_the_document_says(name: str) -> None:
    # All of a set at once: to read its reports takes much longer than to look at them.
    cases = programs(REPORTS, SETS[name], labelled_diagnosis)
    pairs = [case for case in cases if case.right]
    first, among_three = FLOORS[name]
    assert sum(OURS.hit(case, 1) for case in pairs) >= first
    assert sum(OURS.hit(case, 3) for case in pairs) >= among_three
    asked = [case for case in pairs if case.vendor is not None]
    assert not asked or sum(VENDOR.hit(case, 1) for case in asked) < sum(OURS.hit(case, 1) for case in asked)
    finished = {case.kernel: OURS.advised(case) for case in cases if case.near_peak}
    assert {kernel for kernel, advice in finished.items() if advice} == FALSE_ADVICE & finished.keys()
    assert all(case.gain >= ADVICE if case.right else case.gain == 1.0 for case in cases)


def test_the_set_is_as_large_as_it_claims() -> None:
    labels = [tomllib.loads(file.read_text(encoding="utf-8"))["launch"] for file in PROGRAMS.glob("p*.toml")]
    assert (len(labels), sum(map(len, labels))) == (228, 1775)
    assert {report.name.removesuffix(".ncu-repz") for report in REPORTS.glob("p*.ncu-repz")} == {
        file.stem for file in PROGRAMS.glob("p*.toml")
    }
