"""``read``: report files and CSV exports -> one ``Profile``, by framing checks and shards read in child processes.

``read_each`` gives a ``Profile`` of each, a batch at a time.
Of damaged reports the readable launches are kept, and of several reports those that can be read; ``damage_of`` names
the others in a ``Failure``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from math import ceil
from pathlib import Path
from threading import Thread

from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportError, ReportUnreadable
from ncuview.base.files import exists
from ncuview.base.log import LOG
from ncuview.base.report_files import is_csv_export
from ncuview.base.suggestion import did_you_mean
from ncuview.base.system import leave_out, usable_processors
from ncuview.reader.batches import MOST_BYTES, Batches
from ncuview.reader.child import Children, PrestartedChildren, Shard
from ncuview.reader.columns import Reading
from ncuview.reader.csv_export import read_csv
from ncuview.reader.framing import LaunchHeader, ReportHeader
from ncuview.reader.kernel_filter import PREFIX, check_kernel_filter
from ncuview.reader.outliners import Outliners
from ncuview.reader.precheck import CORRUPT, PROFILE_AGAIN
from ncuview.reader.readable_part import Approved, approve
from ncuview.reader.recover import Damage, Salvaged, salvage_together
from ncuview.reader.sandbox import MISSING
from ncuview.reader.snapshot import Snapshot
from ncuview.reader.task import MOST_REPORTS
from ncuview.records.profile import Failure, Profile, ReportInfo, failure_of

MOST_CHILDREN = 8
"""Shards read at once; each child holds 220 MB and 20 times its shard's bytes."""
LEAST_SHARD, LARGEST_SHARD = 2 << 20, 24 << 20
"""Bytes of a report that one child reads. Starting NVIDIA's disassembler takes as long as reading 4 MB. A child frees
no memory, so that the largest shard limits what it needs."""
MOST_HELD = 1 << 30
"""Bytes of reports that wait to be read; the next one is opened when an earlier one is done."""
_NAMED = 12
_ELSEWHERE = "Read it where more memory and processors are free, or profile fewer launches."


def read(
    paths: Sequence[str | Path],
    kernel: str = "",
    prestarted: PrestartedChildren | None = None,
    *,
    instructions: bool = True,
    meanwhile: Callable[[], object] | None = None,
) -> Profile:
    """Read one or more reports, or CSV exports of reports, into a Profile.

    Of a damaged report the launches that can be read completely are read; ``ReportInfo.damage`` names them, and
    ``Profile.failure`` is set. So it is where some of several reports cannot be read, for ``ReportInfo.refusal``.

    Args:
        paths: The report files, and files that end in .csv.
        kernel: Only launches of kernels with exactly this name, or ``regex:`` and a pattern; empty for all.
        prestarted: Child processes that were started before there was a report, if any.
        instructions: Whether machine code, its counters, and sources are read too.
        meanwhile: Called while the child processes read.

    Raises:
        ReportUnreadable: A path does not exist, no path is a readable report, NVIDIA's reader is not installed, or no
            launch, or none of the kernel, can be read, possibly because this machine has too little memory or time.
        ReportDamaged: No launch, or none of the kernel, can be read, or the only report was changed after its checksum
            was made.
        ReportEmpty: No report holds a launch, or none holds a launch of the kernel.
        UsageError: The pattern is no regular expression.
    """
    with _opener(paths, kernel, prestarted, MOST_CHILDREN, instructions=instructions) as opener:
        running: list[_File] = []
        for path in paths:
            _wait_for_room(running)
            running.append(opener.file(path, alone=len(paths) == 1))
        opener.batches.flush()
        # The children read while this process imports pandas, which takes about as long.
        import_module("ncuview.reader.frames")
        if meanwhile:
            meanwhile()
        found = [file.read() for file in running]
    refused = [file.refused for file in running if file.refused]
    if len(refused) == len(running):
        raise refused[0]
    del opener, running  # what they hold of the launches
    return _profile(found, kernel)


def read_each(paths: Sequence[str | Path]) -> Iterator[Profile | ReportError]:
    """Read reports, or CSV exports of reports, into a Profile each: what ``read`` gives or raises for it alone.

    Only the reports of a batch are held at a time, and one child process reads.
    """

    def profile(file: _File | ReportError) -> Profile | ReportError:
        if isinstance(file, ReportError):
            return file
        try:
            return _profile([file.read()])
        except ReportError as error:
            return error

    with _opener(paths, "", None, 1, instructions=True) as opener:
        running: list[_File | ReportError] = []
        for path in paths:
            held = sum(file.held for file in running if isinstance(file, _File))
            if len(running) == MOST_REPORTS or held >= MOST_BYTES:
                opener.batches.flush()
                yield from map(profile, running)
                running.clear()
            try:
                running.append(opener.file(path, alone=True))
            except ReportError as error:
                running.append(error)
        opener.batches.flush()
        yield from map(profile, running)


