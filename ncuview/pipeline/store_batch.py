"""One worker's part of adding reports to a store: files -> their content keys, then -> Parquet files of their own.

``identified`` and ``written`` are functions of one picklable argument with a picklable result, for processes of this
machine (``workers``) or of a cluster. What they write is not part of the store until the caller publishes it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportError, ReportUnreadable
from ncuview.base.report_files import is_csv_export, read_regular_file
from ncuview.records.profile import Failure, failure_of
from ncuview.store.batches import Added, Batch, new_id
from ncuview.store.names import base_name, without_folders
from ncuview.store.schema import VERSION, TableName

if TYPE_CHECKING:
    import pyarrow as pa

    from ncuview.engine.rule_file import Rule
    from ncuview.records.profile import Profile
    from ncuview.store.rows import JudgedReport

_CHANGES = "It is written now, or was replaced: add it again when it is complete."


@dataclass(frozen=True)
class Named:
    """A report to add."""

    file: Path
    point: str
    rank: str


@dataclass(frozen=True)
class Refused:
    """A report of which nothing became part of the store, since another run may be able to read it."""

    file: str
    """As the user named it."""
    why: Failure


@dataclass(frozen=True)
class Identified:
    """A report with its content."""

    named: Named
    content: str
    """The SHA-256 of its unpacked content."""
    state: tuple[int, int, int]
    """Inode, bytes and time of the file, to see whether it changes."""


@dataclass(frozen=True)
class Task:
    """Reports to judge and write together."""

    store: str
    reports: tuple[Identified, ...]
    labels: tuple[tuple[str, str], ...] = ()
    mine: tuple[str, ...] = ()
    rules: tuple[Path, ...] = ()
    """Folders with further rules."""
    keep_paths: bool = False


@dataclass(frozen=True)
class Written:
    """What became of the reports of a task."""

    batch: Batch
    """To publish, unless it has no reports."""
    refused: tuple[Refused, ...] = ()


@dataclass
class _Rows:
    """The rows of a batch so far."""

    added: list[Added] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    tables: defaultdict[TableName, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))

    def add(self, report: Added, tables: dict[TableName, pa.Table]) -> None:
        self.added.append(report)
        for name, table in tables.items():
            if len(table):
                self.tables[name].append(table)


def identified(reports: Sequence[Named]) -> list[Identified | Refused]:
    """The content of each report; one that cannot be opened is refused."""
    found: list[Identified | Refused] = []
    for named in reports:
        try:
            state = _state(named.file)
            found.append(Identified(named, content_of(named.file), state))
        except ReportError as error:
            found.append(Refused(str(named.file), failure_of(error)))
    return found


def written(task: Task) -> Written:
    """Read and judge the reports of a task, and write their rows as Parquet files of a new batch.

    Raises:
        UsageError: The store cannot be written.
        ToolError: What a store needs is not installed.
    """
    from ncuview.store.files import write_tables
    from ncuview.store.place import place_of

    rows = _Rows()
    for report, found in zip(task.reports, judged(task), strict=True):
        _add(rows, task, report, found)
    identity = new_id()
    files = write_tables(place_of(task.store), identity, rows.tables)
    return Written(Batch(identity, VERSION, tuple(rows.added), files), tuple(rows.refused))


def _add(rows: _Rows, task: Task, report: Identified, found: JudgedReport | ReportError) -> None:
    """Add the rows of a report, of a damaged one what could be read and why the rest could not."""
    from ncuview.store.rows import refused_report, tables_of

    named = report.named
    if isinstance(found, ReportDamaged | ReportEmpty):
        failure = failure_of(found)
        name = str(named.file) if task.keep_paths else base_name(str(named.file))
        why = failure.message.removeprefix(str(named.file)).removeprefix(":").strip()
        why = why if task.keep_paths else without_folders(why)
        rows.add(Added(report.content, name, 0, why, failure.hint), refused_report(report.content, name, why))
    elif isinstance(found, ReportError):
        rows.refused.append(Refused(str(named.file), failure_of(found)))
    else:
        (info,), failed = found.diagnosis.reports, found.diagnosis.failure
        if info.may_be_intact and failed:
            rows.refused.append(Refused(str(named.file), failed))
            return
        damage = found.text(info.damage) or ""
        added = Added(
            report.content,
            found.file(found.name) or "",
            len(found.diagnosis.launches),
            damage,
            failed.hint if failed else "",
        )
        rows.add(added, tables_of(found))


def judged(task: Task) -> Iterator[JudgedReport | ReportError]:
    """Read and diagnose the reports of a task one by one; an error for one that cannot be read, or changed meanwhile.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    from ncuview.pipeline.profiled import read_each_with_sources

    profiles = read_each_with_sources([report.named.file for report in task.reports])
    for report, profile in zip(task.reports, profiles, strict=True):
        try:
            yield profile if isinstance(profile, ReportError) else _judged(task, report, profile)
        except ReportError as error:
            yield error


def _judged(task: Task, report: Identified, profile: Profile) -> JudgedReport:
    from ncuview.base.patterns import patterns_of
    from ncuview.engine.rank import diagnose
    from ncuview.reader.settings import session_of
    from ncuview.store.rows import JudgedReport

    file = report.named.file
    session = session_of(file)
    if _state(file) != report.state:
        raise ReportUnreadable(f"{file} changed while it was read", hint=_CHANGES)
    return JudgedReport(
        report.content,
        str(file),
        profile,
        diagnose(profile, _rules(task.rules), mine=patterns_of(task.mine, "--mine")),
        session.settings,
        session.cuda_version,
        report.named.point,
        report.named.rank,
        dict(task.labels),
        task.keep_paths,
    )


@cache
def _rules(folders: tuple[Path, ...]) -> tuple[Rule, ...]:
    from ncuview.engine.rule_file import load_rules

    return load_rules(folders)


def content_of(file: Path) -> str:
    """The SHA-256 of a report's unpacked content, so that a compressed copy is the same report.

    Raises:
        ReportUnreadable: It cannot be opened.
    """
    from ncuview.reader.precheck import report_pieces

    if not is_csv_export(file):
        digest = hashlib.sha256()
        try:
            for piece in report_pieces(file):
                digest.update(piece)
        except (ReportDamaged, ReportUnreadable):  # its bytes as they are, unless they cannot be read either
            pass
        else:
            return digest.hexdigest()
    return hashlib.sha256(read_regular_file(file)).hexdigest()


def _state(file: Path) -> tuple[int, int, int]:
    try:
        status = file.stat()
    except (OSError, ValueError):
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns
