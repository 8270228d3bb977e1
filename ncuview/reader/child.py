"""Start and supervise child processes that read reports: ``Shard``s of launches -> ``Answer`` (columns) or ``Failure``.

``Children.read`` reads shards; ``PrestartedChildren`` start before there is a report; a ``Child`` runs any module.
A child gets a minimal environment, and limits on time, memory and output.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from io import FileIO
from math import ceil
from pathlib import Path
from typing import IO, NamedTuple, cast

from ncuview.base.errors import ReportUnreadable
from ncuview.base.figures import duration
from ncuview.base.log import LOG
from ncuview.base.paths import shipped
from ncuview.base.system import IS_LINUX, IS_WINDOWS
from ncuview.reader.child_streams import streams_of
from ncuview.reader.columns import Answer, decode
from ncuview.reader.framing import LaunchHeader
from ncuview.reader.kernel_filter import PREFIX
from ncuview.reader.snapshot import Snapshot
from ncuview.reader.task import (
    WITHOUT_CODE,
    Task,
    by_name,
    hand_over,
    has_begun,
    last_launch,
    last_words,
)

REHEARSAL = shipped("kernels") / "transfers" / "h200.ncu-repz"
"""The smallest report that ships."""
_READER = "ncuview.reader.native"
_MODULES = ("ncuview", "ncu_report")
START_S = 60
"""What a child may take until it can read: importing NVIDIA's reader from a slow disk."""
LEAST_S, S_PER_MB = 12, 4
"""What each launch may take after that: 30 times as long as reading takes. Processor time is limited to the same."""
_MEMORY, _MEMORY_PER_BYTE, _MOST_MEMORY = 2 << 30, 100, 16 << 30
"""Bytes of address space; reading takes 0.4 GB, and 20 to 40 times the launches' bytes."""
_OUTPUT, _OUTPUT_PER_BYTE = 64 << 20, 16
"""Bytes of output; launches take about as many in it as in the report."""
_MOST_SAID = 1 << 20
_SHORT_OF_MEMORY = re.compile(rb"MemoryError|bad_alloc|Memory allocation failure|Resource temporarily unavailable")
"""Messages of Python, C++ and NVIDIA's libraries when memory is short."""
_MB = 1e6
_SIGKILL, _SIGXCPU = 9, 24
"""Windows has no signals of these names."""


@dataclass(frozen=True)
class Shard:
    """Consecutive launches of one report."""

    report: Snapshot
    start: int
    """The first of them, 0-based."""
    launches: tuple[LaunchHeader, ...]
    results: int
    """How many launches the complete report holds."""

    @property
    def stop(self) -> int:
        """The launch after the last one."""
        return self.start + len(self.launches)

    def part(self, start: int, stop: int) -> Shard:
        """Only the launches from ``start`` to ``stop``."""
        return Shard(self.report, start, self.launches[start - self.start : stop - self.start], self.results)


@dataclass(frozen=True)
class Failure:
    """How a child failed."""

    launch: int | None
    """At which launch; None where it failed on no single launch."""
    why: str
    """Such as ``crashed NVIDIA's reader (signal 11)``."""
    scarce: bool = False
    """Whether this machine may have had too little memory or time for it, so that the report may be undamaged."""


class Child(NamedTuple):
    """A process that waits for its task, and the socket that the task is sent through."""

    process: subprocess.Popen[bytes]
    tasks: socket.socket | FileIO

    @classmethod
    def start(cls, module: str, environment: Mapping[str, str], *words: str) -> Child:
        """Start a process that runs this module, with these words on its command line.

        Raises:
            OSError: It cannot be started.
        """
        ours, its = socket.socketpair() if IS_LINUX else _pipe()
        # Its working directory is deleted when it begins, so that it can leave no file there; not on Windows.
        with its, tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-s", "-B", "-m", module, *words],
                    stdin=its.fileno(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=None if IS_WINDOWS else folder,
                    env={**environment, "HOME": folder, "TMPDIR": folder},
                )
            except OSError:
                ours.close()
                raise
        LOG.debug("process %d is to read: %s", process.pid, module)
        return cls(process, ours)

    def send_task(self, task: bytes, reports: Sequence[Snapshot]) -> None:
        """Send the task and its reports through the socket.

        Raises:
            OSError: The process has ended, or there is no memory for the task.
        """
        if not isinstance(self.tasks, socket.socket):
            rest = by_name(task, [str(report.name) for report in reports])
            while rest:
                rest = rest[self.tasks.write(rest) :]
            self.tasks.close()
            return
        text = Snapshot.of([task])
        try:
            hand_over(self.tasks, text.descriptor, [report.descriptor for report in reports])
            self.tasks.close()
        finally:
            text.close()

    def answer(self, most_s: float) -> bytes:
        """What it writes until it ends; empty where that takes longer than ``most_s``, or it failed."""
        try:
            written, _ = self.process.communicate(timeout=most_s)
        except subprocess.TimeoutExpired:
            written = b""
        self.end()
        return written if self.process.returncode == 0 else b""

    def end(self) -> None:
        """Kill it."""
        self.tasks.close()
        with self.process:
            self.process.kill()


