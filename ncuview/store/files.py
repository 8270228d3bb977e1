"""``write_tables``: the rows of a batch's reports -> Parquet files of the batch, one per table, GPU and month.

The rows of a file are sorted by kernel, so that a question about one kernel reads few row groups. With launches, the
rows of ``sums`` are made and written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ncuview.store.batches import File, file_name
from ncuview.store.place import Place
from ncuview.store.schema import TABLE, TableName, arrow_schema
from ncuview.store.sums import sums_of

ROWS_OF_GROUP = 32_768
"""The rows of a row group. Each group costs time when all are read; of larger ones, a question about one kernel reads
most of a file."""
ROWS_OF_METRICS = 8_192
"""Those of the table ``metrics``: its many columns are read for one kernel."""
_ORDER = ("kernel", "report", "launch", "call")


def write_tables(place: Place, batch: str, tables: Mapping[TableName, Sequence[pa.Table]]) -> tuple[File, ...]:
    """Write the files of a batch, and name them; they are part of the store once the batch is published.

    Raises:
        UsageError: The place cannot be written.
    """
    files = []
    if launches := tables.get("launches"):
        tables = {**tables, "sums": [sums_of(launches)]}
    for name, parts in tables.items():
        everything = pa.concat_tables(parts, promote_options="default").unify_dictionaries()
        for gpu, month in _places(everything):
            rows = everything.filter(_equals("gpu", gpu) & _equals("month", month))
            table = _finished(name, rows)
            file = File(name, file_name(name, gpu, month, batch), len(table), _metrics(name, table))
            place.write(file.name, parquet(name, table))
            files.append(file)
    return tuple(files)


def parquet(name: TableName, table: pa.Table) -> bytes:
    """A table as a Parquet file.

    Most questions read a few columns of all launches. LZ4 takes less time to unpack than zstd, and so do numbers
    without a dictionary, as times do not repeat. Metrics take most of the space; many repeat.
    """
    target = BytesIO()
    if name == "metrics":
        pq.write_table(table, target, compression="zstd", row_group_size=ROWS_OF_METRICS)
    else:
        repeated = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
        pq.write_table(table, target, compression="lz4", row_group_size=ROWS_OF_GROUP, use_dictionary=repeated)
    return target.getvalue()


def _places(table: pa.Table) -> list[tuple[str | None, str | None]]:
    found = set(zip(table.column("gpu").to_pylist(), table.column("month").to_pylist(), strict=True))
    return sorted(found, key=lambda place: tuple(part or "" for part in place))


def _equals(column: str, value: str | None) -> pc.Expression:
    return pc.field(column).is_null() if value is None else pc.field(column) == value


def _finished(name: TableName, rows: pa.Table) -> pa.Table:
    """The rows in their order, with the columns in theirs; a metric that none of the rows has is left out."""
    keys = [key for key in _ORDER if key in rows.column_names]
    by = pa.table(
        {key: pc.cast(rows.column(key), pa.string()) if key == "kernel" else rows.column(key) for key in keys}
    )
    rows = rows.take(pc.sort_indices(by, sort_keys=[(key, "ascending") for key in keys]))
    units = {
        metric: (rows.schema.field(metric).metadata or {}).get(b"unit", b"").decode()
        for metric in sorted(set(rows.column_names) - {column.name for column in TABLE[name].columns})
        if rows.column(metric).null_count < len(rows)
    }
    schema = arrow_schema(TABLE[name], units)
    return rows.select(schema.names).cast(schema)


def _metrics(name: TableName, table: pa.Table) -> tuple[str, ...]:
    return tuple(table.column_names[len(TABLE[name].columns) :])
