"""The tables of a store: every column is documented, in the Arrow schema too, and the page is generated from it."""

from __future__ import annotations

from typing import get_args

import pyarrow as pa
import pytest

from ncuview.store.schema import TABLE, TABLES, VERSION, VERSION_KEY, Table, TableName, arrow_schema

NAMED = pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])


def test_there_is_one_table_of_each_name() -> None:
    assert [table.name for table in TABLES] == list(get_args(TableName)) == list(TABLE)


@NAMED
def test_every_table_has_distinct_columns_with_meanings_and_the_places_of_its_files(table: Table) -> None:
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert {"gpu", "month"} <= set(names)
    assert ("report" in names) == (table.name != "sums")
    assert all(column.meaning.endswith(".") for column in table.columns)
    assert all(column.unit == "ns" for column in table.columns if column.name.endswith("_ns"))


@NAMED
def test_the_arrow_schema_carries_version_meanings_and_units(table: Table) -> None:
    schema = arrow_schema(table)
    assert schema.metadata[VERSION_KEY.encode()] == f"{table.name}/{VERSION}".encode()
    for column in table.columns:
        assert schema.field(column.name).metadata == {
            b"meaning": column.meaning.encode(),
            b"unit": column.unit.encode(),
        }


def test_metrics_have_columns_of_their_own() -> None:
    schema = arrow_schema(TABLE["metrics"], {"dram__bytes_read.sum": "byte"})
    assert schema.field("dram__bytes_read.sum").type == pa.float64()
    assert schema.field("dram__bytes_read.sum").metadata == {b"unit": b"byte"}
