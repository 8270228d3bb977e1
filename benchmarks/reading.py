"""How long ncuview takes to read a report of many launches, and how much memory, beside Nsight Compute's CSV in pandas.

    python benchmarks/reading.py [LAUNCHES ...]

The CSV brings the launches and their metrics, and no instruction, line or source: "numbers" is ncuview when it reads as
little, "ncuview" when it reads all. The reports are the launches of a recorded one, again and again. All ways are run
in turn, each in a fresh process, REPEATS times; medians are compared. Needs no GPU; without ncu only ncuview is
measured.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ncuview.catalogue.kernels import recorded_report
from ncuview.profiling.machine import find_ncu
from ncuview.reader import wire
from ncuview.reader.precheck import read_report

LAUNCHES = (10, 100, 1_000, 10_000)
REPEATS = 3
_ALL, _NUMBERS, _CSV = "ncuview", "numbers", "ncu --csv, pandas"
FAMILY = "transpose"
_STRINGS, _SESSION, _PAYLOAD_SIZE = 4, 3, 5

_MEASURED = """
import json, resource, sys, time
started = time.perf_counter()
{program}
seconds = time.perf_counter() - started
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({{"launches": launches, "metrics": metrics, "seconds": seconds, "parent": own.ru_maxrss / 1024,
    "child": children.ru_maxrss / 1024, "frames": frames / 2**20}}))
"""
_OURS = """
from ncuview.reader.reader import read
profile = read([sys.argv[1]], instructions={instructions})
launches, metrics = profile.metrics.shape
frames = sum(each.memory_usage().sum() for each in (profile.launches, profile.metrics, profile.instructions))
"""
_THEIRS = """
import subprocess
import pandas as pd
command = [sys.argv[2], "--import", sys.argv[1], "--page", "raw", "--csv", "--print-units", "base"]
with subprocess.Popen(command, stdout=subprocess.PIPE) as ncu:
    table = pd.read_csv(ncu.stdout, skiprows=[1], thousands=",", low_memory=False)
assert ncu.returncode == 0, ncu.returncode
launches, metrics = table.shape
frames = table.memory_usage().sum()
"""


def main(counts: Annotated[list[int] | None, typer.Argument(metavar="LAUNCHES", min=1)] = None) -> None:
    """Print a row for each number of launches and each way, and the ratios."""
    ncu = find_ncu()
    ways = {name: _OURS.format(instructions=all_of_it) for name, all_of_it in ((_ALL, True), (_NUMBERS, False))}
    ways |= {_CSV: _THEIRS} if ncu else {}
    if ncu is None:
        print("ncu is not installed here: only ncuview is measured\n")
    print(f"{len(os.sched_getaffinity(0))} cores; MB: peaks of the process and its largest child, and the DataFrames")
    print(f"{'launches':>8}  {'way':18} {'seconds':>8} {'parent':>7} {'child':>7} {'frames':>7}")
    report = read_report(recorded_report(FAMILY))
    with tempfile.TemporaryDirectory() as folder:
        for count in counts or LAUNCHES:
            path = Path(folder, f"{count}.ncu-rep")
            path.write_bytes(repeated(report, count))
            runs: dict[str, list[Mapping[str, float]]] = {way: [] for way in ways}
            for _ in range(REPEATS):
                for way, program in ways.items():
                    runs[way].append(_measured(program, path, ncu, count))
            median = {
                way: {key: statistics.median(run[key] for run in found) for key in found[0]}
                for way, found in runs.items()
            }
            for way, row in median.items():
                megabytes = " ".join(f"{row[key]:7.0f}" for key in ("parent", "child", "frames"))
                print(f"{count:8}  {way:18} {row['seconds']:8.2f} {megabytes}")
            if ncu:
                less, more = (median[_CSV]["seconds"] / median[way]["seconds"] for way in (_NUMBERS, _ALL))
                print(f"{'':8}  numbers are read {less:.1f} times as fast as the CSV (aim: 5), all {more:.1f} times")
            path.unlink()


def repeated(report: bytes, launches: int) -> bytes:
    """A report of so many launches: the first ones of this report, or all of them again and again.

    A block without its strings, which all blocks add to, gives the same launch once more.
    """
    blocks, again, count = [], [], 0
    for block in wire.blocks(report):
        if count >= launches and block.kernels:
            continue
        payload = report[slice(*block.payload)]
        fields = [field for field in wire.fields(report, block.header) if field.number != _PAYLOAD_SIZE]
        blocks.append((b"".join(report[field.start : field.end] for field in fields), payload))
        if block.kernels:
            count += block.kernels
            kept = [field for field in fields if field.number not in {_STRINGS, _SESSION}]
            header = b"".join(report[field.start : field.end] for field in kept) + wire.encode_field(_STRINGS, b"")
            again.append((header, payload))
    blocks += (again[place % len(again)] for place in range(launches - count))
    return wire.encode_report(blocks)


def _measured(program: str, report: Path, ncu: Path | None, count: int) -> Mapping[str, float]:
    command = [sys.executable, "-c", _MEASURED.format(program=program), str(report), str(ncu)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    figures: Mapping[str, float] = json.loads(done.stdout)
    if figures["launches"] != count:
        sys.exit(f"{figures['launches']} launches were read, not {count}")
    return figures


if __name__ == "__main__":
    typer.run(main)
