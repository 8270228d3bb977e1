"""Count the passes of sets of metrics on this GPU, and write what ``ncuview/profiling/passes.toml`` holds.

    python benchmarks/passes.py ncuview/profiling/passes.toml

Needs a GPU, ncu and nvcc; takes about two minutes. Each set is collected on one small launch, and ncu says how many
passes it made. The sets are the metrics that every rule and textbook metric needs, by collector; the hardware counters
of each unit alone; those of the first look; and all hardware counters without one, which shows which of them costs a
pass. A set without one counter is written only where it took fewer passes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import typer

from ncuview.api import load_rules
from ncuview.engine.plan import first_look_metrics, metrics_for
from ncuview.profiling.machine import find_ncu, find_nvcc, ncu_version
from ncuview.profiling.ncu import classify, ncu_command, run_ncu
from ncuview.profiling.passes import COLLECTORS, collector_of, sampling_metrics
from ncuview.reader.reader import read

SOURCE = Path(__file__).resolve().parent / "many_launches.cu"
_HEAD = """\
# Sets of metrics and the passes that ncu took for them; `python benchmarks/passes.py` measures them and writes this
# file. No entry mixes what hardware counters, warp samples, counters of instructions and instrumented code give:
# these never share a pass.
"""


class Counter:
    """Counts passes of one small launch."""

    def __init__(self, folder: Path) -> None:
        ncu, nvcc = find_ncu(), find_nvcc()
        if ncu is None or nvcc is None:
            sys.exit("needs ncu and nvcc")
        self._ncu, self._program, self._folder = ncu, folder / SOURCE.stem, folder
        command = [str(nvcc), "-O3", "-arch=native", "-lineinfo", "-o", str(self._program), str(SOURCE)]
        subprocess.run(command, check=True)
        self._report = folder / "counted.ncu-rep"

    def passes(self, metrics: Sequence[str]) -> int:
        """How often ncu runs the launch for these metrics."""
        self._report.unlink(missing_ok=True)
        command = ncu_command(self._ncu, metrics, self._report, [str(self._program), "1", "1"])
        run = run_ncu(command, cwd=self._folder, timeout_s=120)
        if failure := classify(run, self._report):
            raise failure
        return run.passes[0]

    def where(self) -> str:
        """The GPU and the ncu, as the last report names them."""
        device = read([self._report]).launches["device"].iloc[0]
        return f"{device}, ncu {ncu_version(self._ncu)}"


def main(target: Path) -> None:
    """Measure, print and write."""
    plan = metrics_for(load_rules())
    hardware = [metric for metric in plan if collector_of(metric) == "hardware"]
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter(Path(folder))
        measured: dict[str, tuple[list[str], int]] = {}
        for collector in COLLECTORS:
            own = [metric for metric in plan if collector_of(metric) == collector]
            measured[collector] = (own, _shown(counter, f"all of {collector}", own))
        together = _shown(counter, "all together", plan)
        print(f"collectors add up: {'yes' if together == sum(passes for _, passes in measured.values()) else 'NO'}")
        looks = {"first look, of hardware": sampling_metrics(), **_of_units(hardware)}
        measured |= {name: (metrics, _shown(counter, name, metrics)) for name, metrics in looks.items()}
        _shown(counter, "first look", first_look_metrics())
        for counted in dict.fromkeys(metric.partition(".")[0] for metric in hardware):
            rest = [metric for metric in hardware if metric.partition(".")[0] != counted]
            passes = _shown(counter, f"all of hardware but {counted}", rest)
            if passes < measured["hardware"][1]:
                measured[f"without {counted}"] = (rest, passes)
        where = counter.where()
    entries = [_entry(metrics, passes, where) for metrics, passes in measured.values()]
    target.write_text("\n".join([_HEAD, *entries]), encoding="utf-8")
    print(f"{target}: {len(entries)} sets")


def _of_units(metrics: Sequence[str]) -> dict[str, list[str]]:
    """The hardware counters of each unit: dram, lts, l1tex ..."""
    units: dict[str, list[str]] = defaultdict(list)
    for metric in metrics:
        units[metric.partition("__")[0]].append(metric)
    return dict(units)


def _shown(counter: Counter, name: str, metrics: Sequence[str]) -> int:
    passes = counter.passes(metrics)
    print(f"{passes:3}  {name} ({len(metrics)} metrics)", flush=True)
    return passes


def _entry(metrics: Sequence[str], passes: int, where: str) -> str:
    names = "\n".join(f'    "{metric}",' for metric in sorted(metrics))
    return f'[[measured]]\nwhere = "{where}"\npasses = {passes}\nmetrics = [\n{names}\n]\n'


if __name__ == "__main__":
    typer.run(main)
