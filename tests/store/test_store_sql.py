"""``store sql`` reads the store, and nothing else; names in it stay data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ncuview import store
from ncuview.base.errors import UnknownKernel, UsageError
from ncuview.render.store_answers import answer_csv, answer_json, answer_page
from ncuview.render.text import safe_text
from ncuview.store import questions
from ncuview.store.answer import Answer, AnswerTable, Settings
from ncuview.store.kernel_history import history
from ncuview.store.opened import Store
from tests.hostile import HOSTILE, each_payload, name_of
from tests.store.small_store import SmallStore, of_day
from tests.together import together


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Store]:
    small = SmallStore(tmp_path / "store")
    small.add({"duration_ns": 1.0}, {"duration_ns": 2.0}, {"duration_ns": 3.0})
    with store.open(small.name) as found:
        yield found


def test_a_query_reads_tables_and_views(opened: Store) -> None:
    (table,) = questions.sql(opened, "SELECT max(duration_ns) AS longest FROM launches", 0).tables
    assert (table.settings, table.columns, table.rows, table.left_out) == (None, ("longest",), ((3.0,),), 0)
    (table,) = questions.sql(opened, "SELECT name, time_ns FROM top_kernels", 0).tables
    assert table.rows == (("n::k<float>", 6.0),)


def test_a_limit_is_named(opened: Store) -> None:
    (table,) = questions.sql(opened, "SELECT duration_ns FROM launches ORDER BY ALL DESC", 2).tables
    assert (table.rows, table.left_out) == (((3.0,), (2.0,)), -1)
    assert "More rows are left out" in answer_page(questions.sql(opened, "FROM launches", 2), 80)


REFUSED = [
    "COPY launches TO '{folder}/x.csv'",
    "EXPLAIN ANALYZE COPY launches TO '{folder}/x.csv'",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_csv('https://example.com/x.csv')",
    "SELECT * FROM glob('/*')",
    "FROM '/etc/hostname'",
    "FROM sniff_csv('/etc/hostname')",
    "ATTACH '{folder}/x.db'",
    "CREATE TABLE x AS SELECT 1",
    "DROP VIEW launches",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '100GB'",
    "SET lock_configuration = false",
    "PRAGMA threads = 99",
    "SELECT 1; DROP VIEW launches",
    "SELECT getenv('HOME')",
    "SELECT * FROM query('COPY launches TO ''{folder}/x.csv''')",
    "CALL load_aws_credentials()",
    "EXPORT DATABASE '{folder}/x'",
    "SELECT",
    "",
    "no query",
    "SELECT '\udcff'",
]


@together("query", REFUSED)
def test_a_query_can_do_nothing_else(tmp_path: Path, query: str) -> None:
    folder = tmp_path / str(REFUSED.index(query))
    small = SmallStore(folder)
    small.add({})
    before = sorted(folder.rglob("*"))
    with store.open(small.name) as found, pytest.raises(UsageError):
        questions.sql(found, query.format(folder=folder), 0)
    assert sorted(folder.rglob("*")) == before


def test_memory_is_bounded(opened: Store) -> None:
    ((limit,),) = questions.sql(opened, "SELECT current_setting('memory_limit')", 0).tables[0].rows
    assert str(limit).endswith("MiB") or str(limit).startswith("1.")


def test_values_of_all_types_have_a_form_in_all_formats(opened: Store) -> None:
    query = (
        "SELECT NULL AS a, TRUE AS b, 'nan'::DOUBLE AS c, 'x'::BLOB AS d, [1, 2] AS e, MAP {'k': 1} AS f, "
        "1.5::DECIMAL(9, 2) AS g, TIMESTAMP '2026-01-02' AS h, 2::HUGEINT ** 100 AS i, 'inf'::FLOAT AS j, 1 AS a"
    )
    answer = questions.sql(opened, query, 0)
    (row,) = json.loads(answer_json(answer))["tables"][0]["rows"]
    assert row[:5] == [None, True, None, "b'x'", "[1, 2]"]
    assert row[7] == "2026-01-02T00:00:00"
    assert len(next(csv.reader(io.StringIO(answer_csv(answer))))) == 11
    assert answer_page(answer, 200)


@each_payload
def test_a_payload_as_a_kernel_is_a_value(opened_once: Store, text: str) -> None:
    with pytest.raises(UnknownKernel):
        history(opened_once, text, 5)
    with pytest.raises(UnknownKernel):
        questions.compare(opened_once, "gpu", text, 5)


@pytest.fixture(scope="module")
def opened_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    small = SmallStore(tmp_path_factory.mktemp("once") / "store")
    small.add({})
    with store.open(small.name) as found:
        yield found


def stored(text: str) -> str:
    """A text as a store holds it."""
    return text.encode("utf-8", "replace").decode()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store in which every text is a payload."""
    small = SmallStore(tmp_path_factory.mktemp("hostile") / "store")
    launches: list[dict[str, Any]] = []
    for day, text in enumerate(map(stored, HOSTILE.values())):
        words = ("kernel", "function", "template_arguments", "demangled", "owner", "rule", "optimization")
        conditions = ("point", "ncu_version", "cuda_version", "rank")
        launch = {**of_day(day), **dict.fromkeys((*words, *conditions), text), "saved_ns": 1.0, "code": day}
        never = {**launch, "function": f"never {text}", "verdict": "not-judged", "attained": None}
        launches += [*[launch] * 9, {**launch, "duration_ns": 9e9}, {**launch, "gpu": "other"}, never]
    calls = [
        {"call": at, **dict.fromkeys(("file", "function", "operator"), stored(text)), "launches": 1, "time_ns": 1.0}
        for at, text in enumerate(HOSTILE.values())
    ]
    metrics = [{stored(text) or "empty": 1.0} for text in HOSTILE.values()]
    small.add(*launches, calls=calls, metrics=metrics, damage="".join(map(stored, HOSTILE.values())))
    with store.open(small.name) as found:
        yield found


