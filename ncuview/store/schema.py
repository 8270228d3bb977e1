"""The tables of a store: for each the columns with type, unit and meaning, and its Arrow schema (``arrow_schema``).

A store of thousands of reports is a set of Parquet files of seven tables. ``reports`` has a row per report and GPU
model, ``launches`` one per launch, ``metrics`` one per launch with a column for each metric of Nsight Compute,
``findings`` one per finding of a launch or program, ``lines`` one per line of a finding, ``calls`` one per line of a
user's program; ``sums`` adds up launches, so that questions about all kernels read few rows. A launch is (``report``,
``launch``), a call is (``report``, ``call``). A value that is unknown is null, never NaN.

Every table has ``gpu`` and ``month``, by which its files are divided, and those about launches have ``kernel``, so that
a question about one kernel or one GPU reads little of them and needs no join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ncuview.store.series import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 5
"""The version of these tables; a new one has an entry in ``versions.UPGRADES``."""
VERSION_KEY = "ncuview.store"
"""The key in a Parquet file's metadata that holds table and version, as in ``launches/1``."""

Type = Literal["text", "word", "count", "id", "number", "flag", "time", "numbers", "texts", "words"]
TYPES: dict[Type, str] = {
    "text": "a string",
    "word": "a string of few different values, dictionary-encoded",
    "count": "int32",
    "id": "int64",
    "number": "float64",
    "flag": "a boolean",
    "time": "a timestamp of UTC in ms",
    "numbers": "a map of strings to float64",
    "texts": "a map of strings to strings",
    "words": "a list of strings",
}
"""What each type is in Arrow."""
SQL_TYPES: dict[Type, str] = {
    "text": "VARCHAR",
    "word": "VARCHAR",
    "count": "INTEGER",
    "id": "BIGINT",
    "number": "DOUBLE",
    "flag": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
    "numbers": "MAP(VARCHAR, DOUBLE)",
    "texts": "MAP(VARCHAR, VARCHAR)",
    "words": "VARCHAR[]",
}
"""What DuckDB makes of each type."""
TableName = Literal["reports", "launches", "metrics", "findings", "lines", "calls", "sums"]


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    type: Type
    meaning: str
    """What a value says, and when it is null."""
    unit: str = ""
    """Of a number; empty for a pure one."""


@dataclass(frozen=True)
class Table:
    """One table."""

    name: TableName
    meaning: str
    """What a row is."""
    columns: tuple[Column, ...]
    """Those that all files of it have; ``metrics`` has more."""


_REPORT = Column("report", "id", "The report: the first 63 bits of the SHA-256 of its unpacked content.")
_LAUNCH = Column("launch", "count", "The launch: its place in the report, from 0.")
_PLACED = (
    Column("gpu", "word", "The GPU model, such as NVIDIA H200; null when the report does not name it."),
    Column("month", "word", "The month (UTC) in which the report was written, as in 2026-11; null when unknown."),
)
_KERNEL = Column("kernel", "word", "The kernel's bare name, as launches have it.")

_CONDITIONS = (
    Column("compute_capability", "word", "Of the GPU, such as 9.0; null when unknown."),
    Column("created", "time", "When the report was written; null when it does not say."),
    Column("ncu_version", "word", "The Nsight Compute that wrote it, such as 2025.3.1; null when unknown."),
    Column("cuda_version", "word", "The CUDA version of the driver, such as 13.0; null when unknown."),
    Column("clock_control", "word", "base: ncu locked the clocks; none: it did not; null when unknown."),
    Column("cache_control", "word", "all: caches were emptied before each pass; none: they were not; null: unknown."),
    Column("replay_mode", "word", "kernel, application, range or app-range; null when unknown."),
    Column("point", "word", "The commit, date or build, from the folder's or file's name as `ncuview report` does."),
    Column("rank", "word", "The rank or GPU number in the name, such as `rank 3`; null where there is none."),
)
"""Under which conditions a report was made: launches are comparable only where GPU, ncu and settings agree."""

