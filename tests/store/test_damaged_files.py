"""A damaged Parquet file is named as such, whichever it is and wherever DuckDB finds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ncuview import store
from ncuview.base.errors import ReportDamaged
from ncuview.store import kernel_history, questions
from ncuview.store.answer import Answer
from ncuview.store.opened import Store
from tests.store.small_store import SmallStore, of_day

QUESTIONS: dict[str, Callable[[Store], Answer]] = {
    "top": lambda asked: questions.top(asked, 5),
    "compare": lambda asked: questions.compare(asked, "shape", "k", 5),
    "history": lambda asked: kernel_history.history(asked, "k", 5),
    "sql": lambda asked: questions.sql(asked, "SELECT sum(duration_ns) FROM launches", 5),
}
READ = {"top": "sums"}
"""The table whose file is damaged, of questions that do not read launches."""


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("cut", [True, False], ids=["cut", "footer"])
def test_a_damaged_file_is_named(tmp_path: Path, question: str, *, cut: bool) -> None:
    small = SmallStore(tmp_path / "s")
    for day in range(3):
        small.add({}, {}, **of_day(day))
    last = max(Path(small.name).rglob(f"{READ.get(question, 'launches')}/**/*.parquet"))
    data = last.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    last.write_bytes(data[: len(data) // 2] if cut else data[:footer] + bytes(40) + data[footer + 40 :])
    with pytest.raises(ReportDamaged, match="a file of the store cannot be read"), store.open(small.name) as asked:
        QUESTIONS[question](asked)


@pytest.mark.parametrize("question", ["top", "compare"])
def test_a_file_that_is_damaged_after_opening_is_named_each_time(tmp_path: Path, question: str) -> None:
    small = SmallStore(tmp_path / "s")
    small.add({}, {})
    with store.open(small.name) as asked:
        for file in Path(small.name).rglob(f"{READ.get(question, 'launches')}/**/*.parquet"):
            file.write_bytes(file.read_bytes()[:20])
        for _ in range(2):
            with pytest.raises(ReportDamaged, match="a file of the store cannot be read"):
                QUESTIONS[question](asked)
