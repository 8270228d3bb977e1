"""Kill those who add reports to a store at random moments: it stays readable, loses nothing and doubles nothing.

    python -m fuzz.kill_store [KILLS] [SEED] [--run NAME] [--log FILE] [--minutes N]

Two runs add the same reports to one store at the same time, and one of them is killed (SIGKILL) at a random moment. The
store must then open, hold each report completely and once, and hold as many as either run had reported as added. The
other run must end well, and a third one adds what is missing. ``--run`` says what is killed:

- ``fork``: a process that writes and publishes, of profiles that were read and judged before, and merges two batches;
- ``command``: ``ncuview store add`` with its worker processes, which end with it;
- ``dask``: ``ncuview store add --scheduler``, whose workers go on;
- ``dask-worker``: one of the two workers of the cluster; both runs must end well.

A run that does not end in two minutes is wrong too. With ``--log`` each trial is a line of a file, and a further call
with the same file goes on after its last trial.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol, Self

import typer

from fuzz.dask_processes import DaskProcesses, dask_processes
from ncuview import store
from ncuview.base.errors import ReportEmpty
from ncuview.base.paths import shipped
from ncuview.pipeline import store_add, store_batch
from ncuview.pipeline.store_add import add_reports
from ncuview.pipeline.store_batch import Identified, Named, Task
from ncuview.reader import wire
from ncuview.reader.precheck import read_report
from ncuview.store import compaction
from ncuview.store.rows import JudgedReport

KILLS, SEED = 200, 1
REPORTS = 4
REPORT = shipped("kernels") / "transfers" / "h200.ncu-repz"
_LATEST = 1.2
"""The latest moment of a kill, as a share of the time that an undisturbed run takes."""
_LONGEST_S = 120
"""Of a run of the command; one that takes longer hangs."""
_MOST_SAID = 2_000
_SESSION, _CREATED = 3, 2
Kind = Literal["fork", "command", "dask", "dask-worker"]


def changed_copy(data: bytes, number: int) -> bytes:
    """A report with another time of creation, of the same length: the same launches, with another content."""
    copy = bytearray(data)
    for block in wire.blocks(data):
        for session in wire.contents(data, block.header, _SESSION):
            for field in wire.fields(data, session):
                if field.number == _CREATED:
                    copy[field.body] = copy[field.body] & 0x80 | number & 0x7F
                    copy[field.body + 1] = copy[field.body + 1] & 0x80 | number >> 7 & 0x7F
    return bytes(copy)


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    """Its exit code, negative for a signal."""
    reported: int
    """How many reports it reported as added."""
    disturbed: bool
    """Whether it, or a worker while it was going on, was killed."""
    said: str = ""
    """The end of what it wrote to its standard error."""


class Running(Protocol):
    """A run that adds reports."""

    def kill(self) -> None:
        """Kill it, or one that works for it, with SIGKILL."""

    def wait(self) -> Ended:
        """Wait for its end."""


Run = Callable[[Path, Path], Running]
"""Starts to add the reports of a folder to a store."""


@dataclass(frozen=True)
class Trial:
    """What one kill did."""

    killed: bool
    """Whether the run was still going on."""
    wrong: tuple[str, ...]
    """What of the store is not as it must be."""
    there: int
    """The reports in the store after the kill."""


class _Here:
    """Makes the calls of a run in its own process."""

    count = REPORTS

    def __init__(self, *_: int) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def results(self, function: Callable[[Any], Any], arguments: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        return ((argument, function(argument)) for argument in arguments)


@cache
def _judged_once() -> JudgedReport:
    (found,) = store_batch.identified([Named(REPORT, "a", "")])
    assert isinstance(found, Identified)
    (judged,) = store_batch.judged(Task("", (found,)))
    assert isinstance(judged, JudgedReport)
    return judged


def _judged(task: Task) -> Iterator[JudgedReport]:
    return (replace(_judged_once(), content=report.content) for report in task.reports)


def _add_here(reports: Path, to: Path, reported: int) -> None:
    """Add reports in this process, and write a byte for each that is reported as added."""
    setattr(store_add, "Workers", _Here)  # noqa: B010  (another class)
    setattr(store_batch, "judged", _judged)  # noqa: B010
    setattr(compaction, "MANY", 2)  # noqa: B010  (so that each run merges)
    add_reports(reports, to=to, progress=lambda *_: os.write(reported, b"+"))


class Forked:
    """A run in a process of its own, which does nothing else."""

    def __init__(self, reports: Path, to: Path) -> None:
        self._reads, writes = os.pipe()
        with warnings.catch_warnings():  # of threads, which NumPy has and which do nothing here
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process = os.fork()
        if self._process == 0:
            status = 1
            try:
                _add_here(reports, to, writes)
                status = 0
            finally:
                os._exit(status)
        os.close(writes)

    def kill(self) -> None:
        """End it with SIGKILL."""
        os.kill(self._process, signal.SIGKILL)

    def wait(self) -> Ended:
        """Wait for its end."""
        with os.fdopen(self._reads, "rb") as reported:
            count = len(reported.read())
        _, status = os.waitpid(self._process, 0)
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, count, code < 0)


class Commanded:
    """A run of ``ncuview store add`` with these options."""

    def __init__(self, reports: Path, to: Path, options: tuple[str, ...] = ("--processes", str(REPORTS // 2))) -> None:
        words = ["-m", "ncuview", "store", "add", str(reports), "--to", str(to), *options]
        self._process = subprocess.Popen(
            [sys.executable, *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )

    @property
    def is_going_on(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it with SIGKILL; its workers end with it."""
        self._process.kill()

    def wait(self) -> Ended:
        """Wait for its end, which comes by SIGABRT where it hangs."""
        try:
            _, said = self._process.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)
            _, said = self._process.communicate()
        done = [int(line.split(" of ")[0]) for line in said.splitlines() if line.endswith("new reports are done")]
        code = self._process.returncode
        return Ended(code, max(done, default=0), code == -signal.SIGKILL, said[-_MOST_SAID:])


