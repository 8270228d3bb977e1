"""What a diagnosis costs beside ``ncu --set full``: one kernel, ten launches, and a program of 1,000 launches.

    python benchmarks/cost.py

Needs a GPU, ncu and nvcc; takes about ten minutes, most of it for ``--set full``. A diagnosis is the complete command
``ncuview analyze -- PROGRAM``, from the start of Python to the last line of its page. A program of many launches is
sampled (``--look quick``): a first run with one pass for at most nine launches per configuration and power of ten, a
second run for the launches that are worth it. ``--set full`` is run on 10 and on 100 launches, and what each of the 90
more took is what each of the other 900 would take. The aims are 0.5, 0.2 and 0.05.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ncuview.profiling.machine import find_ncu, find_nvcc
from ncuview.profiling.ncu import classify, ncu_command, run_ncu

SOURCE = Path(__file__).resolve().parent / "many_launches.cu"
REPEATS = 3
LAUNCHES, PART = 1000, 100
AIMS = {"one kernel": 0.5, "ten launches": 0.2, "1,000 launches": 0.05}
_PASSES = re.compile(r"^ncu: .*, (\d+) passes, ", re.MULTILINE)


class Bench:
    """Runs the program under ncu in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        ncu, nvcc = find_ncu(), find_nvcc()
        if ncu is None or nvcc is None:
            sys.exit("needs ncu and nvcc")
        self._ncu, self._folder, self._program = ncu, folder, folder / SOURCE.stem
        command = [str(nvcc), "-O3", "-arch=native", "-lineinfo", "-o", str(self._program), str(SOURCE)]
        subprocess.run(command, check=True)
        self.passes = self.page = ""

    def bare(self, *words: str) -> None:
        """The program alone."""
        subprocess.run([str(self._program), *words], check=True)

    def full(self, *words: str) -> None:
        """All that Nsight Compute collects."""
        report = self._folder / "full.ncu-rep"
        report.unlink(missing_ok=True)
        command = ncu_command(self._ncu, [], report, [str(self._program), *words])
        at = next(place for place, word in enumerate(command) if word.startswith("--metrics="))
        run = run_ncu([*command[:at], "--set=full", *command[at + 1 :]], cwd=self._folder, timeout_s=900)
        if failure := classify(run, report):
            raise failure
        self.passes = _counted(run.passes)

    def direct(self, *words: str) -> None:
        """Every launch with the metrics of all rules."""
        self._analyze("--look=full", *words)

    def sampled(self, *words: str) -> None:
        """Some launches of each configuration at a glance, and one of each that is worth it with all that it needs."""
        self._analyze("--look=quick", *words)

    def _analyze(self, look: str, *words: str) -> None:
        command = [sys.executable, "-m", "ncuview", "analyze", look, "--top=3", "--", str(self._program), *words]
        path = os.pathsep.join([str(SOURCE.parents[1]), os.environ.get("PYTHONPATH", "")])
        # As where it is installed: modules are compiled once, not every time.
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
        done = subprocess.run(
            command, cwd=self._folder, env=environment, capture_output=True, text=True, timeout=900, check=True
        )
        self.passes, self.page = _counted(map(int, _PASSES.findall(done.stderr))), done.stdout


def _counted(passes: Iterable[int]) -> str:
    return ", ".join(f"{launches} x {count}" for count, launches in Counter(passes).items())


def main() -> None:
    """Print one row for each way to run each program, and the ratio that is aimed at."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        few = {"one kernel": ("1", "1"), "ten launches": ("10",)}
        of_full = {}
        for name, words in few.items():
            of_full[name] = _row(bench, name, "ncu --set full", bench.full, words)
            _row(bench, name, "program alone", bench.bare, words)
            _ratio(name, _row(bench, name, "diagnosis", bench.direct, words), of_full[name])
        name, words = "1,000 launches", (str(LAUNCHES),)
        part = _row(bench, f"{PART} launches", "ncu --set full", bench.full, (str(PART),), repeats=1)
        ten = of_full["ten launches"]
        all_launches = ten + (part - ten) / (PART - 10) * (LAUNCHES - 10)
        print(f"{name:15} {'ncu --set full':16} {all_launches:8.2f} s  from {PART} launches")
        _row(bench, name, "program alone", bench.bare, words)
        _ratio(name, _row(bench, name, "diagnosis", bench.sampled, words, repeats=1), all_launches)
        print(bench.page)


def _row(
    bench: Bench, name: str, way: str, run: Callable[..., object], words: Sequence[str], repeats: int = REPEATS
) -> float:
    """Time one way and print it: the median, in seconds."""
    times = []
    bench.passes = ""
    for _ in range(repeats):
        started = time.perf_counter()
        run(*words)
        times.append(time.perf_counter() - started)
    median = statistics.median(times)
    print(f"{name:15} {way:16} {median:8.2f} s  {bench.passes}", flush=True)
    return median


def _ratio(name: str, seconds: float, full: float) -> None:
    print(f"{name:15} {seconds / full:.2f} of --set full; the aim is {AIMS[name]}")


if __name__ == "__main__":
    main()
