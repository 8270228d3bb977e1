"""Kill those who add reports to a store at random moments: it stays readable, loses nothing and doubles nothing.

    python -m fuzz.kill_store [KILLS] [SEED] [--workers]

Two runs add the same reports to one store at the same time, and one of them is killed (SIGKILL) at a random moment. The
store must then open, hold each report completely and once, and hold as many as either run had reported as added. The
other run must end well, and a third one adds what is missing. Each run merges two batches of a size at once. Profiles
are read and judged once, before; with ``--workers`` the runs are ``ncuview store add`` with its processes, which takes
a minute for ten kills.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

import typer

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
_SESSION, _CREATED = 3, 2


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
    return store_batch.judged(Task("", (found,)), found)


def _judged(_: Task, report: Identified) -> JudgedReport:
    return replace(_judged_once(), content=report.content)


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

    def wait(self) -> tuple[int, int]:
        """The exit code, negative for a signal, and how many reports it reported as added."""
        with os.fdopen(self._reads, "rb") as reported:
            count = len(reported.read())
        _, status = os.waitpid(self._process, 0)
        return os.waitstatus_to_exitcode(status), count


class Commanded:
    """A run of ``ncuview store add`` with processes that read and judge."""

    def __init__(self, reports: Path, to: Path) -> None:
        words = ["-m", "ncuview", "store", "add", str(reports), "--to", str(to), "--processes", str(REPORTS // 2)]
        self._process = subprocess.Popen(
            [sys.executable, *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )

    def kill(self) -> None:
        """End it with SIGKILL; its workers end with it."""
        self._process.kill()

    def wait(self) -> tuple[int, int]:
        """As for ``Forked``."""
        _, said = self._process.communicate()
        done = [int(line.split(" of ")[0]) for line in said.splitlines() if line.endswith("new reports are done")]
        return self._process.returncode, max(done, default=0)


Run = type[Forked] | type[Commanded]


def trials(run: Run, seed: int) -> Iterator[Trial]:
    """Kill after kill, without end."""
    chance = random.Random(seed)
    data = read_report(REPORT)
    launches = len(_judged_once().diagnosis.launches)
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder, "reports")
        reports.mkdir()
        for number in range(REPORTS):
            (reports / f"{number}.ncu-rep").write_bytes(changed_copy(data, number))
        contents = {hashlib.sha256(changed_copy(data, number)).hexdigest(): launches for number in range(REPORTS)}
        longest = max(_undisturbed(run, reports, Path(folder, f"store{attempt}")) for attempt in range(2))
        number = 0
        while True:
            number += 1
            yield _trial(run, reports, Path(folder, f"s{number}"), contents, chance.uniform(0, _LATEST * longest))


def _undisturbed(run: Run, reports: Path, to: Path) -> float:
    started = time.perf_counter()
    one, other = run(reports, to), run(reports, to)
    if one.wait()[0] or other.wait()[0]:
        raise SystemExit("a run failed by itself")
    return time.perf_counter() - started


def _trial(run: Run, reports: Path, to: Path, expected: Mapping[str, int], moment: float) -> Trial:
    victim, other = run(reports, to), run(reports, to)
    time.sleep(moment)
    victim.kill()
    code, reported = victim.wait()
    wrong = _wrong(to, expected, reported)
    there = len(_held(to))
    ended, all_reported = other.wait()
    wrong += [f"the other run ended with {ended}"] if ended else []
    wrong += _wrong(to, expected, max(reported, all_reported))
    after, _ = run(reports, to).wait()
    wrong += [f"the run after it ended with {after}"] if after else []
    wrong += [] if _held(to) == expected else ["the run after it left reports out"]
    return Trial(code < 0, tuple(wrong), there)


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


def counted(run: Run, kills: int, seed: int) -> Counter[str]:
    """How often each thing was found after so many kills."""
    counts: Counter[str] = Counter()
    for trial in trials(run, seed):
        counts["ended"] += not trial.killed
        counts.update(trial.wrong)
        if trial.killed:
            counts.update({"kills": 1, "wrong": bool(trial.wrong), f"{trial.there} of {REPORTS} reports there": 1})
        if counts["kills"] >= kills:
            break
    return counts


def main(
    kills: Annotated[int, typer.Argument()] = KILLS,
    seed: Annotated[int, typer.Argument()] = SEED,
    workers: Annotated[bool, typer.Option("--workers", help="Run the command with its processes.")] = False,
) -> None:
    """Print what was found after the kills, and whether all is well."""
    started = time.perf_counter()
    counts = counted(Commanded if workers else Forked, kills, seed)
    print(f"{kills} kills, seed {seed}, {time.perf_counter() - started:.0f} s")
    for what, number in sorted(counts.items()):
        print(f"{number:>6,} {what}")
    if counts["wrong"]:
        raise SystemExit("reports were lost or doubled")


if __name__ == "__main__":
    typer.run(main)
