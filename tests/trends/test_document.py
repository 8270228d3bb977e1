"""What ncuview printed as JSON reads back as the same diagnosis."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ncuview import analyze
from ncuview.base.errors import ReportDamaged, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.pipeline.history import history
from ncuview.records.diagnosis import Diagnosis, Finding, OwnerKind
from ncuview.render import render
from ncuview.trends.document import diagnosis_of, read_document
from tests.hostile import each_hostile_text, poisoned
from tests.render.sample import diagnosis
from tools.json_versions import Compared, compare_documents

VERSION_1 = Path(__file__).with_name("diagnosis-1.json")
"""The same diagnosis as ``sample.diagnosis``, as version 1 wrote it."""


def written(folder: Path, answer: Diagnosis) -> Path:
    file = folder / "diagnosis.json"
    file.write_text(render(answer, "json"), encoding="utf-8")
    return file


def read_back(folder: Path, answer: Diagnosis) -> Diagnosis:
    found = read_document(written(folder, answer))
    assert found is not None
    return found


def test_a_document_of_a_recorded_profile_reads_back_as_the_same_diagnosis(tmp_path: Path) -> None:
    real = analyze(shipped("kernels") / "sobel" / "h200.ncu-repz")  # one launch has a sequence
    assert render(read_back(tmp_path, real), "json") == render(real, "json")


def test_advice_verdicts_and_times_are_those_of_the_diagnosis(tmp_path: Path) -> None:
    real, back = diagnosis(), read_back(tmp_path, diagnosis())
    assert back.reports == real.reports
    for was, now in zip(real.launches, back.launches, strict=True):
        assert (now.kernel, now.grid, now.block, now.device) == (was.kernel, was.grid, was.block, was.device)
        assert now.duration_ns == was.duration_ns
        assert now.units == was.units
        assert now.metrics == was.metrics
        assert now.findings == was.findings
        assert now.verdict == was.verdict


def test_a_document_of_version_1_reads_as_the_same_diagnosis(tmp_path: Path) -> None:
    old = read_document(VERSION_1)
    launches = []
    for launch in diagnosis().launches:
        outcomes = (replace(each, waits_for=()) if isinstance(each, Finding) else each for each in launch.outcomes)
        launches.append(replace(launch, outcomes=tuple(outcomes)))
    assert old == read_back(tmp_path, replace(diagnosis(), launches=tuple(launches)))


def test_a_series_takes_documents_of_both_versions(tmp_path: Path) -> None:
    shutil.copy(VERSION_1, tmp_path / "a.json")
    (tmp_path / "b.json").write_text(render(diagnosis(), "json"), encoding="utf-8")
    (series, *_) = history(tmp_path).series
    assert [point.name for point in series.points] == ["a", "b"]
    assert all(len(kernel.readings) == 2 and not kernel.steps for kernel in series.kernels)


def test_every_key_of_version_1_is_there_with_its_value() -> None:
    compared = Compared()
    compare_documents(
        json.loads(VERSION_1.read_text(encoding="utf-8")), json.loads(render(diagnosis(), "json")), compared
    )
    assert (compared.missing, compared.different) == (Counter(), Counter())
    assert {what.rpartition(" ")[2] for what in compared.renamed} == {"bottleneck", "units", "bottleneck_after"}
    assert {what.rpartition(".")[2] for what in compared.added} == {
        "grade",
        "call",
        "draft",
        "unmet",
        "patch",
        "by_hand",
        "recipe",
        "waits_for",
        "about",
        "open_condition",
        "sequence",
        "program",
        "owner_kind",
        "unit_names",
        "not_judged",
        "waits_for_peers",
        "time_share",
        "changed_by",
    }


@pytest.mark.parametrize(("kind", "owner"), [("vendor", "cuBLAS"), ("framework", "PyTorch"), ("generated", "XLA")])
def test_the_owner_of_a_launch_is_read_back(kind: OwnerKind, owner: str, tmp_path: Path) -> None:
    launch = replace(diagnosis().launches[1], verdict="not-yours", owner=owner, owner_kind=kind)
    (read,) = read_back(tmp_path, replace(diagnosis(), launches=(launch,))).launches
    assert (read.verdict, read.owner_kind, read.owner) == ("not-yours", kind, owner)


def test_earlier_documents_name_vendors_alone(tmp_path: Path) -> None:
    content = json.loads(render(diagnosis(), "json"))
    for launch, owner in zip(content["launches"], ("cuBLAS", "", ""), strict=False):
        launch["owner"] = owner
        del launch["owner_kind"]
    found = diagnosis_of(content).launches
    assert [launch.owner_kind for launch in found] == ["vendor", *["yours"] * (len(found) - 1)]


def test_what_was_rejected_stays_no_advice(tmp_path: Path) -> None:
    first = read_back(tmp_path, diagnosis()).launches[0]
    assert [each.rejected for each in first.outcomes if isinstance(each, Finding)] == [
        each.rejected for each in diagnosis().launches[0].outcomes if isinstance(each, Finding)
    ]


@each_hostile_text
def test_hostile_texts_are_read_unchanged(tmp_path: Path, text: str) -> None:
    poison = poisoned(diagnosis(), text)
    assert render(read_back(tmp_path, poison), "json") == render(poison, "json")


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.pop(key)


def launch_with(**changed: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["launches"][0].update(changed)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("launches"), "'launches' is missing"),
        (without("priorities"), "'priorities' is missing"),
        (launch_with(grid=[1, 2]), "grid"),
        (launch_with(duration_ns="long"), "duration_ns"),
        (launch_with(units=None), "units"),
        (launch_with(metrics=[]), "has no attribute"),
        (lambda content: content["launches"][0]["outcomes"][-1].update(outcome="odd"), "'odd' is missing"),
        (launch_with(outcomes=[{"outcome": "nonsense", "rule": "", "name": ""}]), "do not agree"),
        (launch_with(findings=[]), "do not agree"),
        (launch_with(verdict="fine"), "verdict"),
        (lambda content: content.update(launches=[None]), "has no attribute"),
    ],
)
def test_a_damaged_document_is_named_with_what_is_wrong(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object], message: str
) -> None:
    content = json.loads(render(diagnosis(), "json"))
    damage(content)
    file = tmp_path / "d.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ReportDamaged, match=f"d.json is damaged: .*{message}"):
        read_document(file)


def test_a_truncated_document_is_damaged(tmp_path: Path) -> None:
    file = written(tmp_path, diagnosis())
    file.write_text(file.read_text()[:5000])
    with pytest.raises(ReportDamaged, match="is damaged"):
        read_document(file)


@pytest.mark.parametrize("text", ["", "{}", "[]", "3", '{"schema": "ncuview.ladder/1"}', "not JSON", "[" * 100_000])
def test_other_json_is_not_a_diagnosis(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    assert read_document(file) is None


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ReportUnreadable):
        read_document(tmp_path / "none.json")
