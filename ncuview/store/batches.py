"""``Batch``: reports that were added together, with their files; the JSON file that names them makes them visible.

A store holds ``batches/ID.json`` and ``TABLE/gpu=GPU/month=MONTH/ID.parquet``. The Parquet files are written
first. They belong to the store once the batch's JSON file is there, which ``publish`` writes: what a killed run left
belongs to none, and ``remove_abandoned`` removes it. A batch that merges others names them, and readers leave these out
from the moment at which it is published; their files stay for a day, for those who read them now. Two runs that add one
report at the same time both publish it; readers then take it from the batch whose id is first (``Contents.twice``), so
that no report counts twice.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ncuview.base.errors import ReportDamaged, ReportUnreadable
from ncuview.store.place import Place
from ncuview.store.schema import VERSION, TableName

_FOLDER, _BATCH_ENDING, FILE_ENDING = "batches", ".json", ".parquet"
_ABANDONED_AFTER_S = 24 * 3600.0
"""Files of no batch are removed from this age on; a batch is published seconds after its files are written."""
_DIGITS = 20
"""Of the time in ns with which an id begins."""
UNKNOWN = "unknown"
"""The name of the folder of reports that do not name their GPU or date."""


@dataclass(frozen=True)
class File:
    """One Parquet file of a batch."""

    table: TableName
    name: str
    """From the store's root on."""
    rows: int
    metrics: tuple[str, ...] = ()
    """The columns of the table ``metrics`` that are metrics."""


@dataclass(frozen=True)
class Added:
    """A report of a batch."""

    content: str
    """The SHA-256 of its unpacked content."""
    name: str
    """The file's name."""
    launches: int
    damage: str = ""
    """What of it could not be read; empty when all of it was."""
    hint: str = ""
    """What to do about the damage."""

    @property
    def report(self) -> int:
        """Its number in all tables."""
        return number_of(self.content)


@dataclass(frozen=True)
class Batch:
    """What became part of the store at one moment."""

    id: str
    version: int
    """Of the tables."""
    reports: tuple[Added, ...]
    files: tuple[File, ...]
    replaces: tuple[str, ...] = ()
    """The batches whose reports it holds too, and that are no longer part of the store."""

    @property
    def launches(self) -> int:
        """Of all its reports."""
        return sum(report.launches for report in self.reports)

    @property
    def is_old(self) -> bool:
        """Whether what it replaces is no longer read."""
        written = self.id[:_DIGITS]
        return written.isdecimal() and time.time() - int(written) / 1e9 > _ABANDONED_AFTER_S


_BATCH = TypeAdapter(Batch)


def number_of(content: str) -> int:
    """The number of a report, of 63 bits, from the SHA-256 of its content."""
    return int(content[:16], 16) >> 1


def new_id() -> str:
    """An id that sorts after earlier ones, by this machine's clock, and that no other process has."""
    return f"{time.time_ns():0{_DIGITS}d}-{secrets.token_hex(6)}"


def file_name(table: TableName, gpu: str | None, month: str | None, batch: str) -> str:
    """The name of a batch's file of a table, GPU and month; the GPU's name is percent-encoded."""
    parts = (f"{key}={quote(value or UNKNOWN, safe='')}" for key, value in (("gpu", gpu), ("month", month)))
    return f"{table}/{'/'.join(parts)}/{batch}{FILE_ENDING}"


def publish(place: Place, batch: Batch) -> None:
    """Make a batch, whose files are written, part of the store. Once this returns it is there to stay.

    Raises:
        UsageError: It cannot be written.
    """
    place.write(f"{_FOLDER}/{batch.id}{_BATCH_ENDING}", _BATCH.dump_json(batch))


class Contents:
    """The batches of a store at one moment.

    Attributes:
        batches: Those that are part of the store, by id.
        replaced: Those that another one replaces.
    """

    def __init__(self, batches: Iterable[Batch]) -> None:
        published = tuple(batches)
        replaced = {each for batch in published for each in batch.replaces}
        self.batches = tuple(batch for batch in published if batch.id not in replaced)
        self.replaced = tuple(batch for batch in published if batch.id in replaced)

    @cached_property
    def reports(self) -> Mapping[str, Added]:
        """Each report once, by the SHA-256 of its content."""
        found: dict[str, Added] = {}
        for batch in self.batches:
            for report in batch.reports:
                found.setdefault(report.content, report)
        return found

    @cached_property
    def twice(self) -> Mapping[str, frozenset[int]]:
        """Batch -> the numbers of its reports that an earlier batch holds too; only batches with such reports."""
        seen: set[str] = set()
        found: defaultdict[str, set[int]] = defaultdict(set)
        for batch in self.batches:
            for report in batch.reports:
                if report.content in seen:
                    found[batch.id].add(report.report)
                seen.add(report.content)
        return {batch: frozenset(numbers) for batch, numbers in found.items()}

    @property
    def damaged(self) -> tuple[Added, ...]:
        """The reports of which something could not be read."""
        return tuple(report for report in self.reports.values() if report.damage)


def contents_of(place: Place) -> Contents:
    """The batches that are published now, by id; none where the place does not exist.

    Raises:
        ReportUnreadable: The place cannot be read, or a newer ncuview wrote a batch.
        ReportDamaged: The file of a batch is damaged.
    """
    while True:
        names = place.names(_FOLDER, _BATCH_ENDING)
        try:
            return Contents(_batch(place, name) for name in names)
        except ReportUnreadable:
            if set(names) <= set(place.names(_FOLDER, _BATCH_ENDING)):
                raise
            # one of them was removed meanwhile, long after another had replaced it


def _batch(place: Place, name: str) -> Batch:
    try:
        batch = _BATCH.validate_json(place.read(name))
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise ReportDamaged(
            f"{place.name}: {name} is damaged: {why}",
            hint="Restore it from a backup, or add the reports to a new store.",
        ) from error
    if batch.version > VERSION:
        raise ReportUnreadable(
            f"{place.name} is written by a newer ncuview (version {batch.version}; known is {VERSION})",
            hint="pip install --upgrade ncuview",
        )
    return batch


def is_store(name: str) -> bool:
    """Whether a name is a URL, or a folder with a batch: reports and documents have no URLs."""
    if "://" in name:
        return True
    try:
        return any(Path(name, _FOLDER).glob(f"*{_BATCH_ENDING}"))
    except OSError:  # a name that is too long, or a folder that may not be read: whoever opens it says so
        return False


def remove_abandoned(place: Place, contents: Contents) -> None:
    """Remove what belongs to no batch, or only to a replaced one, and is a day old.

    Files go before the batch that names them, so that nothing stays unnamed in an object store, which has no old files.
    """
    outdated = {each for batch in (*contents.batches, *contents.replaced) if batch.is_old for each in batch.replaces}
    for batch in contents.replaced:
        if batch.id in outdated:
            for file in batch.files:
                place.remove(file.name)
            place.remove(f"{_FOLDER}/{batch.id}{_BATCH_ENDING}")
    known = {file.name for batch in (*contents.batches, *contents.replaced) for file in batch.files}
    for name in place.old_files(".", FILE_ENDING, _ABANDONED_AFTER_S):
        if name not in known:
            place.remove(name)