def _profile(found: list[tuple[ReportInfo, list[Reading]]], kernel: str = "") -> Profile:
    """The profile of the launches that were read of reports; it takes them out of the list."""
    from ncuview.reader.frames import profile_of

    everything = [reading for _, readings in found for reading in readings]
    if not any(reading.launches.index for reading in everything):
        raise _none_of(kernel, everything, damage_of([info for info, _ in found]))
    parts = [(info, [reading.launches for reading in readings]) for info, readings in found]
    found.clear()
    del everything  # profile_of frees each part once it is in the frames
    made = profile_of(parts)
    return replace(made, failure=damage_of(made.reports))


@dataclass
class _Opener:
    """Opens files, and has them read by child processes."""

    kernel: str
    outliners: Outliners | None
    pool: Executor
    batches: Batches
    workers: int
    files: list[_File] = field(default_factory=list)

    def file(self, path: str | Path, *, alone: bool) -> _File:
        """A file that is being read, at the latest once the batches are flushed.

        Raises:
            ReportError: No launch can be read, and the file is ``alone`` or does not exist.
        """
        self.files.append(_File(path, self, alone=alone))
        return self.files[-1]

    def close(self) -> None:
        """Release the bytes of all files."""
        for file in self.files:
            file.close()


@contextmanager
def _opener(
    paths: Sequence[str | Path],
    kernel: str,
    prestarted: PrestartedChildren | None,
    at_once: int,
    *,
    instructions: bool,
) -> Iterator[_Opener]:
    """What opens these files; on any exception it ends the child processes."""
    check_kernel_filter(kernel)
    if MISSING:
        leave_out(f"NVIDIA's reader has no sandbox here: {MISSING}", "Read the reports of strangers on Linux.")
    workers = min(at_once, usable_processors())
    with ExitStack() as held, ThreadPoolExecutor(workers) as pool:
        waiting = [prestarted] if prestarted else []
        outliners = None
        if (count := _expected_shards(paths, workers)) > 1:
            held.enter_context(_imported("ncuview.reader.frames"))
            outliners = held.enter_context(closing(Outliners(ceil(count / 2))))
            further = PrestartedChildren(count - len(waiting), kernel, with_code=instructions)
            waiting.append(held.enter_context(closing(further)))
        children = Children(kernel, waiting)
        read_shards = partial(salvage_together, reader=children, with_code=instructions)
        batches = Batches(pool, read_shards, ceil(len(paths) / workers))
        opener = held.enter_context(closing(_Opener(kernel, outliners, pool, batches, workers)))
        try:
            yield opener
        except BaseException:  # Ctrl-C and SIGTERM too: leaving the pool waits for its threads, which wait for children
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill()
            raise


@contextmanager
def _imported(module: str) -> Iterator[None]:
    """Import a module in a thread while the body runs."""
    importing = Thread(target=import_module, args=[module], name="imports")
    importing.start()
    try:
        yield
    finally:
        importing.join()  # Python must not exit during an import


