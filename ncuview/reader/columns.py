"""Encode launches of a report as bytes (one line of JSON, then plain numbers), and decode them: ``Answer`` <-> bytes.

The child process that reads reports sends their launches (``LaunchColumns``) to the parent in this form, one report
after the other.
Kernels are launched often, so their code is sent once, in one table of instructions, and a launch names those that it
executed. The standard library decodes it without executing anything, which a pickle would do.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ncuview.records.profile import Workload

FLOAT64: Final = "d"
INT64: Final = "q"
"""Types of arrays: float64 and int64."""
_ITEM = 8
DEVICE_NAME = "device__attribute_display_name"
"""The metric that names the GPU. It is a text, kept in ``LaunchColumns.device``."""
EXECUTION_MODEL = "launch__execution_model"
"""The metric, a text, that says whether a kernel is SIMT or Tile; ncu has it from 2025.4 on."""
_TILE = "tile"


@dataclass(frozen=True)
class LaunchColumns:
    """Some launches of one report.

    ``values`` has a row for each launch and a column for each of ``metrics``, NaN where it is missing for a launch.
    ``executed`` names, launch after launch, the instructions that each executed, ``counts`` how many those are.
    ``instruction_values`` has, launch after launch, one row of that length for each metric that ``carried`` names.
    """

    index: Sequence[int]
    """Of each launch in its report, 0-based; and so on for the next three."""
    kernel: Sequence[str]
    demangled: Sequence[str]
    device: Sequence[str]
    metrics: Sequence[str]
    units: Sequence[str]
    values: Sequence[float] = field(repr=False)
    counts: Sequence[int] = ()
    carried: Sequence[Sequence[int]] = ()
    """For each launch the metrics that its instructions have, as places in ``instruction_metrics``."""
    instruction_metrics: Sequence[str] = ()
    address: Sequence[int] = ()
    """Of each instruction of the table, in bytes from the kernel's start; and so on for the next three."""
    sass: Sequence[str] = ()
    file: Sequence[str] = ()
    line: Sequence[int] = ()
    executed: Sequence[int] = field(default=(), repr=False)
    """Places in the table of instructions."""
    instruction_values: Sequence[float] = field(default=(), repr=False)
    sources: Mapping[str, str] = field(default_factory=dict)
    """File -> the text that ncu imported."""
    process: Sequence[int] = ()
    """Of each launch the number of its process, 0 where it is unknown. The parent adds it: NVIDIA's reader does not
    give it."""
    process_name: Sequence[str] = ()
    """Of each launch the file name of the program that its process ran; empty where it is unknown."""
    workload: Sequence[Workload] = ()
    """Of each launch; empty where all are SIMT kernels."""


_NUMBERS: Mapping[str, Literal["d", "q"]] = {"values": FLOAT64, "executed": INT64, "instruction_values": FLOAT64}
"""The columns that are sent as plain numbers, in this order."""


_OF_FRAMING = ("process", "process_name")
"""The columns that are not sent."""


def workload_of(execution_model: str) -> Workload:
    """What a kernel of this execution model is; one without it is SIMT."""
    return "Tile kernel" if execution_model.strip().lower() == _TILE else "kernel"


@dataclass(frozen=True)
class Reading:
    """What a child process has read.

    Attributes:
        total: How many launches the report holds.
        kernels: The names of all kernels that the filter was applied to.
        launches: Those that the filter selected.
    """

    total: int
    kernels: Sequence[str]
    launches: LaunchColumns


@dataclass(frozen=True)
class Answer:
    """What a child process says of a report."""

    reading: Reading
    lost: Mapping[int, str] = field(default_factory=dict)
    """Launches that it left out since they are damaged, and why."""


def encode(answer: Answer, report: int = 0) -> Iterator[bytes]:
    """Encode the answer for the report at this place in its task, in parts, to be written one after the other."""
    reading, launches = answer.reading, answer.reading.launches
    texts = {name: value for name, value in vars(launches).items() if name not in {*_NUMBERS, *_OF_FRAMING}}
    document = {
        "report": report,
        "total": reading.total,
        "kernels": reading.kernels,
        "lost": list(answer.lost.items()),
        "launches": texts,
    }
    # Kernel names of a damaged file may hold lone surrogates; ASCII-only JSON carries them safely.
    yield json.dumps(document).encode("ascii") + b"\n"
    for name, kind in _NUMBERS.items():
        yield array(kind, getattr(launches, name)).tobytes()


def decode(data: bytes, reports: int = 1) -> Iterator[Answer]:
    """Decode what ``encode`` wrote for so many reports, one after the other in the order of the task.

    Raises:
        ValueError: The next answer is cut, of another form, or for another report, or bytes follow the last one.
    """
    end = 0
    for report in range(reports):
        answer, end = _decoded(data, end, report)
        yield answer
    if end != len(data):
        raise ValueError(f"{len(data) - end:,} bytes after the last number")


def _decoded(data: bytes, start: int, report: int) -> tuple[Answer, int]:
    """The answer that starts at this byte, and where it ends."""
    end = data.find(b"\n", start) + 1
    try:
        document = json.loads(data[start:end])
        if document["report"] != report:
            raise ValueError(f"an answer for report {document['report']} of the task, not {report}")
        texts = document["launches"]
        counts, carried = texts["counts"], texts["carried"]
        if not all(type(index) is int for index in texts["index"]):
            raise ValueError("launches without a number")
        lengths = {
            "values": len(texts["index"]) * len(texts["metrics"]),
            "executed": sum(counts),
            "instruction_values": sum(count * len(metrics) for count, metrics in zip(counts, carried, strict=True)),
        }
        if len(data) - end < _ITEM * sum(lengths.values()):
            raise ValueError(f"{len(data) - end:,} bytes of numbers, not {_ITEM * sum(lengths.values()):,}")
        numbers: dict[str, Any] = {}
        view = memoryview(data)
        for name, kind in _NUMBERS.items():
            start, end = end, end + _ITEM * lengths[name]
            raw = view[start:end]
            numbers[name] = raw.cast(FLOAT64) if kind == FLOAT64 else raw.cast(INT64)
        reading = Reading(document["total"], document["kernels"], LaunchColumns(**texts, **numbers))
        return Answer(reading, {int(index): str(why) for index, why in document["lost"]}), end
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
