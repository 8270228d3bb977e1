"""A diagnosed report becomes rows: one per launch, finding, line and call, with nulls for what is unknown."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Finding
from ncuview.records.profile import Profile
from ncuview.records.program import Call
from ncuview.store.batches import number_of
from ncuview.store.rows import JudgedReport, tables_of
from ncuview.store.schema import TABLES, TableName, arrow_schema
from tests.profiles import recorded_diagnosis, recorded_profile

if TYPE_CHECKING:
    import pyarrow as pa

CONTENT = sha256(b"a report").hexdigest()


def judged(family: str = "transpose", **changes: Any) -> JudgedReport:
    made = JudgedReport(
        CONTENT,
        f"/home/ann/{family}.ncu-repz",
        recorded_profile(family),
        recorded_diagnosis(family),
        Settings("base", "all", "kernel"),
        "13.0",
        "abc123",
        "rank 3",
        {"branch": "main"},
        keep_paths=False,
    )
    return replace(made, **changes)


@cache
def tables() -> dict[TableName, pa.Table]:
    return tables_of(judged())


def rows(table: TableName, **changes: Any) -> list[dict[str, Any]]:
    found = tables_of(judged(**changes)) if changes else tables()
    return list(found[table].to_pylist())


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table.name not in ("metrics", "sums")], ids=lambda table: table.name
)
def test_tables_have_their_schema(table: Any) -> None:
    assert tables()[table.name].schema.equals(arrow_schema(table), check_metadata=True)


def test_there_is_a_row_per_launch_with_its_diagnosis() -> None:
    diagnosis = recorded_diagnosis("transpose")
    found = rows("launches")
    assert [row["launch"] for row in found] == [launch.index for launch in diagnosis.launches]
    assert {row["report"] for row in found} == {number_of(CONTENT)}
    for row, launch in zip(found, diagnosis.launches, strict=True):
        assert (row["kernel"], row["demangled"], row["verdict"]) == (launch.kernel, launch.demangled, launch.verdict)
        assert (row["grid_x"], row["grid_y"], row["grid_z"]) == launch.grid
        assert row["duration_ns"] == launch.duration_ns
        first = launch.findings[0] if launch.findings else None
        assert row["rule"] == (first.rule.code if first else None)
        assert (row["gpu"], row["month"], row["compute_capability"]) == ("NVIDIA H200", "2026-11", "9.0")
        assert (row["clock_control"], row["cuda_version"], row["point"], row["rank"]) == (
            "base",
            "13.0",
            "abc123",
            "rank 3",
        )


def test_the_report_has_its_gpu_labels_and_base_name() -> None:
    (row,) = rows("reports")
    assert (row["content"], row["name"], row["labels"]) == (CONTENT, "transpose.ncu-repz", [("branch", "main")])
    assert row["launches"] == len(recorded_diagnosis("transpose").launches)
    assert dict(row["gpu_attributes"])["multiprocessor_count"] == 132


def test_code_is_recognised_and_differs_between_kernels() -> None:
    found = {row["launch"]: row["code"] for row in rows("launches")}
    assert None not in found.values()
    profile = recorded_profile("transpose")
    listing = {
        launch: tuple(part["sass"]) for launch, part in profile.instructions.groupby("launch")
    }  # one launch's code at a time
    pairs = [
        (code, other_code, listing[one], listing[other])
        for one, code in found.items()
        for other, other_code in found.items()
    ]
    assert all((code == other_code) == (one == other) for code, other_code, one, other in pairs)


def test_code_of_which_only_samples_are_known_has_no_hash() -> None:
    profile = recorded_profile("transpose")
    sampled = replace(profile, instructions=profile.instructions.drop(columns=["inst_executed"]))
    assert {row["code"] for row in rows("launches", profile=sampled)} == {None}


def test_metrics_are_columns_and_unknown_values_null() -> None:
    profile = recorded_profile("transpose")
    values = profile.metrics.copy()
    values.loc[1, "dram__bytes_read.sum"] = np.inf
    values.loc[2, "dram__bytes_read.sum"] = np.nan
    found = tables_of(judged(profile=replace(profile, metrics=values)))["metrics"]
    column = found.column("dram__bytes_read.sum").to_pylist()
    assert column[0] == profile.metrics["dram__bytes_read.sum"][0]
    assert column[1:3] == [None, None]
    assert not [name for name in found.column_names if name.startswith("device__attribute")]
    assert found.schema.field("dram__bytes_read.sum").metadata[b"unit"] == b"byte"


def test_findings_and_lines_are_those_of_the_diagnosis() -> None:
    of_launches = [
        (launch.index, outcome)
        for launch in recorded_diagnosis("transpose").launches
        for outcome in launch.outcomes
        if isinstance(outcome, Finding)
    ]
    found = rows("findings")
    assert [(row["launch"], row["rule"], row["message"]) for row in found] == [
        (index, finding.rule.code, finding.message) for index, finding in of_launches
    ]
    assert all((row["rank"] == 0) == (row["rejected"] is not None) for row in found)
    lines = [(index, line.line, line.share) for index, finding in of_launches for line in finding.where]
    assert [(row["launch"], row["line"], row["share"]) for row in rows("lines")] == lines
    assert not [row for row in rows("lines") if "/" in row["file"]]


def test_paths_are_kept_where_they_are_asked_for() -> None:
    assert rows("reports", keep_paths=True)[0]["name"] == "/home/ann/transpose.ncu-repz"
    assert {row["file"] for row in rows("lines", keep_paths=True)} == {
        line.file
        for launch in recorded_diagnosis("transpose").launches
        for outcome in launch.outcomes
        if isinstance(outcome, Finding)
        for line in outcome.where
    }


def test_calls_are_numbered_by_time_and_launches_name_them() -> None:
    diagnosis = recorded_diagnosis("transpose")
    lines = [Call("/home/ann/train.py", 3, "step", "copy"), Call("/home/ann/train.py", 9, "log", backward="Mul")]
    launches = tuple(
        replace(launch, call=lines[at] if at < 2 else None, duration_ns=1000.0 * (at + 1))
        for at, launch in enumerate(diagnosis.launches)
    )
    found = tables_of(judged(diagnosis=replace(diagnosis, launches=launches)))
    calls = found["calls"].to_pylist()
    assert [(row["call"], row["file"], row["line"], row["time_ns"]) for row in calls] == [
        (0, "train.py", 9, 2000.0),
        (1, "train.py", 3, 1000.0),
    ]
    assert [row["call"] for row in found["launches"].to_pylist()][:3] == [1, 0, None]


def test_hostile_names_stay_text() -> None:
    diagnosis = recorded_diagnosis("transpose")
    name = "x'; DROP TABLE launches; --\ud800"
    launches = (replace(diagnosis.launches[0], kernel=name, demangled=name), *diagnosis.launches[1:])
    found = rows("launches", diagnosis=replace(diagnosis, launches=launches))
    assert found[0]["kernel"] == "x'; DROP TABLE launches; --?"


def test_a_report_without_instructions_has_no_code() -> None:
    profile: Profile = recorded_profile("transpose")
    assert {
        row["code"] for row in rows("launches", profile=replace(profile, instructions=profile.instructions[:0]))
    } == {None}