_LAUNCHES = (
    _REPORT,
    _LAUNCH,
    *_PLACED,
    *_CONDITIONS,
    Column("kernel", "word", "The kernel's bare name, without namespaces and template arguments."),
    Column("demangled", "word", "Its complete name with template arguments and parameters."),
    Column("function", "word", "Its name with namespaces, without template arguments, result and parameters."),
    Column("template_arguments", "word", "All template arguments in the name, as written; null without any."),
    Column("code", "id", "A hash of its machine code, the same for the same instructions; null without code."),
    *(Column(f"grid_{axis}", "count", "Blocks of the grid along this axis; 0 when unknown.") for axis in "xyz"),
    *(Column(f"block_{axis}", "count", "Threads of a block on this axis; 0 when unknown.") for axis in "xyz"),
    Column("duration_ns", "number", "gpu__time_duration.sum; null when unknown.", "ns"),
    Column("time_share", "number", "Its duration over that of all launches of its report, 0 to 1."),
    Column("verdict", "word", "advice, near-peak, unclear, not-judged or not-yours."),
    Column("bottleneck", "word", "The unit that limits it, or latency, blocks, launch, transfer."),
    Column("attained", "number", "The busiest unit's use over what it attains in good kernels, 0 to 1."),
    Column("rule", "word", "The rule of the first advice; null without advice."),
    Column("optimization", "word", "What the first advice is; null without advice."),
    Column("speedup", "number", "What the first advice predicts, as old time over new; null without advice."),
    Column("saved_ns", "number", "The time that it saves; null without advice.", "ns"),
    Column("owner", "word", "The library or compiler that the kernel is from, such as cuBLAS; null: yours."),
    Column("owner_kind", "word", "yours, generated, framework or vendor."),
    Column("call", "count", "The line of the program that launched it, in `calls`; null without a call stack."),
    Column("process", "id", "The process id; null when unknown."),
    Column("workload", "word", "kernel, Tile kernel, range, graph, command list or subgrid schedule."),
    Column("waits_for_peers", "flag", "Whether it waits for other processes or GPUs: its time then means nothing."),
    Column("bottleneck_use", "number", "The use of that unit as a share of its peak, 0 to 1; null: unknown."),
    Column("not_judged", "word", "Why most rules could not judge it; null where they did, and in version 1."),
    Column("series", "id", "A hash of settings, GPU, names, grid and block: launches with it are comparable."),
    Column("work", "id", "A hash of its exact counters; null without any, and in versions 1 to 3."),
    Column("cycles", "number", "sm__cycles_elapsed.max; null when unknown, and in versions 1 to 3."),
)

_OF_SERIES = frozenset(COLUMNS) - {"gpu"} | {"series", "rule", "optimization", "owner"}

