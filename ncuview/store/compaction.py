"""Merge small batches into larger ones, so that a store of many small adds has few files.

``due`` chooses batches of about the same size, as soon as there are MANY of them; ``merged`` writes their rows as the
files of one batch, in a process of its own. Publishing that batch replaces them at one moment: whoever is killed before
has changed nothing. Two who merge the same batches both publish their rows, and readers take each report once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from io import BytesIO
from math import log2
from typing import TYPE_CHECKING

from ncuview.base.errors import ReportDamaged
from ncuview.store.batches import Added, Batch, Contents, File, new_id
from ncuview.store.place import Place, place_of
from ncuview.store.schema import TABLE, VERSION

if TYPE_CHECKING:
    import pyarrow as pa

MANY = 8
"""Batches of a size class, which are then merged. A row is merged at most log(MOST_LAUNCHES) / log(MANY) times."""
MOST_LAUNCHES = 131_072
"""Of a merged batch; 0.5 GB of memory with the metrics of ``--set full``."""


@dataclass(frozen=True)
class Merging:
    """Batches to merge."""

    store: str
    batches: tuple[Batch, ...]
    further: tuple[str, ...] = ()
    """Batches that these replaced, and that still are there."""


def due(store: str, contents: Contents) -> Merging | None:
    """Which batches to merge next; None where there are few, or only large ones."""
    classes: defaultdict[int, list[Batch]] = defaultdict(list)
    for batch in contents.batches:
        if batch.version == VERSION and batch.launches < MOST_LAUNCHES:
            classes[int(log2(batch.launches + 1) / log2(MANY))].append(batch)
    for _, members in sorted(classes.items()):
        if len(members) >= MANY and len(chosen := _together(members)) > 1:
            there = {batch.id for batch in contents.replaced}
            further = {each for batch in chosen for each in batch.replaces if each in there}
            return Merging(store, tuple(chosen), tuple(sorted(further)))
    return None


def _together(batches: list[Batch]) -> list[Batch]:
    """The first ones that follow each other and are together small enough."""
    chosen: list[Batch] = []
    for batch in batches:
        if sum(each.launches for each in chosen) + batch.launches > MOST_LAUNCHES:
            if len(chosen) > 1:
                break
            chosen = []
        chosen.append(batch)
    return chosen


def merged(task: Merging) -> Batch:
    """Write the rows of batches as files of one batch, to publish; a report that several of them hold is there once.

    Raises:
        UsageError: The store cannot be written.
        ReportUnreadable: A file cannot be read.
        ReportDamaged: A file is damaged.
    """
    from ncuview.store.files import write_tables

    place, identity = place_of(task.store), new_id()
    reports: dict[str, Added] = {}
    seen: dict[str, set[int]] = {}
    for batch in task.batches:
        seen[batch.id] = {each.report for each in batch.reports if each.content in reports}
        for each in batch.reports:
            reports.setdefault(each.content, each)
    files: list[File] = []
    for table in TABLE:  # one after the other, which takes less memory; with launches, their sums are written
        if table == "sums":
            continue
        parts = [
            _rows(place, file, seen[batch.id]) for batch in task.batches for file in batch.files if file.table == table
        ]
        if any(map(len, parts)):
            files += write_tables(place, identity, {table: [part for part in parts if len(part)]})
    replaces = (*(batch.id for batch in task.batches), *task.further)
    return Batch(identity, VERSION, tuple(reports.values()), tuple(files), replaces)


def _rows(place: Place, file: File, without: set[int]) -> pa.Table:
    """The rows of a file except those of some reports."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(BytesIO(place.read(file.name)))
    except (pa.ArrowException, OSError) as error:
        raise ReportDamaged(
            f"{place.name}: {file.name} is damaged: {error}",
            hint="Restore it from a backup, or add the reports to a new store.",
        ) from error
    return rows.filter(pc.invert(pc.is_in(rows["report"], pa.array(sorted(without), pa.int64())))) if without else rows
