"""The labelled programs: their scores are those of validation/scores.json, and none was lost."""

from __future__ import annotations

import json

import pytest

from tests.profiles import labelled_diagnosis, recorded_ladder
from validation import labelled_findings
from validation.cases import of_programs
from validation.labelled import REPORTS, labels_of, sets, sources
from validation.page import page
from validation.score import PAGE, SCORES, causes, scores
from validation.widths import own_steps


def test_the_scores_are_those_of_the_tree() -> None:
    written, found = json.loads(SCORES.read_text(encoding="utf-8")), scores(labelled_diagnosis, recorded_ladder)
    changed = [
        f"{now['name']}: {figure}: {before[figure]} -> {now[figure]}"
        for before, now in zip(written["groups"], found["groups"], strict=True)
        for figure in now
        if before[figure] != now[figure]
    ]
    assert not changed, "\n".join([*changed, "python -m validation.score writes them anew"])
    assert written["misses"] == found["misses"]


def test_the_page_is_made_of_the_scores() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(SCORES.read_text(encoding="utf-8")), causes())


def test_the_programs_are_as_many_as_claimed_each_in_one_set() -> None:
    assert (len(sources()), sum(len(labels_of(program)) for program in sources())) == (292, 2247)
    assert sorted(program for each in sets() for program in each.programs) == sorted(sources())
    assert {report.name.removesuffix(".ncu-repz") for report in REPORTS.glob("p*.ncu-repz")} == set(sources())


def test_eight_of_ten_changes_that_are_made_as_advised_gain_within_their_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As pages say, ``in 8 of 10 cases``: to the nearest tenth."""
    monkeypatch.setattr(labelled_findings, "diagnosed", labelled_diagnosis)
    launches = [launch for program in sorted(sources()) for launch in labelled_findings.of_program(program)]
    held = [each.low <= each.off <= each.high for each in own_steps(launches)]
    assert len(held) > 500
    assert 0.75 <= sum(held) / len(held) < 0.85


def test_what_was_tried_in_vain_and_gained_is_a_pair() -> None:
    """The author of k229e calls faster mathematics vain; the launch that tried it is 1.2 times as fast."""
    (case,) = [case for case in of_programs(REPORTS, ["p229"]) if case.kernel == "k229e"]
    assert case.right == ("fast_math",)
    assert case.gain == pytest.approx(1.22, abs=0.01)
    assert (case.negative_example, case.near_peak) == ("", False)