def _expected_shards(paths: Sequence[str | Path], workers: int) -> int:
    """How many children will be busy at once, to be started while this process checks the reports; 0 if only one."""
    size = 0
    for path in map(Path, paths):
        with suppress(OSError):  # opening the report raises it again
            size += 0 if is_csv_export(path) else path.stat().st_size
    shards = min(workers, size // LEAST_SHARD)
    return shards if shards > 1 else 0


def _none_of(kernel: str, readings: Sequence[Reading], damage: Failure | None) -> ReportError:
    known = sorted({name for reading in readings for name in reading.kernels})
    message = f"no launch of a kernel {kernel!r}"
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    there = did_you_mean(kernel.removeprefix(PREFIX), known, f"There are: {', '.join(known[:_NAMED])}{more}.")
    if set("*?") & set(kernel) and not kernel.startswith(PREFIX):
        pattern = kernel.replace("*", ".*").replace("?", ".").removesuffix(".*")
        there = f"Patterns are regular expressions: -k '{PREFIX}^{pattern}'. {there}"
    if damage is None:
        return ReportEmpty(message, hint=there)
    message += f" among those that could be read; {damage.message}"
    if damage.id == CORRUPT:
        return ReportDamaged(message, hint=f"{there} {PROFILE_AGAIN}", id=CORRUPT)
    return ReportUnreadable(message, hint=f"{there} {_ELSEWHERE}")


def _wait_for_room(running: Sequence[_File]) -> None:
    for file in running:
        if sum(each.held for each in running) <= MOST_HELD:
            return
        file.read()


class _File:
    """A file that is being read."""

    def __init__(self, path: str | Path, opener: _Opener, *, alone: bool) -> None:
        self._name = str(path)
        self._may_be_refused = not alone and exists(Path(path))
        self.refused: ReportError | None = None
        """Why nothing of it can be read, where other files are read all the same."""
        LOG.info("reads %s", path)
        self._batches = opener.batches
        self._approved: Approved | None = None
        self._futures: list[Future[Salvaged]] = []
        try:
            self._approved = None if is_csv_export(Path(path)) else approve(Path(path), opener.outliners)
        except ReportError as error:
            self._refuse(error)
            return
        if self._approved:
            shards = list(_shards(self._approved.snapshot, self._approved.header.launches, opener.workers))
            may_share = len(shards) == 1 and not self._approved.is_damaged
            self._futures = [(self._batches.add if may_share else self._batches.alone)(shard) for shard in shards]
        else:
            self._futures = [opener.pool.submit(_read_export, Path(path), opener.kernel)]

    @property
    def held(self) -> int:
        """Bytes that wait to be read."""
        return self._approved.snapshot.size if self._approved else 0

    def read(self) -> tuple[ReportInfo, list[Reading]]:
        """The report and its launches, once all that can be read are read.

        Raises:
            ReportError: No launch can be read, and it is the only file or does not exist.
        """
        if self.refused is None:
            try:
                return self._launches()
            except ReportError as error:
                self._refuse(error)
        assert self.refused  # noqa: S101  (_refuse has set it, or raised)
        why = failure_of(self.refused)
        shown = why.message.removeprefix(self._name).removeprefix(":").strip()
        return ReportInfo(self._name, "", None, damage=shown, refusal=why), []

    def _refuse(self, error: ReportError) -> None:
        if not self._may_be_refused:
            raise error
        self.close()
        self.refused = error

    def _launches(self) -> tuple[ReportInfo, list[Reading]]:
        self._batches.flush()
        parts = [future.result() for future in self._futures]
        self.close()
        readings = [reading for part in parts for reading in part.readings]
        if self._approved is None:
            return ReportInfo(self._name, "", None), readings
        header, damage = self._approved.header, _damage(self._approved, parts)
        readings = [_with_processes(reading, header) for reading in readings]
        if damage and len(damage.lost) == header.results:
            if damage.may_be_intact:
                raise ReportUnreadable(f"{self._name}: {damage.why}", hint=_ELSEWHERE)
            raise ReportDamaged(f"{self._name}: {damage.why}", hint="Record the report again.", id=CORRUPT)
        info = ReportInfo(self._name, header.ncu_version, header.created)
        return replace(info, damage=str(damage), may_be_intact=damage.may_be_intact) if damage else info, readings

    def close(self) -> None:
        """Release the report's bytes."""
        if self._approved:
            self._approved.snapshot.close()


def _with_processes(reading: Reading, header: ReportHeader) -> Reading:
    """The launches with their processes, which the framing gives."""
    process = [header.launches[place].process for place in reading.launches.index]
    names = [header.processes.get(number, "") for number in process]
    return replace(reading, launches=replace(reading.launches, process=process, process_name=names))


def _read_export(path: Path, kernel: str) -> Salvaged:
    return Salvaged([read_csv(path, kernel)])


def _shards(report: Snapshot, launches: tuple[LaunchHeader, ...], workers: int) -> Iterator[Shard]:
    """A report in shards of about the same size within the limits, as many for each worker."""
    size = sum(launch.size for launch in launches)
    rounds = ceil(size / (LARGEST_SHARD * workers))
    limit = max(LEAST_SHARD, size / (rounds * workers))
    start, held = 0, 0
    for place, launch in enumerate(launches):
        held += launch.size
        if held >= limit or place + 1 == len(launches):
            yield Shard(report, start, launches[start : place + 1], len(launches))
            start, held = place + 1, 0


def damage_of(reports: Sequence[ReportInfo]) -> Failure | None:
    """The failure that names what of the reports could not be read; None where all was."""
    found = [report for report in reports if report.damage]
    if not found:
        return None
    identity, help_ = CORRUPT, "Copy the report again, or profile again."
    if refusals := [report.refusal for report in found if report.refusal]:
        identity, help_ = refusals[0].id, " ".join(dict.fromkeys(each.hint for each in refusals))
    elif all(report.may_be_intact for report in found):
        identity, help_ = ReportUnreadable.__name__, _ELSEWHERE
    return Failure(
        identity,
        "; ".join(f"{report.path}: {report.damage}" for report in found),
        f"The figures are of the launches that could be read. {help_}",
        ReportError.exit_code,
    )


def _damage(report: Approved, parts: Sequence[Salvaged]) -> Damage | None:
    lost = {launch: why for part in parts for launch, why in part.lost.items()}
    without_code = {launch: why for part in parts for launch, why in part.without_code.items()}
    reasons = [*report.damage, *lost.values(), *without_code.values()]
    if not reasons:
        return None
    scarce = {why for part in parts for why in part.scarce}
    return Damage(
        report.header.results,
        report.announced,
        lost.keys(),
        without_code.keys() - lost.keys(),
        reasons,
        may_be_intact=scarce.issuperset(reasons),
    )
