"""The commands ``ncuview store top``, ``history``, ``compare``, ``outliers``, ``unprofiled`` and ``sql``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.command_line import assert_failed, ncuview
from tests.render.schema import problems
from tests.store.small_store import SmallStore, of_day
from tests.together import together

HISTORY = ("store", "history", "n::k")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> str:
    small = SmallStore(tmp_path_factory.mktemp("fleet") / "store")
    for day, value in enumerate([100.0, 100.0, 101.0]):
        launches = [{"duration_ns": 1_000.0}] * 9
        small.add(*launches, metrics=[{"smsp__inst_executed.sum": value}] * 9, **of_day(day))
    small.add({"gpu": "NVIDIA H100", "duration_ns": 2_000.0}, **of_day(3))
    small.add({"duration_ns": 9_000.0}, {"function": "n::new", "verdict": "not-judged", "attained": None}, **of_day(4))
    return small.name


def test_history_names_the_commit_of_a_change(fleet: str) -> None:
    ended = ncuview(*HISTORY, "--from", fleet)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].startswith("Changes; gpu NVIDIA H200; name n::k<float>; grid 64x1x1; block 128x1x1; clocks locked")
    (change,) = [line for line in lines if "smsp__inst_executed" in line]
    assert change.split()[:6] == ["c1", "c2", "2026-03-03", "smsp__inst_executed.sum", "100", "101"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("top",), "n::k<float>"),
        (("compare", "--by", "gpu"), "NVIDIA H100"),
        (("compare", "--by", "gpu", "k"), "2.00x"),
        (("outliers",), "9 us"),
        (("unprofiled",), "no counters"),
        (("sql", "SELECT 6 * 7 AS answer"), "42"),
    ],
)
def test_each_question_has_a_page_json_and_csv(fleet: str, words: tuple[str, ...], expected: str) -> None:
    page, document, table = (
        ncuview("store", *words, "--from", fleet, "--format", form) for form in ("terminal", "json", "csv")
    )
    assert [(ended.code, ended.err) for ended in (page, document, table)] == [(0, "")] * 3
    assert expected in page.out
    assert not problems(document.document, "store_answer")
    assert document.document["question"].split()[0] == words[0]
    (first, *_) = document.document["tables"]
    header, row, *_ = csv.reader(io.StringIO(table.out))
    assert header[-len(first["columns"]) :] == first["columns"] or set(first["columns"]) <= set(header)
    assert len(header) == len(row)


def test_an_empty_answer_says_so(fleet: str) -> None:
    ended = ncuview("store", "compare", "--by", "rank", "--from", fleet)
    assert (ended.code, ended.out) == (0, "No launch in the store is an answer.\n")


@together(
    "words, code",
    [
        (("store", "top"), 2),
        (("store", "history", "--from", "."), 2),
        (("store", "history", "unknown", "--from", "{fleet}"), 2),
        (("store", "compare", "--from", "{fleet}"), 2),
        (("store", "sql", "DROP VIEW launches", "--from", "{fleet}"), 2),
        (("store", "top", "--from", "{fleet}", "--format", "xml"), 2),
        (("store", "top", "--from", "{fleet}", "--limit", "-1"), 2),
        (("store", "top", "--from", "no-such-store"), 3),
    ],
)
def test_what_cannot_be_asked_is_an_error(fleet: str, words: tuple[str, ...], code: int) -> None:
    assert_failed(ncuview(*(word.format(fleet=fleet) for word in words)), code)


def test_a_store_is_a_folder_of_any_name(tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "it's a store")
    small.add({})
    assert ncuview("store", "top", "--from", small.name).code == 0
