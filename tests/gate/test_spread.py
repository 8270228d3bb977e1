"""The spread of the user's own kernels: measured, saved, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base.errors import NothingProfiled, TableError
from ncuview.base.paths import shipped
from ncuview.gate.spread import Spreads, measured_spreads, read_spreads, save_spreads
from ncuview.pipeline.calibration import measure_spreads
from tests.gate.made import diagnosis, launch

COPY = "copy(float *, int)"


def test_times_and_counters_that_differ_are_measured() -> None:
    launches = [launch(time_ns=100e3 + step * 1e3, counts={"inst_executed": 1000.0 + step}) for step in range(5)]
    found = measured_spreads(diagnosis(*launches)).gpus["NVIDIA H200"][COPY]
    assert found.repeats == 5
    assert 0.005 < found.time < 0.03
    assert dict(found.metrics) == {"inst_executed": pytest.approx(4 / 1002, abs=1e-5)}


def test_a_single_launch_says_nothing() -> None:
    with pytest.raises(NothingProfiled, match="no kernel was launched twice"):
        measured_spreads(diagnosis(launch(), launch("other")))


def test_other_kernels_and_gpus_stay_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "ncuview" / "spread.json"
    save_spreads(
        measured_spreads(diagnosis(launch("a"), launch("a", gpu="B"), launch("a"), launch("a", gpu="B"))), path
    )
    save_spreads(measured_spreads(diagnosis(launch("b"), launch("b"))), path)
    found = read_spreads(path)
    assert {gpu: set(kernels) for gpu, kernels in found.gpus.items()} == {
        "NVIDIA H200": {"a(float *, int)", "b(float *, int)"},
        "B": {"a(float *, int)"},
    }
    assert found.time("B", "b(float *, int)") is None
    assert found.time("B", "a(float *, int)") == 0.0


def test_a_table_of_0_1_is_read(tmp_path: Path) -> None:
    path = tmp_path / "spread.json"
    path.write_text(
        '{"schema": "ncuview.spread/1", "gpus": {"NVIDIA H200": {"copy(float *, int)": '
        '{"repeats": 6, "time": 0.01, "metrics": {"inst_executed": 0.002}}}}}'
    )
    assert read_spreads(path).time("NVIDIA H200", COPY) == 0.01


def test_no_table_is_an_empty_one(tmp_path: Path) -> None:
    assert read_spreads(tmp_path / "none.json") == Spreads()
    assert read_spreads(None) == Spreads()


@pytest.mark.parametrize(
    "text", ["", "{", '{"schema": "ncuview.spread/1", "gpus": {"A": {"k": {"repeats": 1, "time": 0}}}}']
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spread.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=r"spread\.json"):
        read_spreads(path)


def test_reports_that_repeat_a_kernel_are_measured() -> None:
    report = shipped("kernels") / "transfers" / "h200.ncu-repz"
    found = measure_spreads(reports=[report]).gpus["NVIDIA H200"]
    (name,) = (kernel for kernel in found if kernel.startswith("overlappedCopies"))
    assert found[name].repeats == 5
    assert found[name].time < 0.001
