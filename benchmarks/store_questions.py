"""The time of each question, and the peak memory, on a store of ten million launches.

    python benchmarks/store_questions.py                       # about ten minutes and 3 GB of disk, which it frees
    python benchmarks/store_questions.py --launches 1000000    # a smaller store
    python benchmarks/store_questions.py --store FOLDER        # one that is there

A seeded script writes the Parquet files: nightly reports of a year on three GPU models, two hundred kernels in three
shapes, 40 counters of each launch, eight ranks. The exact counters of one kernel differ in each of its 280,000
launches. Each question runs in a process of its own, which opens the store, asks, and reports its time (from opening to
the answer, the better of two) and its largest resident memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ncuview.engine.shipped_plan import shipped_plan
from ncuview.metrics.repeatability import MetricClass, class_of_metric
from ncuview.store import kernel_history, questions
from ncuview.store.answer import Answer
from ncuview.store.batches import Added, Batch, new_id, publish
from ncuview.store.files import write_tables
from ncuview.store.opened import Store, open_store
from ncuview.store.place import place_of
from ncuview.store.schema import TABLE, VERSION, TableName, arrow_schema
from ncuview.store.series import COLUMNS, series_of
from ncuview.store.work import exact_of, work_of

SEED, LAUNCHES, PER_REPORT, METRICS = 2026, 10_000_000, 1_000, 40
GPUS = ("NVIDIA A100", "NVIDIA H100", "NVIDIA H200")
KERNELS, SHAPES, RANKS, DAYS = 200, 3, 8, 360
VARYING = 154
"""One of the kernels with most launches: its counters differ in every launch."""
ROWS = 20
"""Of a table, as commands print."""
FIRST = datetime(2026, 1, 1, 3, tzinfo=UTC)
Columns = dict[str, Any]


def words(codes: Any, texts: list[str]) -> pa.Array:
    """A dictionary-encoded column; -1 is null."""
    places = np.asarray(codes, np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), pa.array(texts, pa.string()))


def write_store(folder: Path, launches: int) -> None:
    """Write a store of that many launches: one batch for each week."""
    place = place_of(str(folder))
    per_day = launches / len(GPUS) / PER_REPORT / DAYS
    for week, day in enumerate(range(0, DAYS, 7)):
        days = min(7, DAYS - day)
        batch, added = new_id(), []
        made: dict[TableName, list[pa.Table]] = {name: [] for name in TABLE}
        for gpu in range(len(GPUS)):
            reports = max(1, round(per_day * (day + days)) - round(per_day * day))
            number = (week * len(GPUS) + gpu) * 1_000_000 + np.arange(reports)
            for table, columns in tables(gpu, number, day, days).items():
                made[table].append(arrow_table(table, gpu, day, columns))
            added += [Added(content(each), f"{each}.ncu-rep", PER_REPORT) for each in number.tolist()]
        files = write_tables(place, batch, {name: parts for name, parts in made.items() if parts})
        publish(place, Batch(batch, VERSION, tuple(added), files))


def content(report: int) -> str:
    """The SHA-256 that would give a report this number."""
    return f"{report << 1:016x}{'0' * 48}"


def arrow_table(table: TableName, gpu: int, day: int, columns: Columns) -> pa.Table:
    """The rows in the store's schema; columns that are not given are null."""
    named = {column.name for column in TABLE[table].columns}
    schema = arrow_schema(TABLE[table], {name: "" for name in columns if name not in named | {"gpu", "month"}})
    rows = len(columns["report"])
    month = (FIRST + timedelta(days=day)).strftime("%Y-%m")
    columns |= {"gpu": words(np.zeros(rows), [GPUS[gpu]]), "month": words(np.zeros(rows), [month])}
    if table == "launches":
        compared = [pa.array(columns[name]).to_pylist() for name in COLUMNS]
        columns["series"] = [series_of_values(values) for values in zip(*compared, strict=True)]
    arrays = [
        pa.array(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)


def tables(gpu: int, reports: Any, day: int, days: int) -> dict[TableName, Columns]:
    """The columns of a week's reports on one GPU model."""
    chance = np.random.default_rng([SEED, gpu, day])
    of_day = day + np.sort(chance.integers(days, size=len(reports)))
    per_report = conditions(chance, of_day, reports)
    at = np.repeat(np.arange(len(reports)), PER_REPORT)
    launch = np.tile(np.arange(PER_REPORT), len(reports))
    job = (reports // 1_000_000 + reports) % 10  # another one each week, however few reports a week has
    kernel = (job[at] * 17 + chance.zipf(1.3, len(at)) % 60) % KERNELS
    shape = chance.integers(SHAPES, size=len(at))
    base = 2_000 * 1.025**kernel * (1 + shape) * (1 + 0.3 * gpu)
    slow = (kernel % 7 == 3) & (of_day[at] > 200)
    duration = base * np.where(slow, 1.05, 1.0) * chance.normal(1, 0.01, len(at))
    duration[chance.random(len(at)) < 1e-5] *= 5
    key = {"report": reports[at], "launch": launch, "kernel": words(kernel, [f"kernel_{k}" for k in range(KERNELS)])}
    of_report = {name: column.take(pa.array(at)) for name, column in per_report.items()}
    advice = np.where(kernel % 3 == 0, kernel % 20, -1)
    judged = chance.random(len(at)) < np.where(kernel % 11 == 5, 0.0, 0.9)
    rules = [f"RULE{rule:03}" for rule in range(20)]
    found = np.flatnonzero((advice >= 0) & judged)
    version = (of_day[at] > 100).astype(np.int64)
    launches: Columns = {
        **key,
        **of_report,
        "demangled": words(kernel, [f"void n::kernel_{k}<float, {k % 4}>(float *, int)" for k in range(KERNELS)]),
        "function": words(kernel, [f"n::kernel_{k}" for k in range(KERNELS)]),
        "template_arguments": words(kernel, [f"<float, {k % 4}>" for k in range(KERNELS)]),
        "code": kernel * 2 + version * (kernel % 5 == 0),
        "grid_x": 1024 * (1 + shape),
        **dict.fromkeys(("grid_y", "grid_z", "block_y", "block_z"), np.ones(len(at), np.int32)),
        "block_x": np.full(len(at), 256),
        "duration_ns": duration,
        "time_share": duration / np.add.reduceat(duration, np.arange(0, len(at), PER_REPORT))[at],
        "verdict": words(np.where(judged, np.where(advice >= 0, 0, 1), 2), ["advice", "near-peak", "not-judged"]),
        "bottleneck": words(kernel % 4, ["device memory", "latency", "issue slots", "L2 tags"]),
        "attained": chance.random(len(at)).round(3),
        "rule": words(np.where(judged, advice, -1), rules),
        "owner_kind": words(np.where(kernel % 9 == 0, 1, 0), ["yours", "vendor"]),
        "call": kernel % 30,
        "speedup": pa.array(1.1 + 0.01 * advice, mask=(advice < 0) | ~judged),
        "saved_ns": pa.array(duration * (1 - 1 / (1.1 + 0.01 * advice)), mask=(advice < 0) | ~judged),
        "waits_for_peers": kernel % 50 == 49,
        "workload": words(np.zeros(len(at)), ["kernel"]),
    }
    of_data = np.where(kernel == VARYING, chance.integers(1_000_000, size=len(at)), 0)
    exact = kernel * 1_000_003 + shape * 7 + version * (kernel % 5 == 0) + of_data
    names = ["sm__cycles_elapsed.max", *(name for name in shipped_plan() if name.startswith("smsp__sass"))][:METRICS]
    counters: Columns = {name: (exact + place).astype(np.float64) for place, name in enumerate(names)}
    counters["sm__cycles_elapsed.max"] = (duration * 1.755).round()
    noisy = [name for name in shipped_plan() if class_of_metric(name) >= MetricClass.TIME and name not in names][
        : METRICS - len(names)
    ]
    counters |= {name: (chance.random(len(at)) * 100).round(2) for name in noisy}
    compared = exact_of(counters)
    _, first, of_first = np.unique(exact, return_index=True, return_inverse=True)
    values = np.stack([counters[name][first] for name in compared], axis=1)
    launches["work"] = np.array([work_of(compared, each) for each in values])[of_first]
    launches["cycles"] = counters["sm__cycles_elapsed.max"]
    first_of_call, calls = np.unique(at * 30 + kernel % 30, return_counts=True)
    sums = np.bincount(at * 30 + kernel % 30, weights=duration)[first_of_call]
    return {
        "reports": {
            "report": reports,
            **per_report,
            "content": [content(each) for each in reports.tolist()],
            "name": [f"{each}.ncu-rep" for each in reports.tolist()],
            "launches": np.full(len(reports), PER_REPORT),
            "time_ns": np.add.reduceat(duration, np.arange(0, len(at), PER_REPORT)),
        },
        "launches": launches,
        "metrics": {**key, **counters},
        "findings": {
            **{
                name: column.take(pa.array(found)) if isinstance(column, pa.Array) else column[found]
                for name, column in key.items()
            },
            "rule": words(advice[found], rules),
            "name": words(advice[found], [rule.lower() for rule in rules]),
            "optimization": words(advice[found] % 6, ["coalesce", "pad", "unroll", "vectorise", "fuse", "occupancy"]),
            "rank": np.ones(len(found), np.int32),
            "gain_best": 1.1 + 0.01 * advice[found],
            "saved_ns": (duration * (1 - 1 / (1.1 + 0.01 * advice)))[found],
            "file": words(kernel[found] % 20, [f"file{f}.cu" for f in range(20)]),
            "line": kernel[found] % 300 + 1,
        },
        "calls": {
            "report": reports[first_of_call // 30],
            "call": first_of_call % 30,
            "file": words(first_of_call % 30 % 6, [f"train{f}.py" for f in range(6)]),
            "line": first_of_call % 30 * 10 + 1,
            "function": words(first_of_call % 30, [f"step_{c}" for c in range(30)]),
            "launches": calls + (first_of_call % 13 == 0),
            "time_ns": sums,
        },
    }


@cache
def series_of_values(values: tuple[Any, ...]) -> int:
    """The number of each series, computed once."""
    return series_of(dict(zip(COLUMNS, values, strict=True)))


def conditions(chance: np.random.Generator, day: Any, number: Any) -> Columns:
    """What holds for all launches of a report, by report."""
    commits = [f"{each * 2654435761 % 2**40:010x}" for each in range(DAYS)]
    return {
        "compute_capability": words(np.zeros(len(day)), ["9.0"]),
        "created": pa.array([FIRST + timedelta(days=int(each)) for each in day], pa.timestamp("ms", tz="UTC")),
        "ncu_version": words(day // 150, ["2025.2.1", "2025.3.1", "2026.1.0"]),
        "cuda_version": words(day // 200, ["12.8", "13.0"]),
        "clock_control": words((chance.random(len(day)) < 0.1).astype(int), ["base", "none"]),
        "cache_control": words((chance.random(len(day)) < 0.05).astype(int), ["all", "none"]),
        "replay_mode": words((chance.random(len(day)) < 0.05).astype(int), ["kernel", "application"]),
        "point": words(day, list(commits)),
        "rank": words(number % (RANKS + 1) - 1, [f"rank {rank}" for rank in range(RANKS)]),
    }


# Asking


def asked() -> dict[str, Callable[[Store], Answer]]:
    """The questions by what a user types; kernels of all sizes have a history."""
    found: dict[str, Callable[[Store], Answer]] = {
        "top": lambda opened: questions.top(opened, ROWS),
        "compare --by gpu": lambda opened: questions.compare(opened, "gpu", None, ROWS),
        "compare --by shape": lambda opened: questions.compare(opened, "shape", None, ROWS),
        "compare --by rank": lambda opened: questions.compare(opened, "rank", None, ROWS),
        "compare --by gpu kernel_35": lambda opened: questions.compare(opened, "gpu", "kernel_35", ROWS),
        "compare --by shape kernel_35": lambda opened: questions.compare(opened, "shape", "kernel_35", ROWS),
        "compare --by rank kernel_35": lambda opened: questions.compare(opened, "rank", "kernel_35", ROWS),
        "outliers": lambda opened: questions.outliers(opened, ROWS),
        "unprofiled": lambda opened: questions.unprofiled(opened, ROWS),
    }
    queries = (
        "SELECT count(*) FROM launches",
        "SELECT gpu, verdict, count(*), sum(duration_ns) FROM launches GROUP BY ALL",
        "SELECT owner_kind, sum(duration_ns) FROM launches WHERE month = '2026-05' GROUP BY ALL",
        "SELECT point, max(duration_ns) FROM launches WHERE kernel = 'kernel_35' GROUP BY ALL ORDER BY point",
        "SELECT rule, count(*), sum(saved_ns) FROM findings GROUP BY ALL ORDER BY 3 DESC",
    )
    found |= {f"sql {query!r}": partial(questions.sql, query=query, limit=ROWS) for query in queries}
    names = [f"kernel_{number}" for number in (*range(2, KERNELS, KERNELS // 12), VARYING)]
    return found | {f"history {name}": partial(kernel_history.history, kernel=name, limit=ROWS) for name in names}


def ask(folder: Path, question: str) -> None:
    """Open the store, ask twice, and print wall and processor time of the faster, and the memory of the process."""
    times = []
    for _ in range(2):
        begin, used = time.perf_counter(), time.process_time()
        with open_store(str(folder)) as opened:
            answer = asked()[question](opened)
        times.append((time.perf_counter() - begin, time.process_time() - used))
        assert answer.tables, question
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(*min(times), int(kilobytes) / 1000)


def show(folder: Path) -> None:
    """The table of all questions, each asked in a process of its own."""
    print("| question | time | processor time | memory |\n| --- | ---: | ---: | ---: |")
    found = []
    for question in asked():
        command = [sys.executable, __file__, "--store", str(folder), "--ask", question]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall, used, memory = map(float, done.stdout.split())
        found.append((wall, memory))
        print(f"| {question} | {wall:.2f} s | {used:.2f} s | {memory:,.0f} MB |", flush=True)
    walls, memories = zip(*found, strict=True)
    below = sum(wall < 1 for wall in walls) / len(walls)
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"\n{below:.0%} below 1 s, the slowest {max(walls):.2f} s, most memory {max(memories):,.0f} MB")
    print(f"on {cores} cores, with a load of {load:.1f} besides this")


def main() -> None:
    """Write a store, ask, and remove it."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--launches", type=int, default=LAUNCHES)
    words.add_argument("--store", type=Path, help="a store that an earlier run of this script left; nothing is written")
    words.add_argument("--ask", help=argparse.SUPPRESS)
    options = words.parse_args()
    if options.ask:
        ask(options.store, options.ask)
    elif options.store:
        show(options.store)
    else:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            write_store(Path(folder), options.launches)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
            seconds = time.perf_counter() - begin
            print(f"{options.launches:,} launches: {size / 1e6:,.0f} MB, written in {seconds:.0f} s\n")
            show(Path(folder))


if __name__ == "__main__":
    main()
