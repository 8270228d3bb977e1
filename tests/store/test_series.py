"""Launches are compared by the number of their series: every column of it counts, and older versions agree."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from ncuview import store
from ncuview.store import questions
from ncuview.store.answer import Answer
from ncuview.store.series import COLUMNS, SINCE, series_of
from tests.hostile import HOSTILE
from tests.store.small_store import CONDITIONS, LAUNCH, SmallStore, make_older

ONE: dict[str, Any] = {**CONDITIONS, **LAUNCH}


def test_each_column_makes_another_series() -> None:
    others = [{**ONE, name: 7 if isinstance(ONE[name], int) else "other"} for name in COLUMNS]
    unknown = [{**ONE, name: None} for name in COLUMNS]
    numbers = [series_of(launch) for launch in (ONE, *others, *unknown)]
    assert len(set(numbers)) == 1 + 2 * len(COLUMNS)
    assert all(0 <= number < 2**63 for number in numbers)


def test_parts_of_a_name_stay_apart() -> None:
    names = sorted({*HOSTILE.values(), "", "k", "k<", "', 'k", "', None"})
    launches = [{**ONE, "function": one, "template_arguments": other} for one, other in combinations(names, 2)]
    assert len({series_of(launch) for launch in launches}) == len(launches)


def fill(small: SmallStore) -> None:
    """Kernels of which no report has all, on GPU models, ranks and in shapes."""
    for day in range(6):
        for rank in ("rank 0", "rank 1"):
            launches = [
                {
                    "kernel": f"k{at}",
                    "function": f"n::k{at}",
                    "demangled": f"void n::k{at}<float>(float *)",
                    "grid_x": 64 * (1 + day % 2),
                    "duration_ns": 1_000.0
                    + 10 * day
                    + at
                    + (5_000 if (day, at, rank, copy) == (5, 3, "rank 1", 0) else 0),
                }
                for at in range(day % 3, 6)
                for copy in range(4)
            ]
            small.add(*launches, gpu=("NVIDIA H200", "NVIDIA A100")[day % 2 and rank == "rank 0"], rank=rank)


def answers(name: str) -> list[Answer]:
    with store.open(name) as opened:
        found = [questions.compare(opened, by, of, 0) for by in ("gpu", "shape", "rank") for of in (None, "n::k3")]
        return [*found, questions.outliers(opened, 0)]


@pytest.mark.parametrize("older", [1, 12], ids=["some", "all"])
def test_batches_of_older_versions_are_compared_with_the_others(
    older: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SmallStore(tmp_path / "store")
    fill(small)
    expected = answers(small.name)
    assert all(answer.tables for answer in expected)
    make_older(monkeypatch, older, SINCE, "SELECT * REPLACE (NULL AS series) FROM older")
    assert answers(small.name) == expected


def test_a_named_kernel_has_the_rows_that_it_has_among_all(tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "store")
    fill(small)
    with store.open(small.name) as opened:
        for by in ("gpu", "shape", "rank"):
            (everything,) = questions.compare(opened, by, None, 0).tables
            (one,) = questions.compare(opened, by, "n::k3", 0).tables
            at = one.columns.index("name")
            assert one.rows == tuple(row for row in everything.rows if row[at] == "n::k3<float>")