class WithKilledWorker(Commanded):
    """A run of ``ncuview store add`` on a cluster of two workers, of which one is killed instead of it."""

    def __init__(self, cluster: DaskProcesses, chance: random.Random, reports: Path, to: Path) -> None:
        self._chosen = chance.choice(sorted(cluster.wait_for(2).values()))
        self._disturbed = False
        super().__init__(reports, to, ("--scheduler", cluster.address))

    def kill(self) -> None:
        """End a worker with SIGKILL."""
        self._disturbed = self.is_going_on
        os.kill(self._chosen, signal.SIGKILL)

    def wait(self) -> Ended:
        """Wait for its end."""
        return super().wait()._replace(disturbed=self._disturbed)


@contextmanager
def runs(kind: Kind, seed: int) -> Iterator[Run]:
    """What starts a run of this kind."""
    if kind == "fork":
        yield Forked
    elif kind == "command":
        yield Commanded
    else:
        with dask_processes(2) as cluster:
            if kind == "dask":
                yield partial(Commanded, options=("--scheduler", cluster.address))
            else:
                yield partial(WithKilledWorker, cluster, random.Random(seed))


def trials(run: Run, seed: int, first: int = 0) -> Iterator[Trial]:
    """Kill after kill, without end, from the trial with this number on."""
    data = read_report(REPORT)
    launches = len(_judged_once().diagnosis.launches)
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder, "reports")
        reports.mkdir()
        for number in range(REPORTS):
            (reports / f"{number}.ncu-rep").write_bytes(changed_copy(data, number))
        contents = {hashlib.sha256(changed_copy(data, number)).hexdigest(): launches for number in range(REPORTS)}
        usual = min(_undisturbed(run, reports, Path(folder, f"store{attempt}")) for attempt in range(2))
        for number in count(first):
            moment = random.Random(f"{seed} {number}").uniform(0, _LATEST * usual)
            to = Path(folder, f"s{number}")
            yield _trial(run, reports, to, contents, moment)
            shutil.rmtree(to, ignore_errors=True)


def _undisturbed(run: Run, reports: Path, to: Path) -> float:
    started = time.perf_counter()
    one, other = run(reports, to), run(reports, to)
    if one.wait().code or other.wait().code:
        raise SystemExit("a run failed by itself")
    return time.perf_counter() - started