def _pipe() -> tuple[FileIO, FileIO]:
    """What this process writes to, and what a child reads from."""
    reads, writes = os.pipe()
    return FileIO(writes, "w"), FileIO(reads)


class PrestartedChildren:
    """Children that start before their report is known, and with ``rehearse`` read a shipped report to warm up.

    They take the first tasks of readers that need the modules that they find. To be ready for machine code takes them
    ten times as long.
    """

    def __init__(self, count: int = 1, kernel: str = "", *, with_code: bool = True, rehearse: bool = True) -> None:
        self.environment: Mapping[str, str] = {}
        words = [str(REHEARSAL), *([] if with_code else [WITHOUT_CODE])] if rehearse else []
        self._children: list[Child] = []
        with suppress(OSError, ReportUnreadable):  # reading the report will raise the same error
            self.environment = _environment(kernel)
            for _ in range(count):
                self._children.append(Child.start(_READER, self.environment, *words))

    def close(self) -> None:
        """Kill those that have no task."""
        while child := self._taken():
            child.end()

    def assign(self, task: Task, reports: Sequence[Snapshot]) -> subprocess.Popen[bytes] | None:
        """Give the task to a child that waits; None where none does."""
        while child := self._taken():
            with suppress(OSError):
                child.send_task(task.to_json(), reports)
                return child.process
            child.end()
        return None

    def _taken(self) -> Child | None:
        with suppress(IndexError):  # several threads call this; list.pop is atomic
            return self._children.pop(0)
        return None


class Children:
    """The processes that read reports now; ``kill`` ends them all when one fails for good or the user interrupts."""

    def __init__(self, kernel: str = "", prestarted: Sequence[PrestartedChildren] = ()) -> None:
        self._kernel = kernel
        self._prestarted = [each for each in prestarted if each.environment == self._environment]
        self._running: set[subprocess.Popen[bytes]] = set()
        self._given_up = threading.Event()

    def read(self, shards: Sequence[Shard], *, with_code: bool) -> list[Answer | Failure]:
        """Read the launches of shards that are of the kernel, in one process, which has the limits of one such shard.

        Of several shards, those after one at which the process failed have its failure too.

        Args:
            shards: At most ``MOST_REPORTS``.
            with_code: Whether sources and machine code are read too.

        Raises:
            ReportUnreadable: NVIDIA's reader is not installed or cannot start.
        """
        sizes = [launch.size for shard in shards for launch in shard.launches]
        task = Task(
            self._kernel,
            [
                (shard.start, [(launch.mangled, launch.code, launch.metrics) for launch in shard.launches])
                for shard in shards
            ],
            with_code=with_code,
            memory=min(_MEMORY + _MEMORY_PER_BYTE * sum(sizes), _MOST_MEMORY),
            cpu_s=ceil(LEAST_S + S_PER_MB * sum(sizes) / _MB),
        )
        run = _Run(LEAST_S + S_PER_MB * max(sizes) / _MB, _OUTPUT + _OUTPUT_PER_BYTE * sum(sizes))
        with self._started(task, [shard.report for shard in shards]) as child:
            self._running.add(child)
            if self._given_up.is_set():
                child.kill()
            try:
                run.follow(child)
            except BaseException:
                child.kill()
                raise
            finally:
                self._running.discard(child)
        return _outcomes(run, child.returncode, shards, task.cpu_s)

    @cached_property
    def _environment(self) -> dict[str, str]:
        return _environment(self._kernel)

    def _started(self, task: Task, reports: Sequence[Snapshot]) -> subprocess.Popen[bytes]:
        for each in self._prestarted:
            if waiting := each.assign(task, reports):
                return waiting
        try:
            child = Child.start(_READER, self._environment)
        except OSError as error:
            raise _cannot_start(str(error)) from error
        try:
            child.send_task(task.to_json(), reports)
        except BrokenPipeError:
            child.tasks.close()  # it ended at once; its stderr names the cause
        except OSError as error:
            child.end()
            raise _cannot_start(str(error)) from error
        return child.process

    def kill(self) -> None:
        """Kill all that run, and those that are about to start."""
        self._given_up.set()
        for child in tuple(self._running):
            child.kill()


