"""Launches from the reader, as DataFrames."""

from __future__ import annotations

import math
import weakref

import numpy as np
import pandas as pd
import pytest

from ncuview.reader.frames import profile_of
from ncuview.records.profile import ReportInfo
from tests.builders import COPY, WARPS, Instruction, Launch, make_profile

A, B = ReportInfo("a.ncu-rep", "2025.3.1", None), ReportInfo("b.ncu-rep", "2024.1.0", None)

LAUNCH_TYPES = {
    **dict.fromkeys(
        ("report", "kernel", "demangled", "device", "process_name", "workload", "compute_capability"), "string"
    ),
    **dict.fromkeys(("index", "process", *(f"{of}_{axis}" for of in ("grid", "block") for axis in "xyz")), "int64"),
    "duration_ns": "float64",
}
INSTRUCTION_TYPES = {"launch": "int64", "address": "int64", "sass": "string", "file": "string", "line": "int64"}


def types(frame: pd.DataFrame) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in frame.dtypes.items()}  # type: ignore[misc]


def test_launches_have_the_documented_columns() -> None:
    assert types(make_profile().launches) == LAUNCH_TYPES


def test_a_launch_is_described_by_its_attributes() -> None:
    [launch] = make_profile(Launch(kernel="twice")).launches.to_dict("records")
    assert launch == {
        "report": "made.ncu-rep",
        "index": 0,
        "kernel": "twice",
        "demangled": "twice(float *, const float *)",
        "device": "NVIDIA H200",
        "process": 0,
        "process_name": "",
        "workload": "kernel",
        "compute_capability": "9.0",
        "grid_x": 8192,
        "grid_y": 1,
        "grid_z": 1,
        "block_x": 256,
        "block_y": 1,
        "block_z": 1,
        "duration_ns": 100_000.0,
    }


def test_a_metric_missing_for_a_launch_is_nan_in_its_row() -> None:
    metrics = make_profile(Launch(metrics={"a": 1.0}), Launch(metrics={"b": 2.0})).metrics
    np.testing.assert_array_equal(metrics[["a", "b"]], [[1.0, math.nan], [math.nan, 2.0]])
    assert set(map(str, metrics.dtypes)) == {"float64"}


def test_an_instruction_metric_missing_for_a_launch_is_nan_in_its_rows() -> None:
    extra = Instruction("EXIT", metrics={"more": 3.0})
    instructions = make_profile(Launch(), Launch(instructions=[extra])).instructions
    assert instructions["more"].tolist()[-1] == 3.0
    assert instructions["more"].isna().sum() == len(COPY)
    assert instructions["launch"].tolist() == [0] * len(COPY) + [1]


def test_instructions_have_the_documented_columns_before_their_metrics() -> None:
    found = types(make_profile().instructions)
    assert dict(list(found.items())[:5]) == INSTRUCTION_TYPES
    assert set(list(found.values())[5:]) == {"float64"}


def test_without_instructions_the_columns_are_there_all_the_same() -> None:
    assert types(make_profile(Launch(instructions=[])).instructions).items() >= INSTRUCTION_TYPES.items()


def test_launches_of_several_reports_are_numbered_through_and_keep_their_own_index() -> None:
    launch = Launch(sources={"x.cu": "text"})
    profile = profile_of([(A, [launch.columns(0), launch.columns(1)]), (B, [launch.columns(7)])])
    assert profile.launches.index.tolist() == profile.metrics.index.tolist() == [0, 1, 2]
    assert profile.launches["report"].tolist() == ["a.ncu-rep", "a.ncu-rep", "b.ncu-rep"]
    assert profile.launches["index"].tolist() == [0, 1, 7]
    assert profile.reports == (A, B)
    assert profile.sources == {("a.ncu-rep", "x.cu"): "text", ("b.ncu-rep", "x.cu"): "text"}


def test_parts_with_other_metrics_and_instructions_are_joined() -> None:
    extra = [Instruction("EXIT", metrics={"more": 3.0})]
    launches = (Launch(metrics={"a": 1.0}), Launch(metrics={"b": 2.0}, instructions=extra), Launch(instructions=[]))
    profile = profile_of([(A, [launch.columns(at) for at, launch in enumerate(launches)])])
    for launch in launches:
        alone = make_profile(launch)
        at = launches.index(launch)
        row = profile.metrics.iloc[[at]].reset_index(drop=True)
        pd.testing.assert_frame_equal(row[alone.metrics.columns], alone.metrics)
        assert row.drop(columns=alone.metrics.columns).isna().all(axis=None)
        rows = profile.instructions[profile.instructions["launch"] == at].reset_index(drop=True)
        known = alone.instructions.columns.drop("launch")
        pd.testing.assert_frame_equal(rows[known], alone.instructions[known])
        assert rows.drop(columns=alone.instructions.columns).isna().all(axis=None)


def test_a_part_is_let_go_when_it_is_in_the_frames() -> None:
    parts = [Launch().columns(0), Launch().columns(1)]
    gone = [weakref.ref(part) for part in parts]
    profile = profile_of([(A, parts)])
    assert not parts
    assert [part() for part in gone] == [None, None]
    assert len(profile.launches) == 2


def test_no_launches_make_an_empty_profile() -> None:
    assert len(profile_of([(A, [])]).launches) == 0


@pytest.mark.parametrize("metric", ["gpu__time_duration.sum", "launch__grid_dim_x"])
def test_a_launch_without_size_or_duration_can_still_be_shown(metric: str) -> None:
    [launch] = make_profile(Launch().without(metric)).launches.to_dict("records")
    assert launch["grid_x"] == 0 or math.isnan(launch["duration_ns"])


GRID, THREADS = "launch__grid_dim_x", "launch__block_dim_y"


@pytest.mark.parametrize("size", [1e300, 2.0**63, 2.0**31, -5.0, -1e300, math.inf, -math.inf, math.nan])
def test_a_size_that_no_launch_has_is_unknown(size: float) -> None:
    impossible = {GRID: size, THREADS: size, "device__attribute_compute_capability_major": size}
    [launch] = make_profile(Launch().with_metrics(impossible)).launches.to_dict("records")
    assert (launch["grid_x"], launch["block_y"]) == (0, 0), "which is no size either"
    assert launch["compute_capability"] == ""
    assert launch["block_x"] == 256


def test_the_largest_size_is_known() -> None:
    profile = make_profile(Launch().with_metrics({GRID: 2.0**31 - 1}))
    assert profile.launches["grid_x"].tolist() == [2**31 - 1]


def test_lines_are_instructions_summed_by_source_line() -> None:
    lines = make_profile(Launch(), Launch(instructions=[Instruction("EXIT"), *COPY])).lines
    assert lines["launch"].tolist() == [0] * 4 + [1] * 4
    assert lines["line"].tolist() == [1, 2, 3, 4] * 2
    assert lines["inst_executed"].tolist() == [4.0 * WARPS, 6.0 * WARPS, 4.0 * WARPS, float(WARPS)] * 2


def test_names_with_lone_surrogates_stay_the_same() -> None:
    profile = make_profile(Launch(kernel="k\udcff"))
    assert profile.launches["kernel"].tolist() == ["k\udcff"]
