"""A store is asked with SQL: tables of several batches are one, no report counts twice, and nothing else is read."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ncuview import store
from ncuview.base.errors import ReportDamaged, ReportEmpty, ToolError, UsageError
from ncuview.store import opened, schema, versions
from ncuview.store.batches import Added, Batch, new_id, publish
from ncuview.store.files import ROWS_OF_METRICS, parquet, write_tables
from ncuview.store.place import Place, place_of
from ncuview.store.rows import JudgedReport, tables_of
from ncuview.store.schema import VERSION, TableName
from tests.store.test_rows import judged
from tests.together import together


def content(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def add(place: Place, *reports: JudgedReport, at: str = "") -> None:
    made = [tables_of(report) for report in reports]
    identity = at or new_id()
    files = write_tables(place, identity, {name: [each[name] for each in made] for name in made[0]})
    added = tuple(Added(each.content, each.name, len(each.diagnosis.launches)) for each in reports)
    publish(place, Batch(identity, VERSION, added, files))


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_of(str(tmp_path / "it's a store") if request.param == "folder" else f"memory://{tmp_path.name}/store")


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    keys = [name for name in ("report", "launch", "call", "rule", "file", "line") if name in table.column_names]
    return sorted(table.to_pylist(), key=lambda row: str([row[key] for key in keys]))


def answer(place: Place, query: str, **values: Any) -> Sequence[tuple[Any, ...]]:
    with store.open(place.name) as opened:
        return opened.sql(query, **values).fetchall()


def test_tables_of_several_batches_are_one(place: Place) -> None:
    one, other = judged(content=content("a")), judged("reduction", content=content("b"))
    add(place, one)
    add(place, other)
    count = len(one.diagnosis.launches) + len(other.diagnosis.launches)
    assert answer(place, "SELECT count(*) FROM launches") == [(count,)]
    assert answer(place, 'SELECT count(*), count("dram__bytes_read.sum") FROM metrics') == [(count, count)]
    assert answer(place, "SELECT count(DISTINCT report) FROM findings") == [(2,)]


def test_metrics_that_only_some_reports_have_are_null_in_the_others(place: Place) -> None:
    profile = judged().profile
    without = replace(profile, metrics=profile.metrics.drop(columns=["dram__bytes_read.sum"]))
    add(place, judged(content=content("a")), judged(content=content("b"), profile=without))
    add(place, judged(content=content("c"), profile=without))
    launches = len(profile.launches)
    query = 'SELECT count(*), count("dram__bytes_read.sum"), count("gpu__time_duration.sum") FROM metrics'
    assert answer(place, query) == [(3 * launches, launches, 3 * launches)]


def test_a_report_of_two_batches_counts_once(place: Place) -> None:
    a, b, c = (judged(content=content(name)) for name in "abc")
    add(place, a, b, at="1")
    add(place, b, c, at="2")
    launches = len(a.diagnosis.launches)
    for table in ("launches", "metrics"):
        assert answer(place, f"SELECT count(*) FROM {table}") == [(3 * launches,)]
    assert answer(place, "SELECT count(*), count(DISTINCT report) FROM reports") == [(3, 3)]


def test_rows_are_those_that_were_written(place: Place) -> None:
    report = judged(content=content("a"))
    add(place, report)
    with store.open(place.name) as found:
        for name, table in tables_of(report).items():
            read = found.arrow(name).select(table.column_names)
            assert in_order(read) == in_order(table), name
            assert len(found.frame(name)) == len(table)


def test_files_are_divided_by_gpu_and_month(tmp_path: Path) -> None:
    diagnosis = judged().diagnosis
    other = replace(diagnosis.launches[0], device=replace(diagnosis.launches[0].device, name="NVIDIA GB200 ../x"))
    report = judged(content=content("a"), diagnosis=replace(diagnosis, launches=(other, *diagnosis.launches[1:])))
    add(place_of(str(tmp_path)), report)
    folders = {file.parent.relative_to(tmp_path).as_posix() for file in tmp_path.glob("launches/**/*.parquet")}
    assert folders == {
        "launches/gpu=NVIDIA%20GB200%20..%2Fx/month=2026-11",
        "launches/gpu=NVIDIA%20H200/month=2026-11",
    }
    place = place_of(str(tmp_path))
    assert answer(place, "SELECT gpu, count(*) FROM launches GROUP BY 1 ORDER BY 2") == [
        ("NVIDIA GB200 ../x", 1),
        ("NVIDIA H200", len(diagnosis.launches) - 1),
    ]
    assert answer(place, "SELECT gpu, launches FROM reports ORDER BY 2")[0] == ("NVIDIA GB200 ../x", 1)


def test_times_are_stored_without_a_dictionary_and_metrics_in_small_groups(tmp_path: Path) -> None:
    rows = ROWS_OF_METRICS + 1
    tables: dict[TableName, pa.Table] = {
        "launches": pa.table({"duration_ns": [1.0] * rows, "kernel": pa.array(["k"] * rows).dictionary_encode()}),
        "metrics": pa.table({"a": [1.0] * rows}),
    }
    launches, metrics = (pq.ParquetFile(BytesIO(parquet(name, table))).metadata for name, table in tables.items())
    assert (launches.num_row_groups, metrics.num_row_groups) == (1, 2)
    time, kernel = (launches.row_group(0).column(at) for at in range(2))
    assert (time.has_dictionary_page, kernel.has_dictionary_page) == (False, True)
    assert (time.compression, metrics.row_group(0).column(0).compression) == ("LZ4", "ZSTD")


def test_values_never_become_sql(place: Place) -> None:
    add(place, judged(content=content("a")))
    assert answer(place, "SELECT count(*) FROM launches WHERE kernel = $k", k="x' OR 1=1 --") == [(0,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '{tmp}/out.csv'",
        "ATTACH '{tmp}/out.db'",
        "SET enable_external_access = true",
        "COPY (SELECT 1) TO '{tmp}/store/out.csv'",
        "DROP VIEW launches",
        "CREATE TABLE t AS SELECT 1",
        "SELECT 1; SELECT 2",
        "",
        "SELECT nothing FROM launches",
        "nonsense",
    ],
)
def test_queries_reach_nothing_outside_of_the_store(query: str, tmp_path: Path) -> None:
    place = place_of(str(tmp_path / "store"))
    add(place, judged(content=content("a")))
    with pytest.raises(UsageError):
        answer(place, query.format(tmp=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert not list((tmp_path / "store").rglob("*.csv"))


def test_a_batch_cannot_name_files_of_others(tmp_path: Path) -> None:
    for name in ("mine", "theirs"):
        add(place_of(str(tmp_path / name)), judged(content=content("a")), at="1")
    (batch,) = (tmp_path / "mine" / "batches").iterdir()
    batch.write_text(batch.read_text().replace("launches/gpu", "../theirs/launches/gpu"))
    with pytest.raises(ReportDamaged, match="cannot be read"):
        store.open(tmp_path / "mine")


def test_a_lost_file_is_named(tmp_path: Path) -> None:
    add(place_of(str(tmp_path)), judged(content=content("a")))
    next(tmp_path.glob("metrics/**/*.parquet")).unlink()
    with pytest.raises(ReportDamaged, match="metrics"):
        store.open(tmp_path)


def test_a_store_keeps_what_it_was_when_it_was_opened(place: Place) -> None:
    add(place, judged(content=content("a")))
    with store.open(place.name) as found:
        add(place, judged(content=content("b")))
        assert found.sql("SELECT count(*) FROM reports").fetchall() == [(1,)]


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportEmpty, match="is no store"):
        store.open(tmp_path)


def test_a_store_without_findings_has_the_table(place: Place) -> None:
    add(place, judged(content=content("a"), diagnosis=replace(judged().diagnosis, program=None)))
    assert answer(place, "SELECT count(*) FROM calls") == [(0,)]


def test_without_duckdb_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(place_of(str(tmp_path)), judged(content=content("a")))
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(ToolError, match="duckdb") as refused:
        store.open(tmp_path)
    assert "ncuview[store]" in refused.value.hint


def test_an_older_version_is_upgraded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    add(place, judged(content=content("a")))
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    monkeypatch.setattr(versions, "VERSION", VERSION + 1)
    monkeypatch.setattr(versions, "UPGRADES", {VERSION: {"launches": "SELECT *, upper(kernel) AS shouted FROM older"}})
    (shouted,) = answer(place, "SELECT DISTINCT shouted FROM launches WHERE kernel = 'transposeNaive'")
    assert shouted == ("TRANSPOSENAIVE",)
    assert answer(place, "SELECT count(*) FROM reports") == [(1,)]


@together("table", schema.TABLE)
def test_each_table_has_its_columns(table: TableName) -> None:
    place = place_of("memory://columns/store")
    if not place.names("batches", ".json"):
        add(place, judged(content=content("a")))
    with store.open(place.name) as found:
        columns = found.tables.table(table).columns
    assert columns[: len(schema.TABLE[table].columns)] == [column.name for column in schema.TABLE[table].columns]


def test_what_exceeds_the_memory_goes_to_a_private_folder_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "MOST_MEMORY", "40MB")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    add(place_of(str(tmp_path / "s")), judged(content=content("a")))
    with store.open(tmp_path / "s") as found:
        ordered = "SELECT r FROM (SELECT hash(i) AS r, i FROM range(4000000) t(i)) ORDER BY r, i"
        assert found.sql(f"SELECT count(*) FROM ({ordered} LIMIT 3900000)").fetchall() == [(3_900_000,)]
        (folder,) = (tmp_path / "temporary").iterdir()
        assert folder.stat().st_mode & 0o077 == 0
    assert not list((tmp_path / "temporary").iterdir())


def test_the_views_of_questions_are_there_after_opening(place: Place) -> None:
    add(place, judged())
    found = answer(place, "SELECT name, launches FROM top_kernels ORDER BY time_ns DESC LIMIT 1")
    assert len(found) == 1
    with pytest.raises(UsageError, match="changes nothing"):
        answer(place, "CREATE VIEW top_kernels AS SELECT 1")


@pytest.mark.parametrize("table", schema.TABLES, ids=lambda each: each.name)
def test_a_table_without_rows_has_the_types_of_one_with_rows(table: schema.Table, tmp_path: Path) -> None:
    file = tmp_path / "some.parquet"
    pq.write_table(schema.arrow_schema(table).empty_table(), file)
    connection = duckdb.connect()
    some, none = (
        connection.sql(f"DESCRIBE {query}").fetchall()
        for query in (f"SELECT * FROM read_parquet('{file}')", opened._no_rows(table.name))
    )
    assert none == some


def test_a_view_is_made_when_a_query_names_it(place: Place) -> None:
    add(place, judged())
    with opened.open_store(place.name) as found:
        views = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        assert {name for (name,) in found.rows(found.sql(views))} == set(schema.TABLE)
        assert found.rows(found.sql("FROM Top_Kernels"))
        assert {name for (name,) in found.rows(found.sql(views))} == {"top_kernels", "advised", *schema.TABLE}
        with pytest.raises(UsageError, match="bottom_kernels"):
            found.sql("FROM bottom_kernels")
