"""The DataFrames of a diagnosis: shapes, types, units, and the numbers of the diagnosis itself."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import pandas as pd
import pytest

import ncuview
from ncuview.base.paths import shipped
from ncuview.records.diagnosis import Diagnosis
from ncuview.render.frames import calls_frame, findings_frame, metrics_frame, units_frame
from tests.programs.test_of_profile import CHAIN, judged, profile
from tests.render.sample import diagnosis, launch_with_advice
from tests.trends.series_sample import called, launch

REPORT = shipped("kernels") / "transpose" / "h200.ncu-repz"
NOTHING = Diagnosis((), ())


@pytest.fixture(scope="module")
def recorded() -> Diagnosis:
    """The diagnosis of a real report with many launches, some of one kernel."""
    return ncuview.diagnose(ncuview.read(REPORT))


def test_findings_stand_in_the_order_of_what_to_do() -> None:
    frame = findings_frame(diagnosis())
    assert frame["launch"].tolist() == [0, 0, 0]
    assert frame["rank"].tolist() == [1, 2, 0]
    assert frame["optimization"].tolist() == ["shared_memory_padding", "thread_coarsening", "fewer_barriers"]
    assert frame["rejected"].tolist() == ["", "", "not the bottleneck: l1_data at 88% of its peak is"]


def test_a_finding_has_its_prediction_and_its_worst_line() -> None:
    first = findings_frame(diagnosis()).iloc[0]
    assert (first["low"], first["best"], first["high"]) == (1.94, 2.18, 2.29)
    assert first["saved_ns"] == pytest.approx(328_320 - 328_320 / 2.18)
    assert (first["file"], first["line"], first["line_share"]) == ("transpose/coalesced.cu", 63, 0.9)


def test_a_finding_without_a_line_says_so() -> None:
    second = findings_frame(diagnosis()).iloc[1]
    assert (second["file"], second["line"]) == ("", 0)
    assert isnan(second["line_share"])


def test_a_launch_of_unknown_duration_saves_an_unknown_time() -> None:
    untimed = replace(launch_with_advice(), duration_ns=nan)
    assert findings_frame(Diagnosis((untimed,), ()))["saved_ns"].isna().all()


@pytest.mark.parametrize("frame_of", [findings_frame, metrics_frame, units_frame, calls_frame])
def test_no_launch_gives_a_frame_without_rows_that_has_its_columns(frame_of: object) -> None:
    assert callable(frame_of)
    empty, full = frame_of(NOTHING), frame_of(diagnosis())
    assert empty.empty
    assert (empty.dtypes == full.dtypes[empty.columns]).all()
    assert len(empty.columns) >= 1


def test_metrics_have_a_row_for_each_launch_and_their_units_and_sources() -> None:
    frame = metrics_frame(diagnosis())
    assert frame.index.names == ["launch", "kernel"]
    assert frame.index.tolist() == [
        (0, "transposeCoalesced"),
        (1, "transposeNoBankConflicts"),
        (2, "latencyBound"),
    ]
    assert list(frame) == ["duration_ns", "achieved_occupancy", "effective_bandwidth"]
    assert frame["effective_bandwidth"].iloc[0] == 1.635e12
    assert isnan(frame["effective_bandwidth"].iloc[2])
    assert frame.attrs["units"] == {
        "duration_ns": "ns",
        "achieved_occupancy": "ratio 0-1",
        "effective_bandwidth": "byte/s",
    }
    assert frame.attrs["sources"]["effective_bandwidth"] == ("useful bytes / gpu__time_duration.sum",)


def test_a_unit_that_was_not_collected_is_unknown_and_not_idle() -> None:
    frame = units_frame(diagnosis())
    assert frame["wall"].tolist() == ["l1_data", "dram", "latency"]
    assert frame["l1_data"].tolist()[:2] == [0.88, 0.31]
    assert isnan(frame["l1_data"].iloc[2])
    assert frame["xu"].iloc[0] == 0.0


def test_frames_of_a_recorded_profile_hold_every_launch_and_finding(recorded: Diagnosis) -> None:
    metrics, units, findings = metrics_frame(recorded), units_frame(recorded), findings_frame(recorded)
    assert len(metrics) == len(units) == len(recorded.launches)
    assert set(metrics.dtypes.astype(str)) == {"float64"}
    assert metrics["duration_ns"].tolist() == [launch.duration_ns for launch in recorded.launches]
    first = findings[findings["rank"] == 1].set_index("launch")["best"]
    assert first.to_dict() == {
        at: launch.findings[0].predicted_speedup.best for at, launch in enumerate(recorded.launches) if launch.findings
    }
    assert metrics.attrs["units"].keys() == metrics.attrs["sources"].keys() == set(metrics.columns)
    numbers = set(units.select_dtypes("number").columns)
    assert units.attrs["units"].keys() == numbers
    assert findings.attrs["units"].keys() <= set(findings.select_dtypes("number").columns)


def test_frames_of_two_diagnoses_can_be_put_together() -> None:
    both = pd.concat([units_frame(diagnosis()), units_frame(diagnosis())], keys=["before", "after"])
    pd.testing.assert_frame_equal(both.loc[["before"]].droplevel(0), both.loc[["after"]].droplevel(0))


def test_lines_stand_in_the_order_of_their_kernel_time() -> None:
    first, second = called(12, 4e6, "a"), replace(called(7, 1e6), owner_kind="framework")
    rest = [replace(called(12, 2e6, "b"), owner_kind="vendor"), launch("other", 3e6), called(9, nan)]
    frame = calls_frame(Diagnosis((second, first, *rest), ()))
    assert frame[["file", "line", "function", "operator"]].to_numpy().tolist() == [
        ["train.py", 12, "attend", "softmax"],
        ["train.py", 7, "attend", "softmax"],
    ]
    assert frame["launches"].tolist() == [2, 1]
    assert frame["kernels"].tolist() == [2, 1]
    assert frame["time_ns"].tolist() == [6e6, 1e6]
    assert frame["share"].tolist() == pytest.approx([0.6, 0.1])
    assert frame["owner_kinds"].tolist() == ["yours, vendor", "framework"]
    assert frame["next_step"].tolist() == ["shared_memory_padding 2.18x"] * 2


def test_a_line_has_the_change_of_the_program_there() -> None:
    frame = ncuview.calls_frame(judged(CHAIN))
    assert frame["line"].tolist() == [5, 6, 7, 8, 9]
    assert set(frame["rule"]) == {"PROG001"}
    assert frame["advice"].str.contains("torch.compile").all()
    assert set(calls_frame(judged(profile((12, 7))))["advice"]) == {""}
