"""The trends of a store are those of its reports: one page, whatever was added how."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from ncuview.base.paths import shipped
from ncuview.pipeline.stored import stored_history
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import ReportInfo
from ncuview.records.program import Call
from ncuview.render.history import render_history
from ncuview.render.openmetrics import openmetrics
from ncuview.store.place import place_of
from ncuview.store.rows import JudgedReport
from ncuview.trends import DiagnosedReport, history_of
from tests.command_line import assert_failed, ncuview
from tests.profiles import recorded_diagnosis, recorded_profile
from tests.store.test_opened import add

FIRST = datetime(2026, 11, 1, tzinfo=UTC)
TIMES = [1.0, 1.01, 0.99, 1.0, 1.5, 1.5]


@cache
def reports(family: str = "transpose") -> tuple[JudgedReport, ...]:
    """Six points: the first kernel gets slower at the fifth; ranks at the last; ncu changes at the third."""
    made = []
    for at, factor in enumerate(TIMES):
        for rank in ("rank 0", "rank 1") if at == len(TIMES) - 1 else ("",):
            info = replace(
                recorded_diagnosis(family).reports[0],
                path=f"c{at}{rank}.ncu-rep",
                created=FIRST + timedelta(days=at),
                ncu_version="2025.2.0" if at < 2 else "2025.3.1",
            )
            made.append(
                JudgedReport(
                    content=sha256(f"{family} {at} {rank}".encode()).hexdigest(),
                    name=info.path,
                    profile=recorded_profile(family),
                    diagnosis=_slower(recorded_diagnosis(family), factor, info.path, info),
                    settings=Settings("base", "all", "kernel"),
                    cuda_version="13.0",
                    point=f"c{at}",
                    rank=rank,
                    labels={},
                    keep_paths=False,
                )
            )
    return tuple(made)


def _slower(found: Diagnosis, factor: float, path: str, info: ReportInfo) -> Diagnosis:
    call = Call("train.py", 12, "step", "softmax")
    launches = [replace(each, report=path, call=call if each.index % 2 else None) for each in found.launches]
    launches[0] = replace(launches[0], duration_ns=float(round(launches[0].duration_ns * factor)))
    return replace(found, launches=tuple(launches), reports=(info,))


def stored(folder: Path, made: Sequence[JudgedReport]) -> str:
    """A store of reports, in two batches."""
    place = place_of(str(folder))
    add(place, *made[:3])
    add(place, *made[3:])
    return place.name


@pytest.mark.parametrize("family", ["transpose", "matmul"])
@pytest.mark.parametrize("to", ["terminal", "html", "json", "markdown"])
def test_the_page_of_a_store_is_that_of_its_reports(to: str, family: str, tmp_path: Path) -> None:
    made = reports(family)
    from_reports = history_of(DiagnosedReport(each.point, each.rank, each.diagnosis, each.settings) for each in made)
    assert render_history(stored_history(stored(tmp_path / "fleet", made)), to) == render_history(from_reports, to)


def test_steps_ranks_calls_and_breaks_are_found(tmp_path: Path) -> None:
    (series,) = stored_history(stored(tmp_path / "fleet", reports())).series
    (changed,) = series.changed
    assert [step.at for step in changed.steps] == [4]
    assert changed.steps[0].is_confirmed
    assert [each.at for each in series.breaks] == [2]
    assert series.points[-1].ranks == ("rank 0", "rank 1")
    assert [(each.call.file, each.call.line) for each in series.calls] == [("train.py", 12)]


@pytest.mark.parametrize("to", ["terminal", "html", "markdown"])
def test_the_command_takes_a_folder_of_reports_or_a_store_of_them(to: str, tmp_path: Path) -> None:
    folder, fleet = tmp_path / "nightly", tmp_path / "fleet"
    for point, family in (("a", "transfers"), ("b", "divergence")):
        (folder / point).mkdir(parents=True)
        shutil.copy(shipped("kernels") / family / "h200.ncu-repz", folder / point)
    assert ncuview("store", "add", folder, "--to", fleet, "--processes", "1").code == 0
    from_reports, from_store = (ncuview("report", each, "--format", to) for each in (folder, fleet))
    assert (from_store.code, from_store.err) == (0, "")
    assert from_store.out == from_reports.out


def test_a_store_stands_alone_and_is_judged_already(tmp_path: Path) -> None:
    fleet = stored(tmp_path / "fleet", reports("transfers"))
    assert_failed(ncuview("report", fleet, shipped("kernels")), 2, "a store is shown alone")
    assert_failed(ncuview("report", fleet, "--mine", "k"), 2, "--mine")


def test_openmetrics_of_a_point_are_those_of_its_reports(tmp_path: Path) -> None:
    made = reports("matmul")
    name = stored(tmp_path / "fleet", made)
    report = made[2]
    shown = ncuview("store", "openmetrics", "c2", "--from", name)
    assert (shown.code, shown.err) == (0, "")
    expected = openmetrics(replace(report.diagnosis, failure=None), None)
    only_code_shows = 'unit="imad"'
    assert lines_of(shown.out, only_code_shows) == lines_of(expected, only_code_shows)
    assert len(lines_of(shown.out, only_code_shows)) > 500
    assert_failed(ncuview("store", "openmetrics", "c9", "--from", name), 4, "there is no report of c9")


def lines_of(text: str, without: str) -> list[str]:
    """Its lines in any order, without those of a unit whose use is computed from machine code."""
    return sorted(line for line in text.splitlines() if without not in line)
