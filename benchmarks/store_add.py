"""What adding reports to a store takes, how large it is, and whether the metrics should have columns or rows.

    python -m benchmarks.store_add [--launches N] [--metrics N] [REPORT ...]

1. The recorded reports are added as users add them: launches per second and core, the parent's memory, the size of the
   store beside the unpacked reports; then the same steps one by one, to see what takes the time.
2. ``--launches``: so many launches are added as reports that repeat recorded ones with other names and values, each
   with a content of its own. They are read and judged once; rows, files and batches are made for each.
3. ``--metrics``: the metrics of so many launches as a table with a column for each metric (wide) and one with a row
   for each (long): sizes, and the time of three questions.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from ncuview import store
from ncuview.base.paths import shipped
from ncuview.pipeline import store_batch
from ncuview.pipeline.store_add import add_reports
from ncuview.pipeline.store_batch import Identified, Named, Task, Written, identified, written
from ncuview.pipeline.workers import WorkerDied, Workers
from ncuview.reader.precheck import read_report
from ncuview.records.profile import Profile
from ncuview.store.batches import publish
from ncuview.store.place import place_of

REPEATED = ("transpose", "reduction", "matmul", "stencil")
"""The families whose launches are repeated."""
TIMES = 20
"""How often a report of the second part repeats the launches of a family."""
REPORTS_OF_TASK = 20
_MB = 1 << 20


def main(
    reports: Annotated[list[Path] | None, typer.Argument(metavar="REPORT")] = None,
    launches: Annotated[int, typer.Option(help="Launches of repeated reports to add.")] = 0,
    metrics: Annotated[int, typer.Option(help="Launches whose metrics are written wide and long.")] = 0,
) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        _add_recorded(reports or sorted(shipped("kernels").rglob("*.ncu-repz")), Path(folder, "recorded"))
        if launches:
            _add_repeated(launches, Path(folder, "repeated"))
        if metrics:
            _compare_forms(metrics, Path(folder, "forms"))


def _add_recorded(reports: Sequence[Path], to: Path) -> None:
    unpacked = sum(len(read_report(report)) for report in reports)
    before, started = _processor_s(), time.perf_counter()
    done = add_reports(*reports, to=to)
    seconds, used = time.perf_counter() - started, _processor_s() - before
    count = sum(each.launches for each in done.added)
    print(f"{len(done.added)} recorded reports with {count:,} launches, {len(os.sched_getaffinity(0))} cores")
    print(f"added in {seconds:.1f} s, {used:.1f} s of processors: {count / used:.1f} launches/s/core")
    print(f"memory of this process: {_own_memory() // _MB} MB")
    size = _size(to)
    print(f"store {size / _MB:.2f} MB, unpacked reports {unpacked / _MB:.1f} MB: 1 to {unpacked / size:.0f}")
    _show_steps(reports)


def _show_steps(reports: Sequence[Path]) -> None:
    """The processor time of each step, in this process and the children that it starts."""
    from ncuview.engine.rank import diagnose
    from ncuview.engine.rule_file import load_rules
    from ncuview.pipeline.profiled import read_each_with_sources
    from ncuview.store.files import write_tables
    from ncuview.store.rows import tables_of

    spent: dict[str, float] = {}

    @contextmanager
    def step(name: str) -> Iterator[None]:
        before = _processor_s()
        yield
        spent[name] = spent.get(name, 0.0) + _processor_s() - before

    with step("load the rules"):
        rules = load_rules()
    tables: dict[Any, list[Any]] = {}
    profiles = read_each_with_sources(reports)
    for found in identified([Named(report, "a", "") for report in reports]):
        assert isinstance(found, Identified)
        with step("read"):
            profile = next(profiles)
            assert isinstance(profile, Profile)
        with step("judge"):
            diagnosis = diagnose(profile, rules)
        with step("make rows"):
            judged = replace(_judged_once("transpose"), content=found.content, profile=profile, diagnosis=diagnosis)
            for name, table in tables_of(judged).items():
                tables.setdefault(name, []).append(table)
    with tempfile.TemporaryDirectory() as folder, step("write"):
        write_tables(place_of(folder), "1", tables)
    total = sum(spent.values())
    print("steps: " + ", ".join(f"{name} {seconds:.1f} s ({seconds / total:.0%})" for name, seconds in spent.items()))


@cache
def _judged_once(family: str) -> Any:
    (found,) = identified([Named(shipped("kernels") / family / "h200.ncu-repz", "a", "")])
    assert isinstance(found, Identified)
    return next(_JUDGED(Task("", (found,))))


_JUDGED = store_batch.judged


@cache
def _repeated(family: str) -> Any:
    """A judged report that repeats the launches of a family."""
    import numpy as np
    import pandas as pd

    once = _judged_once(family)
    count = len(once.diagnosis.launches)
    places = np.tile(np.arange(count), TIMES)
    profile = replace(
        once.profile,
        launches=once.profile.launches.iloc[places].reset_index(drop=True),
        metrics=once.profile.metrics.iloc[places].reset_index(drop=True),
        instructions=pd.concat(
            [
                once.profile.instructions.assign(launch=once.profile.instructions["launch"] + count * at)
                for at in range(TIMES)
            ]
        ),
    )
    launches = tuple(replace(once.diagnosis.launches[place], index=at) for at, place in enumerate(places.tolist()))
    return replace(once, profile=profile, diagnosis=replace(once.diagnosis, launches=launches))


def _judged_again(task: Task) -> Iterator[Any]:
    return map(_judged_as, task.reports)


def _judged_as(report: Identified) -> Any:
    """The report of this number: kernels have other names, and durations and counters other values."""
    number = int(report.named.point)
    made = _repeated(REPEATED[number % len(REPEATED)])
    factor = 1 + number % 97 / 1000
    launches = tuple(
        replace(
            each,
            kernel=f"{each.kernel}_{number % 50}",
            demangled=f"{each.demangled}_{number % 50}",
            duration_ns=each.duration_ns * factor,
        )
        for each in made.diagnosis.launches
    )
    return replace(
        made,
        content=report.content,
        point=f"commit{number:06d}",
        profile=replace(made.profile, metrics=made.profile.metrics * factor),
        diagnosis=replace(made.diagnosis, launches=launches),
    )


def written_again(task: Task) -> Written:
    """As ``written``, of repeated reports."""
    setattr(store_batch, "judged", _judged_again)  # noqa: B010
    return written(task)


def _add_repeated(launches: int, to: Path) -> None:
    """In a process of its own, whose memory is that of a parent alone."""
    program = f"from benchmarks.store_add import add_repeated; add_repeated({launches}, {str(to)!r})"
    subprocess.run([sys.executable, "-c", program], check=True)


def add_repeated(launches: int, to: str) -> None:
    """Add so many launches, and print what it took."""
    place = place_of(to)
    before, started = _processor_s(), time.perf_counter()
    count = number = largest = 0
    with Workers(len(os.sched_getaffinity(0))) as workers:
        while count < launches:
            tasks = []
            for _ in range(4 * workers.count):
                reports = [_identity(number + at) for at in range(REPORTS_OF_TASK)]
                tasks.append(Task(to, tuple(reports)))
                number += REPORTS_OF_TASK
            for _, found in workers.results(written_again, tasks):
                if isinstance(found, WorkerDied):
                    raise SystemExit(str(found))
                publish(place, found.batch)
                count += sum(each.launches for each in found.batch.reports)
                largest = max(largest, _memory_of(workers))
    used = _processor_s() - before
    print(f"{number:,} repeated reports with {count:,} launches in {time.perf_counter() - started:.0f} s: "
          f"{count / used:,.0f} launches/s/core without reading and judging")  # fmt: skip
    print(f"memory: this process {_own_memory() // _MB} MB, the largest worker {largest // _MB} MB")
    print(f"store: {_size(Path(to)) / _MB:.0f} MB, {_size(Path(to)) / count:.0f} bytes per launch")
    with store.open(to) as opened:
        for query in (
            "SELECT count(*), count(DISTINCT report) FROM launches",
            "SELECT function, sum(duration_ns) FROM launches GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
            "SELECT point, median(duration_ns) FROM launches WHERE kernel = 'transposeNaive_0' GROUP BY 1",
        ):
            begun = time.perf_counter()
            rows = opened.sql(query).fetchall()
            print(f"{time.perf_counter() - begun:.2f} s, {len(rows):,} rows: {query}")


def _identity(number: int) -> Identified:
    content = sha256(f"repeated {number}".encode()).hexdigest()
    return Identified(Named(Path(f"{number}.ncu-rep"), str(number), ""), content, (0, 0, 0))


def _memory_of(workers: Workers) -> int:
    """Bytes of the largest worker at its peak."""
    states = [Path(f"/proc/{process}/status").read_text() for process in workers.processes]
    peaks = [int(line.split()[1]) << 10 for state in states for line in state.splitlines() if line.startswith("VmHWM")]
    return max(peaks, default=0)


def _compare_forms(launches: int, folder: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = np.random.default_rng(1)
    made = _judged_once("transpose").profile.metrics
    names = [name for name in made if not name.startswith("device__attribute_")]
    per_file, kernels = 100_000, 500
    for form in ("wide", "long"):
        (folder / form).mkdir(parents=True)
    for at in range(0, launches, per_file):
        count = min(per_file, launches - at)
        launch = np.arange(at, at + count)
        kernel = np.sort(chance.integers(0, kernels, count))
        values = {
            name: made[name].to_numpy()[kernel % len(made)] * (1 + chance.integers(0, 200, count) / 10_000)
            for name in names
        }
        text = pa.array([f"kernel{number}" for number in kernel]).dictionary_encode()
        wide = pa.table(
            {
                "launch": launch,
                "kernel": text,
                **{name: pa.array(each, from_pandas=True) for name, each in values.items()},
            }
        )
        pq.write_table(wide, folder / "wide" / f"{at}.parquet", compression="zstd", row_group_size=122_880)
        long = pa.concat_tables(
            pa.table(
                {
                    "launch": launch,
                    "kernel": text,
                    "metric": pa.array([name] * count).dictionary_encode(),
                    "value": pa.array(values[name]),
                }
            )
            for name in sorted(names)
        ).unify_dictionaries()
        pq.write_table(long, folder / "long" / f"{at}.parquet", compression="zstd", row_group_size=122_880)
    print(f"metrics of {launches:,} launches, {len(names)} each")
    one, other = "dram__bytes_read.sum", "lts__t_sectors.sum"
    both = f"max(value) FILTER (metric = '{one}') AS a, max(value) FILTER (metric = '{other}') AS b"
    of_both = f"SELECT launch, any_value(kernel) AS kernel, {both} FROM {{}} WHERE metric IN ('{one}', '{other}')"
    questions = {
        "one metric of all, by kernel": {
            "wide": f'SELECT kernel, avg("{one}") FROM {{}} GROUP BY 1',
            "long": f"SELECT kernel, avg(value) FROM {{}} WHERE metric = '{one}' GROUP BY 1",
        },
        "all metrics of one kernel": dict.fromkeys(("wide", "long"), "SELECT * FROM {} WHERE kernel = 'kernel7'"),
        "ratio of two metrics": {
            "wide": f'SELECT kernel, max("{one}" / "{other}") FROM {{}} GROUP BY 1',
            "long": f"SELECT kernel, max(a / b) FROM ({of_both} GROUP BY launch) GROUP BY 1",
        },
    }
    for form in ("wide", "long"):
        print(f"{form}: {_size(folder / form) / _MB:.0f} MB")
        for name, queries in questions.items():
            sql = queries[form].format(f"read_parquet('{folder}/{form}/*.parquet')")
            print(f"  {_fastest(sql):.2f} s {name}")
    shutil.rmtree(folder)


def _fastest(sql: str) -> float:
    """Seconds of the fastest of three runs."""
    import duckdb

    found = []
    with duckdb.connect() as connection:
        for _ in range(3):
            begun = time.perf_counter()
            connection.execute(sql).fetchall()
            found.append(time.perf_counter() - begun)
    return min(found)


def _processor_s() -> float:
    """Of this process and those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _own_memory() -> int:
    """Bytes at the peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    typer.run(main)
