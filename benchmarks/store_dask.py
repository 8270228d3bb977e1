"""How much faster two workers of a Dask cluster add reports to a store than one.

    python -m benchmarks.store_dask [REPORTS] [--workers N] [--rounds N]

Copies of a recorded report that differ in their time of creation are added to new stores, by a cluster of one worker
process and by one of several, in turn; each worker has added a report before. The ratio is that of the medians. The
load of the machine is printed beside it: on one that is busy the ratio says nothing.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from fuzz.dask_processes import dask_processes
from fuzz.kill_store import REPORT, changed_copy
from ncuview.pipeline.store_add import add_reports
from ncuview.reader.precheck import read_report


def main(
    reports: Annotated[int, typer.Argument()] = 32,
    workers: Annotated[int, typer.Option(help="Of the larger cluster.")] = 2,
    rounds: Annotated[int, typer.Option(help="How often each cluster adds all reports.")] = 3,
) -> None:
    """Print the times and their ratio."""
    data = read_report(REPORT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(reports + workers):
            kind = folder / ("all" if number < reports else "first")
            kind.mkdir(exist_ok=True)
            (kind / f"{number}.ncu-rep").write_bytes(changed_copy(data, number))
        times: dict[int, list[float]] = {1: [], workers: []}
        for attempt in range(rounds):
            for count, found in times.items():
                with dask_processes(count) as cluster:
                    address, to = cluster.address, folder / f"store{count}-{attempt}"
                    add_reports(folder / "first", to=folder / f"first{count}-{attempt}", scheduler=address)
                    begun = time.perf_counter()
                    done = add_reports(folder / "all", to=to, scheduler=address)
                    found.append(time.perf_counter() - begun)
                if len(done.added) != reports:
                    raise SystemExit(f"{len(done.added)} of {reports} reports were added")
                print(f"{count} workers: {found[-1]:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    ratio = median(times[1]) / median(times[workers])
    print(f"{workers} workers against 1: {ratio:.2f} times, {len(os.sched_getaffinity(0))} cores, "
          f"load {os.getloadavg()[0]:.1f} with this")  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
