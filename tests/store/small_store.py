"""Small stores with known content, written by the store's own writer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ncuview.store import batches
from ncuview.store.batches import Added, Batch, new_id, number_of, publish
from ncuview.store.files import write_tables
from ncuview.store.place import Place, place_of
from ncuview.store.schema import TABLE, VERSION, TableName, arrow_schema
from ncuview.store.series import series_of
from ncuview.store.work import CYCLES, exact_of, work_of

if TYPE_CHECKING:
    import pytest

Row = dict[str, Any]
FIRST = datetime(2026, 3, 1, tzinfo=UTC)
CONDITIONS: Row = {
    "gpu": "NVIDIA H200",
    "month": "2026-03",
    "created": FIRST,
    "ncu_version": "2025.3.1",
    "cuda_version": "13.0",
    "clock_control": "base",
    "cache_control": "all",
    "replay_mode": "kernel",
    "point": "c0",
}
LAUNCH: Row = {
    "kernel": "k",
    "demangled": "void n::k<float>(float *)",
    "function": "n::k",
    "template_arguments": "<float>",
    **dict.fromkeys(("grid_y", "grid_z", "block_y", "block_z"), 1),
    "grid_x": 64,
    "block_x": 128,
    "duration_ns": 1_000.0,
    "verdict": "near-peak",
    "attained": 0.9,
    "waits_for_peers": False,
}


def of_day(day: int) -> Row:
    """Conditions of a nightly report; its commit is ``c<day>``."""
    return {"created": FIRST + timedelta(days=day), "point": f"c{day}"}


def make_older(monkeypatch: pytest.MonkeyPatch, older: int, since: int, launches: str) -> None:
    """Have the first batches of every store read as of the version before one, the others as of that one.

    Args:
        monkeypatch: Pytest's.
        older: How many batches.
        since: The version.
        launches: The query of that version's launches over those of the version before, ``older``.
    """

    def contents_of(place: Place) -> batches.Contents:
        return batches.Contents(
            batches.Batch(each.id, since - (at < older), each.reports, each.files)
            for at, each in enumerate(batches.contents_of(place).batches)
        )

    later: dict[int, dict[str, str]] = {version: {} for version in range(since, VERSION)}
    monkeypatch.setattr("ncuview.store.opened.contents_of", contents_of)
    monkeypatch.setattr("ncuview.store.versions.UPGRADES", {since - 1: {"launches": launches}, **later})


class SmallStore:
    """A store that is written row by row; every report is a batch of one."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._reports = 0

    def add(
        self,
        *launches: Row,
        metrics: Iterable[Mapping[str, float | None]] = (),
        findings: Iterable[Row] = (),
        calls: Iterable[Row] = (),
        damage: str = "",
        **conditions: Any,
    ) -> int:
        """Add a report -> its number. Launches are what differs from LAUNCH, conditions what differs from CONDITIONS.

        Args:
            launches: The launches; columns of conditions may differ too.
            metrics: Of each launch, in their order.
            findings: Rows of the table, which name their launch.
            calls: Rows of the table.
            damage: What of the report could not be read.
            conditions: What holds for all launches.
        """
        content = f"{(self._reports + 1) << 1:016x}{'0' * 48}"
        self._reports += 1
        report = number_of(content)
        common = {**CONDITIONS, **conditions, "report": report}
        of_launches = [{**common, **LAUNCH, **launch, "launch": at} for at, launch in enumerate(launches)]
        of_launches = [{**launch, "series": series_of(launch)} for launch in of_launches]
        metrics = list(metrics)
        for launch, counters in zip(of_launches, metrics, strict=False):
            names = exact_of(name for name, value in counters.items() if value is not None)
            launch["work"] = work_of(names, np.array([counters[name] for name in names], np.float64))
            launch["cycles"] = counters.get(CYCLES)
        keys = [column.name for column in TABLE["metrics"].columns]
        of_metrics = [
            {**{key: launch[key] for key in keys}, **found} for launch, found in zip(of_launches, metrics, strict=False)
        ]
        gpus = dict.fromkeys(launch["gpu"] for launch in of_launches) or {common["gpu"]: None}
        tables: dict[TableName, list[Row]] = {
            "reports": [{**common, "gpu": gpu, "content": content, "damage": damage or None} for gpu in gpus],
            "launches": of_launches,
            "metrics": of_metrics,
            "findings": [{**common, "rank": 1, **finding} for finding in findings],
            "calls": [{**common, **call} for call in calls],
        }
        made = {name: [_table(name, rows)] for name, rows in tables.items() if rows}
        place, batch = place_of(self.name), new_id()
        files = write_tables(place, batch, made)
        added = Added(content, f"r{report}.ncu-rep", len(launches), damage)
        publish(place, Batch(batch, VERSION, (added,), files))
        return report


def _table(name: TableName, rows: list[Row]) -> pa.Table:
    named = {column.name for column in TABLE[name].columns}
    others = {key: "" for row in rows for key in row if key not in named} if name == "metrics" else {}
    schema = arrow_schema(TABLE[name], others)
    arrays = [pa.array([row.get(field.name) for row in rows], _plain(field.type)).cast(field.type) for field in schema]
    return pa.table(arrays, schema=schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
