"""Table of a ``Diagnosis``, one row per launch: ``csv_table`` returns CSV text, ``parquet_table`` Parquet bytes.

Columns: the launch, time, verdict, bottleneck (``wall``), first advice, use of units, textbook metrics, failed checks.

``use.UNIT`` is a unit's use as a share of its peak, ``metric.NAME`` a textbook metric. ``failed_checks`` counts the
failed checks of the kernel, with a gate. ``missing`` gives the reason where launches are missing.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from io import BytesIO, StringIO

from ncuview.base.errors import ToolError
from ncuview.base.paths import shown_path
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis
from ncuview.records.gate import Gate
from ncuview.records.profile import Extent
from ncuview.render.program_words import call_words
from ncuview.render.text import known, safe_text

Cell = str | int | float | None
Row = dict[str, Cell]

_ACTIVE_PREFIXES = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "::")  # noqa: RUF001  (the wide forms count too)
"""Spreadsheets read a cell with such a prefix as a formula, also after blanks; CI jobs read ``::`` as a command."""
_TEXTS = frozenset(
    {"report", "kernel", "demangled", "device", "compute_capability", "origin", "verdict", "wall"}
    | {"rule", "advice", "change", "file", "missing"}
    | {"owner", "owner_kind", "call"}
)
_COUNTS = frozenset(
    {"index", "line", "failed_checks"} | {f"{extent}_{axis}" for extent in ("grid", "block") for axis in "xyz"}
)


def csv_table(diagnosis: Diagnosis, gate: Gate | None) -> str:
    """The table with a header line; a cell without a value is empty, and no text is a formula."""
    rows = _rows(diagnosis, gate)
    columns = _columns(rows)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([inert(column) for column in columns])
    writer.writerows([inert(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def parquet_table(diagnosis: Diagnosis, gate: Gate | None) -> bytes:
    """The same table with typed columns: strings, Int64 and float64, null where there is no value.

    Raises:
        ToolError: pyarrow is not installed; it is the extra ``ncuview[parquet]``.
    """
    import pandas as pd

    rows = _rows(diagnosis, gate)
    table = pd.DataFrame(
        {column: pd.Series([row.get(column) for row in rows], dtype=_type(column)) for column in _columns(rows)}
    )
    target = BytesIO()
    try:
        table.to_parquet(target, engine="pyarrow", index=False)
    except ImportError as error:
        hint = "pip install 'ncuview[parquet]'"
        raise ToolError("Parquet needs pyarrow, which is not installed", hint=hint) from error
    return target.getvalue()


def _rows(diagnosis: Diagnosis, gate: Gate | None) -> list[Row]:
    failed: Counter[tuple[str, Extent, Extent]] = Counter(
        (check.kernel, check.grid, check.block) for check in (gate.checks if gate else ()) if check.result == "failed"
    )
    rows = []
    for launch in diagnosis.launches:
        row = _launch(launch)
        if gate:
            row["failed_checks"] = failed[launch.demangled, launch.grid, launch.block]
        if diagnosis.failure:
            row["missing"] = safe_text(diagnosis.failure.message)
        row |= {safe_text(f"use.{unit}"): known(share) for unit, share in launch.units.items()}
        row |= {safe_text(f"metric.{name}"): known(metric.value) for name, metric in launch.metrics.items()}
        rows.append(row)
    if diagnosis.failure and not rows:
        rows.append({"missing": safe_text(diagnosis.failure.message)})
    return rows


def _launch(launch: LaunchDiagnosis) -> Row:
    return {
        "report": safe_text(shown_path(launch.report)),
        "index": launch.index,
        "kernel": safe_text(launch.kernel),
        "demangled": safe_text(launch.demangled),
        **{f"grid_{axis}": size for axis, size in zip("xyz", launch.grid, strict=True)},
        **{f"block_{axis}": size for axis, size in zip("xyz", launch.block, strict=True)},
        "device": safe_text(launch.device.name),
        "compute_capability": safe_text(launch.device.compute_capability),
        "origin": launch.origin,
        "duration_ns": known(launch.duration_ns),
        "whole_ns": known(launch.whole_ns),
        "verdict": launch.verdict,
        "wall": safe_text(launch.bottleneck),
        "attained": known(launch.attained),
        "owner": safe_text(launch.owner),
        "owner_kind": launch.owner_kind,
        "call": safe_text(call_words(launch.call)) if launch.call else None,
        **_advice(launch, launch.findings[0] if launch.findings else None),
    }


def _advice(launch: LaunchDiagnosis, first: Finding | None) -> Row:
    gain = first.predicted_speedup if first else None
    place = first.where[0] if first and first.where else None
    return {
        "rule": safe_text(first.rule.code) if first else None,
        "advice": safe_text(first.optimization) if first else None,
        "change": safe_text(first.fix.title) if first else None,
        "promised_low": gain.low if gain else None,
        "promised": gain.best if gain else None,
        "promised_high": gain.high if gain else None,
        "saved_ns": known(launch.whole_ns * (1 - 1 / gain.best)) if gain else None,
        "file": safe_text(shown_path(place.file)) if place else None,
        "line": place.line if place else None,
    }


def _columns(rows: Sequence[Row]) -> list[str]:
    """The columns of the launch first, then units in their order, then metrics by name."""
    names = dict.fromkeys(name for row in rows for name in row)
    metrics = sorted(name for name in names if name.startswith("metric."))
    uses = [name for name in names if name.startswith("use.")]
    return [*(name for name in names if not name.startswith(("metric.", "use."))), *uses, *metrics]


def _type(column: str) -> str:
    if column in _TEXTS:
        return "str"
    return "Int64" if column in _COUNTS else "float64"


def inert(cell: Cell) -> Cell:
    """Disarm a text that a program would read as a command; numbers, negative ones too, stay numbers."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip().startswith(_ACTIVE_PREFIXES) else cell
