"""Launches with the same work have the same exact counters, and older batches, which have no number, are numbered."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from ncuview import store
from ncuview.store.answer import Answer
from ncuview.store.kernel_history import history
from ncuview.store.schema import TABLE, VERSION
from ncuview.store.work import CYCLES, SINCE, exact_of, work_of
from tests.store.small_store import SmallStore, make_older, of_day
from tests.store.test_kernel_history import FEW
from tests.store.test_rows import tables
from tests.store.test_versions import KEPT

EXACT, OTHER = "smsp__inst_executed.sum", "smsp__sass_inst_executed.sum"


def test_each_value_and_name_makes_another_number() -> None:
    values = np.array([1.0, 2.0])
    numbers = [
        work_of(["a", "b"], values),
        work_of(["a", "c"], values),
        work_of(["a", "b"], values[::-1]),
        work_of(["a", "b"], np.array([1.0, np.nan])),
        work_of(["a", "b"], np.array([np.nan, 1.0])),
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(number is not None and 0 <= number < 2**63 for number in numbers)
    assert work_of(["a", "b"], np.array([np.nan, 2.0])) == work_of(["b"], np.array([2.0]))
    assert work_of(["a"], np.array([np.nan])) is None
    assert work_of([], np.array([])) is None


def test_launches_of_a_report_have_the_number_of_their_counters() -> None:
    launches, metrics = tables()["launches"].to_pylist(), tables()["metrics"].to_pylist()
    exact = exact_of(set(metrics[0]) - {"report", "launch", "gpu", "month", "kernel"})
    for launch, counters in zip(launches, metrics, strict=True):
        assert launch["work"] == work_of(exact, np.array([counters[name] for name in exact], np.float64))
        assert launch["cycles"] == counters[CYCLES]


def test_another_exact_counter_needs_another_version_of_the_tables() -> None:
    """Batches of one version have the number of the same counters: else a history would miss changes of the others."""
    with store.open(KEPT[VERSION]) as opened:
        columns = set(opened.tables.table("metrics").columns) - {column.name for column in TABLE["metrics"].columns}
    names = exact_of(columns)
    assert (len(names), crc32("\n".join(names).encode())) == (68, 2086219384), "give the tables a new VERSION"


def fill(small: SmallStore) -> None:
    """Counters that change, are unknown at a point, or differ between its launches, and a clock that changes."""
    for day, few in enumerate(FEW * 2):
        time = few * (1 if day < 10 else 1.1)
        found = [{EXACT: 100.0 + (day > 4), OTHER: None if day == 2 else float(at), CYCLES: 1e6} for at in range(3)]
        small.add(*[{"duration_ns": time}] * 4, metrics=found if day != 3 else (), **of_day(day))


def asked(name: str) -> Answer:
    with store.open(name) as opened:
        return history(opened, "k", 0)


@pytest.mark.parametrize("older", [1, 5, 20])
def test_batches_of_older_versions_have_the_same_history(
    older: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SmallStore(tmp_path / "store")
    fill(small)
    expected = asked(small.name)
    assert {table.title for table in expected.tables} == {"changes", "times"}
    assert any("clock" in note for note in expected.notes)
    unknown = "SELECT * REPLACE (NULL::BIGINT AS work, NULL::DOUBLE AS cycles) FROM older"
    make_older(monkeypatch, older, SINCE, unknown)
    assert asked(small.name) == expected