TABLES: tuple[Table, ...] = (
    Table(
        "reports",
        "A report; one with launches of two GPU models has two rows, one that could not be read has no launches.",
        (
            _REPORT,
            *_PLACED,
            *_CONDITIONS,
            Column(
                "content", "text", "The SHA-256 of the unpacked content, in hexadecimal digits: the key of a report."
            ),
            Column("name", "text", "The file's name; its path where paths are kept."),
            Column("labels", "texts", "What --label gave, such as a commit, branch or job."),
            Column("ncuview_version", "word", "The ncuview that judged it."),
            Column("launches", "count", "The launches of this GPU model in the store."),
            Column("time_ns", "number", "The sum of their known durations.", "ns"),
            Column("damage", "text", "What of the report could not be read; null when all of it was."),
            Column("gpu_attributes", "numbers", "The metrics `device__attribute_*` without that prefix."),
        ),
    ),
    Table(
        "launches",
        "A launch with its diagnosis.",
        _LAUNCHES,
    ),
    Table(
        "metrics",
        "The metrics of a launch: besides these columns one of float64 for each metric under Nsight Compute's name, in "
        "base units; null where the launch does not have it. The GPU's own attributes are in `reports`.",
        (_REPORT, _LAUNCH, *_PLACED, _KERNEL),
    ),
    Table(
        "findings",
        "A finding of a rule about a launch, or about the program of a report.",
        (
            _REPORT,
            Column("launch", "count", "The launch; null for a finding about the program."),
            *_PLACED,
            Column("kernel", "word", "The kernel's bare name; null for a finding about the program."),
            Column("rule", "word", "The rule's code, such as SMEM001."),
            Column("name", "word", "The rule's name, such as shared-bank-conflict."),
            Column("optimization", "word", "What to do, one word of a closed list."),
            Column("grade", "word", "certain: code and counters; likely: counters alone; null for the program."),
            Column("rank", "count", "1 is the next step; 0 is a finding that is not advice."),
            Column("gain_low", "number", "The least predicted speedup, old time over new."),
            Column("gain_best", "number", "The best estimate of it."),
            Column("gain_high", "number", "The most."),
            Column("saved_ns", "number", "The time that the best estimate saves; null when unknown.", "ns"),
            Column("bottleneck_after", "word", "The unit that limits the launch then; null for the program."),
            Column("call", "count", "Of a finding about the program: the call to change, in `calls`; else null."),
            Column(
                "file", "word", "The file with most of the waste: its base name, or path where kept; null: unknown."
            ),
            Column("line", "count", "The line's number, from 1; null when unknown."),
            Column("message", "text", "What the counters or launches show."),
            Column("rejected", "word", "Why it is not advice; null when it is."),
        ),
    ),
    Table(
        "lines",
        "A line of source code with waste that a finding is about.",
        (
            _REPORT,
            _LAUNCH,
            *_PLACED,
            _KERNEL,
            Column("rule", "word", "The code of the finding's rule; with report and launch the key into `findings`."),
            Column("file", "word", "The file's base name; its path where paths are kept."),
            Column("line", "count", "The line's number, from 1."),
            Column("share", "number", "Its share of the waste that the finding is about, 0 to 1."),
        ),
    ),
    Table(
        "calls",
        "A line of the user's program, or a node of a backward pass, that led to launches.",
        (
            _REPORT,
            Column("call", "count", "Its number in the report, from 0, the costliest first."),
            *_PLACED,
            Column("file", "word", "The file's base name; its path where paths are kept; null when unknown."),
            Column("line", "count", "The line's number, from 1; null when unknown."),
            Column("function", "word", "The user's function; null when unknown."),
            Column("operator", "word", "The framework's operator of its longest launch; null when unknown."),
            Column("backward", "word", "The autograd node of a backward pass; null outside of one."),
            Column("forward_file", "word", "Of a backward pass: the file of the forward line; null when unknown."),
            Column("forward_line", "count", "The number of that line; null when unknown."),
            Column("launches", "count", "How many launches it led to."),
            Column("time_ns", "number", "The sum of their durations.", "ns"),
            Column("share", "number", "Of the known kernel time of the report, 0 to 1."),
        ),
    ),
    Table(
        "sums",
        "The launches of a batch that agree in month, series, first advice and owner, added up. A batch is what became "
        "part of the store at one moment; adding to a store may merge batches, and then their sums.",
        (
            *_PLACED,
            *(column for column in _LAUNCHES if column.name in _OF_SERIES),
            Column("launches", "count", "How many there are."),
            Column("time_ns", "number", "The sum of their known durations; null when none is known.", "ns"),
            Column("timed", "count", "How many have a time and wait for no peers: their time says something."),
            Column("timed_ns", "number", "The sum of the durations of these; null without any.", "ns"),
            Column("least_ns", "number", "The shortest of them.", "ns"),
            Column("most_ns", "number", "The longest of them.", "ns"),
            Column("ranked_ns", "number", "The sum of those of launches with a rank; null without any.", "ns"),
            Column("ranks", "words", "The distinct ranks of these; null without any."),
            Column("saved_ns", "number", "The time that the advice saves in all of them; null without advice.", "ns"),
            Column("most_saved_ns", "number", "The time that it saves in the one where it is most.", "ns"),
            Column("counted", "count", "How many have counters: those with `attained`."),
            Column("judged", "count", "How many of these have a verdict other than not-judged."),
        ),
    ),
)
TABLE: dict[TableName, Table] = {table.name: table for table in TABLES}


def arrow_schema(table: Table, metrics: dict[str, str] | None = None) -> pa.Schema:
    """The Arrow schema of a table's files; each field's metadata has ``meaning`` and ``unit``.

    Args:
        table: The table.
        metrics: Further columns of the table ``metrics``, by name, with their units.
    """
    import pyarrow as pa

    types: dict[Type, pa.DataType] = {
        "text": pa.string(),
        "word": pa.dictionary(pa.int32(), pa.string()),
        "count": pa.int32(),
        "id": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
        "time": pa.timestamp("ms", tz="UTC"),
        "numbers": pa.map_(pa.string(), pa.float64()),
        "texts": pa.map_(pa.string(), pa.string()),
        "words": pa.list_(pa.string()),
    }
    fields = [
        pa.field(each.name, types[each.type], metadata={"meaning": each.meaning, "unit": each.unit})
        for each in table.columns
    ]
    fields += [pa.field(name, pa.float64(), metadata={"unit": unit}) for name, unit in (metrics or {}).items()]
    return pa.schema(fields, metadata={VERSION_KEY: f"{table.name}/{VERSION}", "meaning": table.meaning})
