"""What ncuview takes for reports of very many launches: time, and memory of its process and of the largest child.

    python -m benchmarks.load [LAUNCHES ...] [--steps read page ...]

A report is a recorded one, its launches again and again: 10,000 are 204 MB. The steps are `read`, as a library does it,
and `ncuview analyze`: as it is (`diagnose`), with a page for browsers (`page`), with a JSON document (`json`), and with
both (`analyze`). Each is run in a fresh process. Memory is the peak of what each process has in RAM (VmHWM), as seen
every 20 ms. Beside the seconds stand those of the processors, all processes together, which depend less on what else
a machine does. Needs no GPU. `taskset -c 0,1` before the command gives it two cores.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reading import FAMILY, repeated
from ncuview.catalogue.kernels import recorded_report
from ncuview.reader.precheck import precheck, read_report

LAUNCHES = (1_000, 10_000, 100_000)
OUTPUTS: Mapping[str, Sequence[str]] = {
    "diagnose": (),
    "page": ("html",),
    "json": ("json",),
    "analyze": ("json", "html"),
}
"""Step -> what ``ncuview analyze`` writes in it."""
STEPS = ("read", *OUTPUTS)
DEFAULT_STEPS = ("read", "analyze")
MOST_SECONDS, MOST_OF_PARENT, MOST_OF_CHILD = 30, 500, 1_000
"""The aim for reading 10,000 launches on 2 cores, in s and MB."""
_LOOK_EVERY_S = 0.02
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)

_READ = "import sys, ncuview; assert len(ncuview.read(sys.argv[1]).launches) == int(sys.argv[2])"


@dataclass(frozen=True)
class Taken:
    """What a command took: s, and peaks in MB."""

    seconds: float
    cpu: float
    """Of all its processes together."""
    parent: float
    child: float
    """The largest process below it; 0 without one."""


def main(counts: Sequence[int], chosen: Sequence[str]) -> None:
    """Print a row for each number of launches and each step that is chosen."""
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} before; s, and peaks in MB")
    print(f"aim for reading 10,000: {MOST_SECONDS} s, parent {MOST_OF_PARENT}, child {MOST_OF_CHILD}\n")
    heads = f"{'seconds':>8} {'cpu s':>7} {'parent':>7} {'child':>7}"
    print(f"{'launches':>8} {'report MB':>9}  {'step':8} {heads}  written MB")
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="ncuview-load-") as folder:
            report = Path(folder, "many.ncu-rep")
            write_report(report, count)
            for step in chosen:
                for old in Path(folder).glob("out.*"):
                    old.unlink()
                taken = measured(command(step, report, count))
                sizes = [f"{path.suffix[1:]} {_mb(path.stat().st_size)}" for path in sorted(Path(folder).glob("out.*"))]
                row = f"{count:8,} {_mb(report.stat().st_size):>9}  {step:8} {taken.seconds:8.1f} {taken.cpu:7.1f}"
                print(f"{row} {taken.parent:7.0f} {taken.child:7.0f}  {', '.join(sizes)}", flush=True)


def write_report(path: Path, launches: int) -> None:
    """Write a report of so many launches, of which no more than one round is in memory."""
    recorded = recorded_report(FAMILY)
    report, own = read_report(recorded), precheck(recorded).results
    once = repeated(report, min(own, launches))
    rounds, rest = divmod(max(0, launches - own), own)
    with path.open("wb") as file:
        file.write(once)
        another = repeated(report, 2 * own)[len(once) :]
        for _ in range(rounds):
            file.write(another)
        if rest:
            file.write(repeated(report, own + rest)[len(once) :])


def command(step: str, report: Path, launches: int) -> Sequence[str]:
    """What runs one of ``STEPS``."""
    if step == "read":
        return [sys.executable, "-c", _READ, str(report), str(launches)]
    outputs = [word for ending in OUTPUTS[step] for word in ("--output", str(report.with_name(f"out.{ending}")))]
    return [sys.executable, "-m", "ncuview", "analyze", str(report), *outputs, "--top", "5"]


def measured(argv: Sequence[str]) -> Taken:
    """Run a command to its end and watch the memory of all its processes.

    Raises:
        CalledProcessError: It failed.
    """
    started, before = time.perf_counter(), _cpu()
    peaks: defaultdict[int, int] = defaultdict(int)
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            for each in _family(process.pid):
                peaks[each] = max(peaks[each], _peak(each))
            time.sleep(_LOOK_EVERY_S)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv)
    parent = peaks.pop(process.pid, 0)
    return Taken(seconds, _cpu() - before, parent / 1024, max(peaks.values(), default=0) / 1024)


def _cpu() -> float:
    """What the processes that have ended took of the processors, in s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(process: int) -> Iterator[int]:
    """A process and all below it that have started a program; until then a child's memory is its parent's."""
    yield process
    own = _told(process, "cmdline")
    for thread in Path("/proc", str(process), "task").glob("*"):
        for child in map(int, _told(process, f"task/{thread.name}/children").split()):
            if _told(child, "cmdline") != own:
                yield from _family(child)


def _peak(process: int) -> int:
    """The most that a process had in RAM so far, in kB; 0 when it has ended."""
    found = _PEAK.search(_told(process, "status"))
    return int(found[1]) if found else 0


def _told(process: int, what: str) -> str:
    """What the system says of a process; nothing when it has ended."""
    try:
        return Path("/proc", str(process), what).read_text()
    except OSError:
        return ""


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f}"


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("launches", nargs="*", type=lambda text: int(text.replace(",", "")), default=LAUNCHES)
    words.add_argument("--steps", nargs="+", choices=STEPS, default=DEFAULT_STEPS)
    given = words.parse_args()
    main(given.launches, given.steps)
