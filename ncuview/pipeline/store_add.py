"""``add_reports``: reports, folders and CSV exports -> a store, by worker processes; this process only publishes.

The workers are processes of this machine (``workers``) or of a cluster (``cluster``). Reports that the store holds are
left as they are. Each worker reads, judges and writes the reports of a task; once a task is done its batch is
published, so that a run that is killed has added complete batches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from ncuview.base.errors import ReportError, UsageError
from ncuview.base.report_files import named_path, report_files
from ncuview.base.system import usable_processors
from ncuview.pipeline.cluster import Cluster
from ncuview.pipeline.store_batch import Identified, Named, Refused, Task, identified, written
from ncuview.pipeline.workers import WorkerDied, Workers
from ncuview.records.profile import Failure
from ncuview.store.batches import Added, Contents, contents_of, publish, remove_abandoned
from ncuview.store.compaction import due, merged
from ncuview.store.place import Place, place_of

MOST_REPORTS, MOST_BYTES = 64, 256 << 20
"""Of a task: what is lost where a run is killed, and what a worker holds as rows."""
_AT_ONCE = 32
"""Reports that a worker identifies in one call."""
_DIED = "Read it where more memory is free, or profile fewer launches."

Progress = Callable[[int, int], object]
"""Is called with the reports that are done and all that are new."""


@dataclass(frozen=True)
class Addition:
    """What adding did."""

    added: tuple[Added, ...]
    """The reports that are new in the store, damaged ones too."""
    known: tuple[Added, ...]
    """The reports that the store held already."""
    refused: tuple[Refused, ...]
    """The reports that are not in the store, and why."""

    @property
    def damaged(self) -> tuple[Added, ...]:
        """The given reports, new or known, of which something could not be read."""
        return tuple(each for each in (*self.added, *self.known) if each.damage)

    @property
    def failure(self) -> Failure | None:
        """Why not all of the given reports are completely in the store; None where they are."""
        said = [f"{each.name}: {each.damage}" for each in self.damaged]
        said += [each.why.message for each in self.refused]
        if not said:
            return None
        hints = [each.hint for each in self.damaged] + [each.why.hint for each in self.refused]
        identity = self.refused[0].why.id if self.refused else "NCU-CORRUPT"
        return Failure(identity, "; ".join(said), " ".join(dict.fromkeys(filter(None, hints))), ReportError.exit_code)


def add_reports(
    *targets: str | Path,
    to: str | Path,
    labels: Mapping[str, str] | None = None,
    mine: Sequence[str] = (),
    rules: Sequence[str | Path] = (),
    keep_paths: bool = False,
    processes: int | None = None,
    scheduler: str = "",
    progress: Progress | None = None,
) -> Addition:
    """Add reports to a store. Adding a report again changes nothing.

    Args:
        targets: Reports, CSV exports, and folders, which stand for all reports below them.
        to: The store: a folder, which need not exist, or a URL of fsspec.
        labels: What the reports have in common, such as a commit or a job.
        mine: Kernels and files that match one of these patterns are the user's.
        rules: Folders with further rules, which judge too.
        keep_paths: Whether files keep their folders; only base names otherwise.
        processes: How many worker processes; None for one per processor.
        scheduler: The address of a Dask cluster, whose workers read the same files under the same names, and write to
            the same store; empty for processes of this machine.
        progress: Called as reports become part of the store.

    Raises:
        UsageError: A name is empty, a pattern is none, or the store cannot be written.
        ReportError: The store cannot be read, or a folder holds no report.
        RuleFileError: A rule file cannot be used.
        ToolError: What a store needs is not installed, or the cluster ended.
    """
    from ncuview.base.patterns import patterns_of
    from ncuview.engine.rule_packs import has_packs
    from ncuview.store.opened import require_libraries

    require_libraries()
    patterns_of(mine, "--mine")
    folders = tuple(map(Path, rules))
    if folders or has_packs():  # before any work is done; the shipped ones are known to be right, and load for 0.4 s
        from ncuview.engine.rule_file import load_rules

        load_rules(folders)
    named = _named(targets)
    place = place_of(str(to))
    if scheduler:  # its workers have working directories of their own
        named = [replace(each, file=Path(_absolute(each.file))) for each in named]
        folders = tuple(Path(_absolute(each)) for each in folders)
        to = place.name if place.filesystem else _absolute(place.name)
    contents = contents_of(place)
    remove_abandoned(place, contents)
    with Cluster(scheduler) if scheduler else Workers(processes or usable_processors()) as workers:
        new, known, refused = _new(workers, named, contents)
        common = Task(str(to), (), tuple(sorted((labels or {}).items())), tuple(mine), folders, keep_paths)
        tasks = [replace(common, reports=part) for part in _parts(new, workers.count)]
        added: list[Added] = []
        for reports, lost in _done(workers, place, tasks):
            added += reports
            refused += lost
            if progress:
                progress(len(added) + len(refused), len(named) - len(known))
        _compact(workers, place, str(to))
    return Addition(tuple(added), tuple(known), tuple(refused))


def _named(targets: Iterable[str | Path]) -> list[Named]:
    """The reports with their places in a series.

    Raises:
        UsageError: There is no target, or one is empty.
        ReportEmpty: A folder holds no report.
    """
    from ncuview.trends.series_files import series_files

    given = [named_path(target) for target in targets]
    if not given:
        raise UsageError("there is nothing to add", hint="Name reports, or folders of reports.")
    reports = set(report_files(given))
    return [Named(found.file, found.point, found.rank) for found in series_files(given) if found.file in reports]


def _absolute(name: str | Path) -> str:
    return os.path.abspath(name)  # noqa: PTH100  (links may lead elsewhere on another machine)


def _new(
    workers: Workers | Cluster, named: Sequence[Named], contents: Contents
) -> tuple[list[Identified], list[Added], list[Refused]]:
    """The reports that the store does not hold, each content once; those that it holds; those that have no content."""
    new: dict[str, Identified] = {}
    known: dict[str, Added] = {}
    refused: list[Refused] = []
    chunks = [tuple(named[at : at + _AT_ONCE]) for at in range(0, len(named), _AT_ONCE)]
    for chunk, found in workers.results(identified, chunks):
        if isinstance(found, WorkerDied):
            refused += [_died(each.file, found) for each in chunk]
            continue
        for each in found:
            if isinstance(each, Refused):
                refused.append(each)
            elif each.content in contents.reports:
                known[each.content] = contents.reports[each.content]
            else:
                new.setdefault(each.content, each)
    return sorted(new.values(), key=lambda each: str(each.named.file)), list(known.values()), refused


def _parts(reports: Sequence[Identified], workers: int) -> Iterator[tuple[Identified, ...]]:
    """The reports in tasks: as many for each worker, within the limits."""
    most = min(MOST_REPORTS, ceil(len(reports) / workers))
    part: list[Identified] = []
    held = 0
    for report in reports:
        _, size, _ = report.state
        if part and (len(part) == most or held + size > MOST_BYTES):
            yield tuple(part)
            part, held = [], 0
        part.append(report)
        held += size
    if part:
        yield tuple(part)


def _done(
    workers: Workers | Cluster, place: Place, tasks: Sequence[Task]
) -> Iterator[tuple[Sequence[Added], Sequence[Refused]]]:
    """What became of each task, published. The reports of one whose process died are tried again one by one."""
    again: list[Task] = []
    for task, found in workers.results(written, tasks):
        if isinstance(found, WorkerDied):
            if len(task.reports) == 1:
                yield (), [_died(task.reports[0].named.file, found)]
            else:
                again += [replace(task, reports=(each,)) for each in task.reports]
            continue
        if found.batch.reports:
            publish(place, found.batch)
        yield found.batch.reports, found.refused
    if again:
        yield from _done(workers, place, again)


def _compact(workers: Workers | Cluster, place: Place, store: str) -> None:
    """Merge small batches while there are many. What a process that dies would have merged stays as it is."""
    while task := due(store, contents_of(place)):
        ((_, found),) = workers.results(merged, [task])
        if isinstance(found, WorkerDied):
            return
        publish(place, found)


def _died(file: Path, error: WorkerDied) -> Refused:
    return Refused(str(file), Failure("ReportUnreadable", f"{file}: {error}", _DIED, ReportError.exit_code))
