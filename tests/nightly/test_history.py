"""Many reports, from files to a page: real reports and what ncuview printed of them, in one series."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from ncuview import analyze, api
from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.pipeline.history import history
from ncuview.reader.precheck import read_report
from ncuview.records.diagnosis import Diagnosis
from ncuview.render import render
from ncuview.render.history import render_history

RECORDED = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"


@pytest.fixture(scope="module")
def judged() -> Diagnosis:
    return analyze(RECORDED)


def later(diagnosis: Diagnosis, days: int, factor: float) -> Diagnosis:
    """The same reports, written so many days later, with launches that took so many times as long."""
    reports = tuple(
        replace(report, created=report.created + timedelta(days=days))
        for report in diagnosis.reports
        if report.created is not None
    )
    slower = tuple(replace(launch, duration_ns=factor * launch.duration_ns) for launch in diagnosis.launches)
    return Diagnosis(slower, reports)


def write(folder: Path, name: str, diagnosis: Diagnosis) -> None:
    (folder / name).write_text(render(diagnosis, "json"), encoding="utf-8")


def test_reports_and_documents_make_one_series(tmp_path: Path, judged: Diagnosis) -> None:
    shutil.copy(RECORDED, tmp_path / "first.ncu-repz")
    write(tmp_path, "third.json", later(judged, 2, 1.5))
    write(tmp_path, "second.json", later(judged, 1, 1.0))
    (tmp_path / "first.host.json").write_text("{}")
    (series,) = history(tmp_path).series
    assert [point.name for point in series.points] == ["first", "second", "third"]
    assert series.device.name == "NVIDIA H200"
    launches = {(launch.demangled, launch.grid, launch.block) for launch in judged.launches}
    assert {(each.demangled, each.grid, each.block) for each in series.kernels} == launches
    assert {kernel.groups for kernel in series.kernels if kernel.kernel == "bank_strided"} == {5}
    long = [kernel for kernel in series.kernels if kernel.last.time_ns > 10_000]
    assert len(long) >= 10
    for kernel in long:
        (step,) = kernel.steps
        assert (step.since, step.at, step.is_confirmed) == (1, 2, False)
        assert step.after_ns / step.before_ns == pytest.approx(1.5)


def test_the_same_report_twice_has_no_step(tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copy(RECORDED, tmp_path / f"{name}.ncu-repz")
    (series,) = history(tmp_path).series
    assert len(series.points) == 2
    assert not series.changed


def test_a_document_of_a_report_in_the_same_folder_does_not_count_twice(tmp_path: Path, judged: Diagnosis) -> None:
    shutil.copy(RECORDED, tmp_path / "a.ncu-repz")
    write(tmp_path, "a.json", judged)
    (series,) = history(tmp_path).series
    assert [point.launches for point in series.points] == [len(judged.launches)]


@pytest.mark.parametrize("to", ["terminal", "json", "html"])
def test_every_form_names_every_kernel_whose_time_changed(tmp_path: Path, judged: Diagnosis, to: str) -> None:
    write(tmp_path, "a.json", judged)
    write(tmp_path, "b.json", later(judged, 1, 2.0))
    found = history(tmp_path)
    page = render_history(found, to)
    (series,) = found.series
    assert series.changed
    assert all(kernel.kernel in page for kernel in series.changed)


def test_files_that_are_no_reports_do_not_matter_below_a_folder(tmp_path: Path, judged: Diagnosis) -> None:
    write(tmp_path, "a.json", judged)
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "broken.json").write_text("{")
    (series,) = history(tmp_path).series
    assert [point.name for point in series.points] == ["a"]


def test_a_file_that_is_named_must_be_a_diagnosis(tmp_path: Path) -> None:
    other = tmp_path / "package.json"
    other.write_text('{"name": "x"}')
    with pytest.raises(ReportUnreadable, match=r"package\.json is no diagnosis"):
        history(other)


def test_only_other_json_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    with pytest.raises(ReportEmpty):
        history(tmp_path)


def test_a_damaged_member_is_named(tmp_path: Path, judged: Diagnosis) -> None:
    write(tmp_path, "a.json", judged)
    content = json.loads((tmp_path / "a.json").read_text())
    del content["launches"][0]["grid"]
    (tmp_path / "b.json").write_text(json.dumps(content))
    with pytest.raises(ReportDamaged, match=r"b\.json is damaged: grid"):
        history(tmp_path)


def test_only_the_damaged_one_of_several_reports_is_called_so(tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copy(RECORDED, tmp_path / f"{name}.ncu-repz")
    (tmp_path / "c.ncu-rep").write_bytes(read_report(RECORDED)[:-1])
    found = history(tmp_path)
    (lost,) = found.failures
    assert lost.id == "NCU-CORRUPT"
    assert lost.message.startswith(f"c: {tmp_path / 'c.ncu-rep'}: launches 0 to ")
    assert [point.name for point in found.series[0].points] == ["a", "b", "c"]


def test_a_damaged_report_is_compared_and_the_damage_of_both_is_said(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.ncu-rep").write_bytes(read_report(RECORDED)[:-1])
    compared = api.compare(tmp_path / "a.ncu-rep", tmp_path / "b.ncu-rep")
    assert compared.pairs
    assert compared.failure is not None
    assert [name in compared.failure.message for name in ("a.ncu-rep: ", "b.ncu-rep: ")] == [True, True]