def _trial(run: Run, reports: Path, to: Path, expected: Mapping[str, int], moment: float) -> Trial:
    victim, other = run(reports, to), run(reports, to)
    time.sleep(moment)
    victim.kill()
    killed = victim.wait()
    wrong = _wrong(to, expected, killed.reported)
    there = len(_held(to))
    ended = other.wait()
    wrong += [] if killed.code in {0, -signal.SIGKILL} else [f"the killed run ended with {killed.code}: {killed.said}"]
    wrong += [f"the other run ended with {ended.code}: {ended.said}"] if ended.code else []
    wrong += _wrong(to, expected, max(killed.reported, ended.reported))
    after = run(reports, to).wait()
    wrong += [f"the run after it ended with {after.code}: {after.said}"] if after.code else []
    wrong += [] if _held(to) == expected else ["the run after it left reports out"]
    return Trial(killed.disturbed, tuple(wrong), there)


def _wrong(to: Path, expected: Mapping[str, int], reported: int) -> list[str]:
    """What of a store is not as it must be."""
    held = _held(to)
    wrong = [f"{content} has {count} launches" for content, count in held.items() if expected.get(content) != count]
    return [*wrong, f"{reported} were reported, {len(held)} are there"] if len(held) < reported else wrong


def _held(to: Path) -> dict[str, int]:
    """The launches of each report, counted in every table of launches."""
    try:
        with store.open(to) as opened:
            rows = opened.sql(
                "SELECT content, count(*), (SELECT count(*) FROM metrics m WHERE m.report = r.report) "
                "FROM reports r JOIN launches USING (report) GROUP BY content, r.report"
            ).fetchall()
            reports = opened.sql("SELECT count(*) FROM reports").fetchall()[0][0]
    except ReportEmpty:  # nothing is published yet
        return {}
    if reports != len(rows):
        return {"reports that have no launches, or are there twice": reports}
    return {content: count if count == metrics else -1 for content, count, metrics in rows}


def counted(kind: Kind, kills: int, seed: int, log: Path | None = None, minutes: float = math.inf) -> Counter[str]:
    """How often each thing was found after so many kills, those of the log too, or in so many minutes."""
    counts: Counter[str] = Counter()
    lines = log.read_text().splitlines() if log and log.exists() else []
    for line in lines:
        _count(counts, Trial(**json.loads(line)))
    end = time.monotonic() + 60 * minutes
    if counts["kills"] >= kills:
        return counts
    with runs(kind, seed + len(lines)) as run:
        for trial in trials(run, seed, len(lines)):
            _count(counts, trial)
            if log:
                with log.open("a") as file:
                    file.write(json.dumps(asdict(trial)) + "\n")
            if counts["kills"] >= kills or time.monotonic() > end:
                break
    return counts


def _count(counts: Counter[str], trial: Trial) -> None:
    counts.update({"ended": not trial.killed, "kills": trial.killed, "wrong": bool(trial.wrong)})
    counts.update(trial.wrong)
    if trial.killed:
        counts[f"{trial.there} of {REPORTS} reports there"] += 1


def main(
    kills: Annotated[int, typer.Argument()] = KILLS,
    seed: Annotated[int, typer.Argument()] = SEED,
    run: Annotated[Kind, typer.Option(help="What is killed.")] = "fork",
    log: Annotated[
        Path | None, typer.Option(help="One line for each trial; those that it has are not repeated.")
    ] = None,
    minutes: Annotated[float, typer.Option(help="After how long no further trial begins.")] = math.inf,
) -> None:
    """Print what was found after the kills, and whether all is well."""
    started = time.perf_counter()
    counts = counted(run, kills, seed, log, minutes)
    print(f"{counts['kills']} kills of {run}, seed {seed}, {time.perf_counter() - started:.0f} s")
    for what, number in sorted(counts.items()):
        print(f"{number:>6,} {what}")
    if counts["wrong"]:
        raise SystemExit("reports were lost or doubled")


if __name__ == "__main__":
    typer.run(main)