class _Run:
    """The output of one child, as long as it makes progress."""

    def __init__(self, quiet_s: float, most_output: int) -> None:
        self._quiet_s, self._most_output = quiet_s, most_output
        self.written, self.said = bytearray(), bytearray()
        self.stopped, self.took_too_long = "", False

    def follow(self, child: subprocess.Popen[bytes]) -> None:
        """Read its output until it ends; kill it where it takes too long or writes too much."""
        held = self.written, self.said
        with streams_of(cast("IO[bytes]", child.stdout), cast("IO[bytes]", child.stderr)) as streams:
            while streams.open and not self.stopped:
                limit = self._quiet_s if has_begun(self.said) else START_S
                pieces = streams.next(limit)
                if not pieces:
                    self.stopped = self._too_long(limit)
                for number, piece in pieces:
                    held[number].extend(piece)
                if len(self.written) > self._most_output or len(self.said) > _MOST_SAID:
                    self.stopped = "made NVIDIA's reader give more than a report can hold"
            try:
                child.wait(0 if self.stopped else self._quiet_s)
            except subprocess.TimeoutExpired:
                self.stopped = self.stopped or self._too_long(self._quiet_s)
                child.kill()

    def _too_long(self, limit: float) -> str:
        self.took_too_long = True
        return f"took NVIDIA's reader more than {duration(1e9 * round(limit))}"


def _outcomes(run: _Run, code: int, shards: Sequence[Shard], cpu_s: int) -> list[Answer | Failure]:
    """The answers before the process failed, if it did; then the failure."""
    said = bytes(run.said)
    if not has_begun(said):
        raise _cannot_start(run.stopped or last_words(said) or _ended(code))
    short = bool(_SHORT_OF_MEMORY.search(said))
    failure = _failure(run, code, said, cpu_s, short=short)
    found: list[Answer | Failure] = []
    try:
        found += map(_checked, decode(bytes(run.written), len(shards)), shards)
    except ValueError as error:
        failure = failure or Failure(None, f"made NVIDIA's reader give no answer ({error})")
    if failure:
        kept = 0 if short else min(len(found), len(shards) - 1)
        found[kept:] = [failure] * (len(shards) - kept)
    return found


def _failure(run: _Run, code: int, said: bytes, cpu_s: int, *, short: bool) -> Failure | None:
    """How a process failed; None where it ended as it should."""
    at = last_launch(said)
    if run.stopped:
        return Failure(at, run.stopped, scarce=run.took_too_long)
    if code == -_SIGKILL:
        killed = f"was being read when NVIDIA's reader was killed ({_ended(code)}), as where memory runs out"
        return Failure(at, killed, scarce=True)
    if code == -_SIGXCPU:
        return Failure(at, f"took NVIDIA's reader more than {duration(1e9 * cpu_s)} of processor time", scarce=True)
    if code < 0:
        return Failure(at, f"crashed NVIDIA's reader ({_ended(code)})", scarce=short)
    if code:
        return Failure(at, f"made NVIDIA's reader fail ({last_words(said) or _ended(code)})", scarce=short)
    if short:  # NVIDIA's disassembler prints that and goes on, and then the code is missing
        return Failure(None, "was read with too little memory", scarce=True)
    return None


def _checked(answer: Answer, shard: Shard) -> Answer | Failure:
    """An answer that is about the launches of the shard, and no others."""
    total = answer.reading.total
    if total != shard.results:
        found = f"announces {shard.results:,} launches, of which NVIDIA's reader finds {total:,}"
        return Failure(None, found, scarce=not total)  # where memory is short, NVIDIA's reader finds none
    asked, given = range(shard.start, shard.stop), [*answer.reading.launches.index, *answer.lost]
    if len(set(given)) < len(given) or not all(each in asked for each in given):
        return Failure(None, "made NVIDIA's reader give launches that it was not asked for")
    return answer


def _cannot_start(why: str) -> ReportUnreadable:
    return ReportUnreadable(
        f"NVIDIA's reader of reports cannot start: {why}", hint="pip install --force-reinstall ncu-report"
    )


def _ended(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _environment(kernel: str) -> dict[str, str]:
    """The environment in which a child that looks for this kernel finds its modules, and nothing else of ours."""
    return environment_of((*_MODULES, "re2") if kernel.startswith(PREFIX) else _MODULES)


def environment_of(modules: Sequence[str]) -> dict[str, str]:
    """The environment in which a child finds these modules, and nothing else of ours.

    Raises:
        ReportUnreadable: One is not installed.
    """
    found = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(map(_folder_of, modules))), "LC_ALL": "C.UTF-8"}
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):  # else Python itself may not be found
        found["LD_LIBRARY_PATH"] = str(sysconfig.get_config_var("LIBDIR"))
    if IS_WINDOWS:  # Python does not start without it
        found["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    return found


def _folder_of(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ReportUnreadable(
            "ncu-report, NVIDIA's reader of reports, is not installed", hint="pip install ncu-report"
        )
    file = Path(spec.origin).resolve()
    return str(file.parents[1] if spec.submodule_search_locations else file.parent)
