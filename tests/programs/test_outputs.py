"""What formats for programs say of a program: its changes at lines of the user, owners, calls, and time by owner."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from ncuview.records.diagnosis import Diagnosis
from ncuview.render.outputs import output_text
from tests.programs.test_of_profile import CHAIN, THEIRS, judged, profile

ROOT = Path("/home/alice")


def text_of(answer: Diagnosis, form: str) -> str:
    return str(output_text(answer, None, form, source_root=ROOT))


def test_sarif_has_a_change_at_the_users_lines() -> None:
    (run,) = json.loads(text_of(judged(THEIRS), "sarif"))["runs"]
    (result,) = (each for each in run["results"] if each["ruleId"] == "PROG001")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("train.py", 5)
    others = [each["physicalLocation"]["region"]["startLine"] for each in result["relatedLocations"]]
    assert others == [6, 7, 8, 9]
    assert result["level"] == "note"
    assert result["properties"]["launches"] == 5
    assert 1 < result["properties"]["promisedSpeedup"]["best"] <= 5
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["name"] == "unfused-chain"


def test_a_program_without_changes_has_no_result_of_them() -> None:
    (run,) = json.loads(text_of(judged(profile((12, 13))), "sarif"))["runs"]
    assert not [each for each in run["results"] if each["ruleId"].startswith("PROG")]


@pytest.mark.parametrize("form", ["github", "gitlab"])
def test_annotations_have_it_too(form: str) -> None:
    shown = text_of(judged(THEIRS), form)
    assert "PROG001" in shown
    assert "train.py" in shown


def test_csv_has_owner_and_call() -> None:
    rows = list(
        csv.DictReader(StringIO(text_of(judged(replace(THEIRS, call_stacks={0: CHAIN.call_stacks[0]})), "csv")))
    )
    assert {(row["owner"], row["owner_kind"]) for row in rows} == {("PyTorch", "framework")}
    assert rows[0]["call"].endswith("train.py:5 step (mul)")
    assert [row["call"] for row in rows[1:]] == [""] * 4


def test_openmetrics_has_the_time_of_each_kind_of_owner() -> None:
    mixed = profile((5, 6, 7))
    mixed.launches.loc[0, "demangled"] = "scale(float *)"
    mixed.launches.loc[1, "demangled"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)"
    shown = text_of(judged(replace(mixed, instructions=mixed.instructions.iloc[:0])), "openmetrics")
    lines = [line for line in shown.splitlines() if line.startswith("ncuview_owner_seconds")]
    assert lines == [
        'ncuview_owner_seconds{owner_kind="yours"} 1e-05',
        'ncuview_owner_seconds{owner_kind="framework"} 1e-05',
    ]
