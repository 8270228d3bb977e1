"""Kill those who write files at random moments: each file is the old or the new one, and nothing stays beside it.

    python -m fuzz.kill_writers [KILLS] [SEED]

Every kind of file that ncuview leaves is written by a process of its own, over an old file or where there was none,
and the process is killed (SIGKILL) at a random moment of that. Then the old file is written again, and what is in the
folder is compared with what it should hold. A process that is done before it is killed does not count.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from ncuview.api import load_rules
from ncuview.base.errors import NcuviewError
from ncuview.base.report_files import seal
from ncuview.catalogue.kernels import recorded_report
from ncuview.engine.rank import diagnose
from ncuview.gate.baseline import baseline_of, save_baseline
from ncuview.gate.spread import Spreads
from ncuview.reader.reader import read
from ncuview.reader.scrub import scrub
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import Attained, Calibration
from ncuview.render.outputs import output_text, write_output
from ncuview.speedup.attainable import save_calibration

KILLS, SEED = 500, 1
FAMILIES = ("transpose", "matmul")
"""Whose recorded profiles the old and the new files are made from."""
_LATEST = 1.2
"""The latest moment of a kill, as a share of the time that an undisturbed write takes."""

Found = Literal["ended", "old", "new", "mixed"]
"""What was there after the kill: as before, the new file, something else; or the process was done before."""


@dataclass(frozen=True)
class Writer:
    """Something that writes a file.

    Attributes:
        file: The file's name.
        write: Writes one of two versions, 0 or 1, to a path.
        raises: What it raises when it cannot.
    """

    name: str
    file: str
    write: Callable[[Path, int], object]
    raises: tuple[type[Exception], ...] = (NcuviewError,)

    def written(self, version: int) -> Mapping[str, bytes]:
        """What writing a version leaves in an empty folder: file -> what it holds."""
        with tempfile.TemporaryDirectory() as folder:
            self.write(Path(folder, self.file), version)
            return _files(Path(folder))


@dataclass(frozen=True)
class Trial:
    """What one kill did.

    Attributes:
        partial: Whether part of the new file lay beside it after the kill.
        left: Whether the folder held anything else after the next write than it does without a kill.
    """

    found: Found
    partial: bool
    left: bool


def writers() -> Sequence[Writer]:
    """All who write files that stay."""
    diagnoses = [_recorded(family) for family in FAMILIES]
    texts = {to: [output_text(each, None, to) for each in diagnoses] for to in ("json", "html")}
    baselines = [baseline_of(each, [Settings()], Spreads(), "0") for each in diagnoses]
    tables = [Calibration("GPU", day, {"dram": Attained(0.7, 0.8, 0.9, "dramRead")}, {}) for day in ("old", "new")]
    reports = [recorded_report(family) for family in FAMILIES]
    return (
        Writer("output, JSON", "a.json", lambda path, version: write_output(path, texts["json"][version])),
        Writer("output, HTML", "a.html", lambda path, version: write_output(path, texts["html"][version])),
        Writer("baseline", "main.json", lambda path, version: save_baseline(baselines[version], path)),
        Writer("attainable table", "attainable.toml", lambda path, version: save_calibration(tables[version], path)),
        Writer("scrubbed report", "a.ncu-rep", lambda path, version: scrub(reports[version], path)),
        Writer("scrubbed report, packed", "a.ncu-repz", lambda path, version: scrub(reports[version], path)),
        Writer(
            "checksum of a report",
            "a.ncu-repz.sha256",
            lambda path, version: _seal_copy(reports[version], path),
            (NcuviewError, OSError),
        ),
    )


def _seal_copy(report: Path, path: Path) -> None:
    """Seal a report of the name that belongs to the checksum at this path."""
    copy = path.with_suffix("")
    copy.write_bytes(report.read_bytes())
    seal(copy)


def _recorded(family: str) -> Diagnosis:
    return diagnose(read([recorded_report(family)]), load_rules())


def trials(writer: Writer, seed: int) -> Iterator[Trial]:
    """Kill after kill, without end."""
    chance = random.Random(seed)
    versions = [writer.written(version) for version in (0, 1)]
    longest = max(_undisturbed(writer) for _ in range(3))
    while True:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, writer.file)
            if chance.random() < 0.5:
                writer.write(path, 0)
            yield _trial(writer, path, versions, chance.uniform(0, _LATEST * longest))


def _undisturbed(writer: Writer) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        _wait(_started(lambda: writer.write(Path(folder, writer.file), 1)))
        return time.perf_counter() - started


def _trial(writer: Writer, path: Path, versions: Sequence[Mapping[str, bytes]], moment: float) -> Trial:
    before = _files(path.parent)
    process = _started(lambda: writer.write(path, 1))
    time.sleep(moment)
    os.kill(process, signal.SIGKILL)
    killed = _wait(process)
    after = _files(path.parent)
    writer.write(path, 0)
    partial, left = bool(after.keys() - versions[1].keys()), _files(path.parent) != versions[0]
    if not killed:
        return Trial("ended", partial, left)
    old, new, found = (files.get(path.name) for files in (before, versions[1], after))
    return Trial("new" if found == new else "old" if found == old else "mixed", partial, left)


def _files(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _started(work: Callable[[], object]) -> int:
    """A process that does this and nothing else."""
    with warnings.catch_warnings():  # of threads, which NumPy has and which do nothing here
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return process


def _wait(process: int) -> bool:
    """Whether it was killed before it was done."""
    _, status = os.waitpid(process, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise SystemExit("a writer failed by itself")
    return os.WIFSIGNALED(status)


def main(kills: Annotated[int, typer.Argument()] = KILLS, seed: Annotated[int, typer.Argument()] = SEED) -> None:
    """Print a row for each writer, and whether all is well."""
    every = writers()
    print(f"{kills} kills, seed {seed}\n")
    print(f"{'writer':24} {'kills':>6} {'old':>6} {'new':>6} {'mixed':>6} {'partial file':>13} {'left after':>11}")
    total: Counter[str] = Counter()
    for at, writer in enumerate(every):
        share = kills // len(every) + (at < kills % len(every))
        counts = counted(writer, share, seed)
        total += counts
        _row(writer.name, counts)
    _row("all", total)
    if total["mixed"] or total["left"]:
        raise SystemExit("files were damaged, or something was left beside them")


def counted(writer: Writer, kills: int, seed: int) -> Counter[str]:
    """How often each thing was found after so many kills of one writer."""
    counts: Counter[str] = Counter()
    for trial in trials(writer, seed):
        counts["left"] += trial.left
        if trial.found != "ended":
            counts.update({"kills": 1, trial.found: 1, "partial": trial.partial})
        if counts["kills"] >= kills:
            break
    return counts


def _row(name: str, counts: Counter[str]) -> None:
    words = [f"{counts[what]:>6,}" for what in ("kills", "old", "new", "mixed")]
    print(f"{name:24} {' '.join(words)} {counts['partial']:>13,} {counts['left']:>11,}", flush=True)


if __name__ == "__main__":
    typer.run(main)
