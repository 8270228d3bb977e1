"""Interrupt the command line at random moments of a run, and see what is left behind.

    python -m fuzz.interrupt --count 100 --record fuzz/interrupted.txt

Each run is ``python -m ncuview analyze --export ... -- program`` under a played ncu, which starts the program, profiles
one launch after the other and, in every other run, is deaf to requests to end, as the program is then. SIGINT, SIGTERM
or SIGKILL goes to ncuview at a random moment, in one run of five while it starts, else up to three seconds after it has
made ncu's folder. Once all is gone, or 25 seconds later, processes are looked for that bear the run's mark in their
environment, whoever their parent is by then, and files below the run's folders. Needs neither GPU nor ncu.

Counted apart: folders for temporary files that a run had made and not yet handed to ncu's guard when SIGKILL came, and
those that functions travel in. No process is left then that knows of them.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 25.0
MARK = "NCUVIEW_MARKED_RUN"
"""The variable of the environment by which the processes of a run are known."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)

NVIDIA_SMI = """#!/bin/sh
echo '<?xml version="1.0" ?><nvidia_smi_log><driver_version>580.65</driver_version><gpu id="0">'
echo '<product_name>NVIDIA H200</product_name></gpu></nvidia_smi_log>'
"""
NCU = """#!{python} -IS
import os, signal, subprocess, sys, time
from pathlib import Path
deaf = {deaf}
# Not tempfile, which writes a file to find a folder: killed there, it would leave that.
tracker = Path(os.environ["TMPDIR"]) / f"NVIDIA-treetracker-{{os.getpid()}}"
if sys.argv[1:] == ["--clock-control=reset"]:
    sys.exit()
program = sys.argv[next(at for at, word in enumerate(sys.argv) if at and word[0] == "/"):]
tracker.touch()
app = subprocess.Popen(program)
def ended(*_):
    app.terminate()
    tracker.unlink(missing_ok=True)
    os._exit(9)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN if deaf else ended)
print("==PROF== Connected to process", app.pid, flush=True)
for launch in range(1000):
    print(f'==PROF== Profiling "copy" - {{launch}}: 0%', end="", flush=True)
    time.sleep(0.3)
    print("....50%....100% - 6 passes", flush=True)
"""
APP = """#!{python} -IS
import os, signal, subprocess, sys, time
if {deaf}:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) == 1:
    subprocess.Popen([sys.argv[0], "child"])
    subprocess.Popen([sys.argv[0], "daemon"], start_new_session=True)
time.sleep(600)
"""


@dataclass(frozen=True)
class Interrupted:
    """What one interrupted run left."""

    signal: signal.Signals
    under_ncu: bool
    """ncu was at work."""
    deaf: bool
    returncode: int
    gone_after_s: float
    processes: tuple[str, ...]
    files: tuple[str, ...]
    library_folders: int


def main() -> None:
    """Interrupt so many runs, several at once, and print and record what was left."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--record", type=Path)
    chosen = parser.parse_args()
    found = interrupt(chosen.count, chosen.seed, chosen.at_once)
    table = _table(found)
    print(table)
    if chosen.record:
        chosen.record.write_text(table + "\n", encoding="utf-8")
    sys.exit(any(run.processes or run.files for run in found))


def interrupt(count: int, seed: int, at_once: int) -> list[Interrupted]:
    """Interrupt so many runs at moments that the seed chooses."""
    from concurrent.futures import ThreadPoolExecutor

    # A shell starts background jobs deaf to SIGINT, and they all that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    moments = random.Random(seed)
    plans = [(at, SIGNALS[at % 3], moments.uniform(0.0, 3.0), at % 2 == 1, at % 5 != 4) for at in range(count)]
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda plan: _interrupted(*plan), plans))


def _interrupted(number: int, how: signal.Signals, after_s: float, deaf: bool, under_ncu: bool) -> Interrupted:
    with tempfile.TemporaryDirectory(prefix="interrupted-") as text:
        folder, mark = Path(text), f"{os.getpid()}-{number}"
        for name in ("bin", "out", "tmp"):
            (folder / name).mkdir()
        python = os.path.realpath(sys.executable)
        for name, script in (("ncu", NCU), ("app", APP), ("nvidia-smi", NVIDIA_SMI)):
            file = folder / "bin" / name
            file.write_text(script if name == "nvidia-smi" else script.format(python=python, deaf=deaf))
            file.chmod(0o755)
        environment = {**os.environ, MARK: mark, "TMPDIR": str(folder / "tmp")}
        environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
        words = ["analyze", "--clock-control", "base", "--export", str(folder / "out" / "mine"), "--", "app"]
        ncuview = subprocess.Popen(
            [sys.executable, "-m", "ncuview", *words],
            env=environment,
            cwd=Path(__file__).resolve().parents[1],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while under_ncu and ncuview.poll() is None and not any((folder / "out").iterdir()):
            time.sleep(0.02)
        time.sleep(after_s)
        ran = any("ncu-rep" in what for what in marked(mark).values())
        ncuview.send_signal(how)
        sent = time.monotonic()
        while (left := marked(mark)) and time.monotonic() - sent < PATIENCE_S:
            ncuview.poll()
            time.sleep(0.1)
        took = time.monotonic() - sent
        for process in left:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        code = ncuview.wait(PATIENCE_S)
        made = [path for path in sorted(folder.rglob("*")) if path.parent != folder and path.parent.name != "bin"]
        of_library = [path for path in made if path.parent.name == "tmp" and path.name.startswith("ncuview-")]
        others = [str(path.relative_to(folder)) for path in made if path not in of_library]
        return Interrupted(how, ran, deaf, code, took, tuple(left.values()), tuple(others), len(of_library))


def marked(mark: str) -> dict[int, str]:
    """The running processes of a run, whoever their parent is by now, and what they run."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            ended = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0] in b"ZX"
            if not ended and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def _table(found: list[Interrupted]) -> str:
    head = f"{'signal':8} {'ncu':6} {'runs':>5} {'ncu ran':>8} {'processes left':>15} {'files left':>11}"
    head += f" {'slowest s':>10}  exit codes"
    lines = [head]
    for how in SIGNALS:
        for deaf in (False, True):
            runs = [run for run in found if (run.signal, run.deaf) == (how, deaf)]
            if runs:
                codes = Counter(run.returncode for run in runs)
                lines.append(
                    f"{how.name:8} {'deaf' if deaf else 'obeys':6} {len(runs):5} "
                    f"{sum(run.under_ncu for run in runs):8} {sum(len(run.processes) for run in runs):15} "
                    f"{sum(len(run.files) for run in runs):11} {max(run.gone_after_s for run in runs):10.1f}  "
                    + ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
                )
    lines.append(
        f"{len(found)} runs; processes left in {sum(bool(run.processes) for run in found)}, "
        f"files in {sum(bool(run.files) for run in found)}; "
        f"temporary folders left by SIGKILL: {sum(run.library_folders for run in found)}"
    )
    lines += [f"left: {what}" for run in found for what in (*run.processes, *run.files)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