def pages(found: Store) -> Iterator[tuple[str, str, str]]:
    asked = [questions.top, questions.outliers, questions.unprofiled]
    answers = [question(found, 0) for question in asked]
    answers += [
        questions.compare(found, "gpu", None, 0),
        questions.sql(found, "SELECT DISTINCT kernel FROM launches", 0),
    ]
    for answer in answers:
        yield answer_page(answer, 100), answer_json(answer), answer_csv(answer)


def assert_safe(page: str) -> None:
    assert [line for line in page.splitlines() if safe_text(line) != line] == []
    assert not any(line.lstrip().startswith("::") for line in page.splitlines())


@each_payload
def test_payloads_are_inert_in_every_place(text: str) -> None:
    settings = Settings(text, text, text)
    tables = [AnswerTable(text, of, (text, "what", "before"), ((text, text, text),), 1) for of in (settings, None)]
    answer = Answer(text, tuple(tables), (text,))
    assert_safe(answer_page(answer, 100))
    assert_inert(answer_json(answer), answer_csv(answer), answer_csv(replace(answer, tables=tuple(tables[1:]))))


def assert_inert(document: str, *csv_tables: str) -> None:
    assert document.isascii()
    assert json.loads(document)["schema"] == "ncuview.store-answer/1"
    cells = [cell for table in csv_tables for row in csv.reader(io.StringIO(table)) for cell in row]
    assert cells
    assert [cell for cell in cells if safe_text(cell) != cell] == []
    assert not any(cell.lstrip()[:1] in set("=+@") for cell in cells)


def test_hostile_names_are_inert_on_pages(hostile: Store) -> None:
    for page, document, table in pages(hostile):
        assert_safe(page)
        assert_inert(document, table)


def test_hostile_names_are_found_again(hostile: Store) -> None:
    for text in map(stored, HOSTILE.values()):
        answer = history(hostile, text, 3)
        assert any(str(row[1]) == text + text for table in answer.tables for row in table.rows), name_of(text)
        assert_safe(answer_page(answer, 100))
