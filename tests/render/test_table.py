"""The table of launches: the same in CSV and Parquet, numbers as numbers, and no formula for a spreadsheet."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from io import BytesIO, StringIO
from math import nan

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import ToolError
from ncuview.records.diagnosis import Diagnosis, TextbookMetric
from ncuview.render.table import csv_table, parquet_table
from tests.hostile import HOSTILE, name_of, poisoned
from tests.render.gate_sample import gate, poisoned_gate
from tests.render.recorded import recorded
from tests.render.sample import diagnosis, launch_with_advice
from tests.together import together

ACTS = ("=", "+", "-", "@", "\t", "\r", "\0", "::", "##[")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def frame(content: bytes) -> pd.DataFrame:
    return pd.read_parquet(BytesIO(content), engine="pyarrow")


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_a_row_says_what_to_do_first() -> None:
    first, second, third = rows(csv_table(diagnosis(), gate()))
    assert first["kernel"] == "transposeCoalesced"
    assert (first["grid_x"], first["grid_y"], first["grid_z"], first["block_x"]) == ("256", "256", "1", "32")
    assert float(first["duration_ns"]) == 328_320.0
    assert (first["verdict"], first["wall"], first["use.l1_data"]) == ("advice", "l1_data", "0.88")
    assert (first["rule"], first["advice"], first["promised"]) == ("SMEM001", "shared_memory_padding", "2.18")
    assert (first["file"], first["line"]) == ("transpose/coalesced.cu", "63")
    assert first["metric.achieved_occupancy"] == "0.94"
    assert (first["failed_checks"], second["failed_checks"]) == ("2", "0")
    assert (second["rule"], second["promised"], second["file"]) == ("", "", "")
    assert third["metric.achieved_occupancy"] == ""


def test_without_a_gate_there_is_no_column_of_checks() -> None:
    assert "failed_checks" not in rows(csv_table(diagnosis(), None))[0]


def test_what_was_not_measured_is_empty_and_negative_numbers_stay_numbers() -> None:
    metrics = {"a": TextbookMetric(-2.5, "%", "x"), "b": TextbookMetric(nan, "%", "x")}
    launch = replace(launch_with_advice(), duration_ns=nan, metrics=metrics)
    (row,) = rows(csv_table(Diagnosis((launch,), ()), None))
    assert (row["duration_ns"], row["saved_ns"], row["metric.a"], row["metric.b"]) == ("", "", "-2.5", "")


def test_parquet_holds_the_same_with_types() -> None:
    table = frame(parquet_table(diagnosis(), gate()))
    text = pd.read_csv(StringIO(csv_table(diagnosis(), gate())))
    assert list(table.columns) == list(text.columns)
    assert table["promised"].to_list()[0] == text["promised"].to_list()[0] == 2.18
    assert table["line"].isna().to_list() == [False, True, True]
    kinds = {column: str(table[column].dtype) for column in ("kernel", "grid_x", "line", "duration_ns", "use.dram")}
    assert kinds["grid_x"] == kinds["line"] == "Int64"
    assert kinds["duration_ns"] == kinds["use.dram"] == "float64"


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ToolError, match="pyarrow") as refused:
        parquet_table(diagnosis(), None)
    assert refused.value.hint == "pip install 'ncuview[parquet]'"


def test_a_recorded_profile_comes_back_launch_by_launch() -> None:
    table = frame(parquet_table(recorded(), None))
    assert table["duration_ns"].to_list() == [launch.duration_ns for launch in recorded().launches]
    assert table["demangled"].to_list() == [row["demangled"] for row in rows(csv_table(recorded(), None))]


def test_no_launches_are_no_rows() -> None:
    assert rows(csv_table(Diagnosis((), ()), None)) == []
    assert frame(parquet_table(Diagnosis((), ()), None)).empty


def cells_are_inert(text: str) -> None:
    content = csv_table(poisoned(diagnosis(), text), poisoned_gate(text))
    for row in csv.reader(StringIO(content)):
        assert not [cell for cell in row if cell.startswith(ACTS) and not is_number(cell)]
    assert len(frame(parquet_table(poisoned(diagnosis(), text), poisoned_gate(text)))) == 3


@together("text", [*HOSTILE.values(), "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "##[error]x"], name=name_of)
def test_no_name_is_a_formula(text: str) -> None:
    cells_are_inert(text)


@given(st.text(st.characters(), max_size=10))
def test_no_text_at_all_is_a_formula(text: str) -> None:
    cells_are_inert(text)
