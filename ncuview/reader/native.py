"""Child process that reads launches of reports with NVIDIA's ``ncu_report`` and writes them to stdout as columns.

``python -P -m ncuview.reader.native [REHEARSAL [without-code]]`` takes a ``Task`` and its reports through stdin.
task.py has the form of the task; launches are written in the form of columns.py, and progress as lines on stderr. The
answer for a report is written before the next one is loaded, so that no report can change what was read before. This is
the only module that imports ncu_report. NVIDIA's reader is native code that crashes on damaged files and never frees
what it loads, so it runs in this process only, without rights and with limits on memory and time (sandbox.py).
REHEARSAL is a shipped report that is read before the task arrives: what NVIDIA's libraries do once per process takes
longer than reading most reports, 0.4 s for the tables of the disassembler. A prepared process cannot be forked for each
report: the disassembler works in a thread, for which its copy would wait for ever.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from ncuview.base.system import IS_LINUX
from ncuview.reader.columns import (
    DEVICE_NAME,
    EXECUTION_MODEL,
    FLOAT64,
    INT64,
    Answer,
    LaunchColumns,
    Reading,
    encode,
    workload_of,
)
from ncuview.reader.kernel_filter import check_kernel_filter, matches
from ncuview.reader.sandbox import confine
from ncuview.reader.task import WITHOUT_CODE, Task, at_launch, from_stdin, reading
from ncuview.records.profile import Workload

_ADDRESS = re.compile(r"0x[0-9a-f]{9,}")
_NO_ADDRESSES = ("launch__", "sass__", "device__", "numa__", "nvlink__", "c2clink__", "profiler__", "pmsampling:")
"""Instances of metrics of these families are not instructions."""
_CODE_STARTS = "launch__function_pcs"


class Instances(NamedTuple):
    """A metric's values at machine instructions."""

    addresses: tuple[int, ...]
    values: list[float]


def relative(sass: str, start: int) -> str:
    """Jump targets as bytes from the kernel's start, so that they are the same in every run."""
    return _ADDRESS.sub(lambda match: hex(int(match.group(), 16) - start), sass.strip())


_ALIGNED = 16
"""Bytes of an instruction since Volta. NVIDIA's reader also gives code for some numbers that are no addresses."""


class Columns:
    """Collects launches in columns; code that several launches run is read once, without ``with_code`` not at all."""

    def __init__(self, ncu_report: Any, *, with_code: bool) -> None:
        self._with_code = with_code
        metric, raw = ncu_report.IMetric, ncu_report._ncu_report  # noqa: SLF001
        # The C functions under the methods of NVIDIA's classes, and the pointers in its objects: a report takes
        # millions of such calls, and looking up an object's pointer takes four times as long as reading a number.
        self._metric_by_name, self._kind = raw.IAction_metric_by_name, raw.IMetric_kind
        self._as_double, self._as_uint64 = raw.IMetric_as_double, raw.IMetric_as_uint64
        self._num_instances = raw.IMetric_num_instances
        self._number_kinds = {
            metric.ValueKind_DOUBLE: self._as_double,
            metric.ValueKind_FLOAT: self._as_double,
            metric.ValueKind_UINT32: self._as_uint64,
            metric.ValueKind_UINT64: self._as_uint64,
        }
        self._text_kind, self._address_kind = metric.ValueKind_STRING, metric.ValueKind_UINT64
        kinds: dict[str, Workload] = {
            "RANGE": "range",
            "GRAPH": "graph",
            "CMDLIST": "command list",
            "SUBGRID_SCHEDULE": "subgrid schedule",
        }
        numbers = {kind: getattr(ncu_report.IAction, f"WorkloadType_{kind}", None) for kind in kinds}
        self._workloads = {numbers[kind]: word for kind, word in kinds.items()}  # older readers know fewer kinds
        self._columns: dict[str, int] = {}
        self._units: list[str] = []
        self._rows: list[array[float]] = []
        self._about: dict[str, list[Any]] = {
            name: [] for name in ("index", "kernel", "demangled", "device", "workload")
        }
        self._counts: list[int] = []
        self._carried: list[list[int]] = []
        self._instruction_metrics: dict[str, int] = {}
        self._has_sources: set[int] = set()
        self._code_starts: dict[int, int] = {}
        self._is_code: dict[tuple[int, int], bool] = {}
        self._places: dict[tuple[int, int], dict[int, int]] = {}
        self._table: dict[str, list[Any]] = {name: [] for name in ("address", "sass", "file", "line")}
        self._executed: array[int] = array(INT64)
        self._instruction_values: array[float] = array(FLOAT64)
        self._sources: dict[str, str] = {}

    def add(self, index: int, kernel: str, action: Any, code: int) -> None:
        """Read one launch; launches with the same ``code`` run the same kernel of the same module."""
        row = array(FLOAT64, [math.nan]) * len(self._columns)
        self._rows.append(row)
        device, model, instances = "", "", {}
        pointer = action.this
        for name in action.metric_names():
            metric = self._metric_by_name(pointer, name)
            number = metric.this
            kind = self._kind(number)
            if read := self._number_kinds.get(kind):
                column = self._columns.get(name)
                if column is None:
                    column = self._columns[name] = len(self._units)
                    self._units.append(metric.unit())
                if column >= len(row):
                    row.extend([math.nan] * (column + 1 - len(row)))
                row[column] = read(number)
            elif kind == self._text_kind and name == DEVICE_NAME:
                device = metric.as_string() or ""
            elif kind == self._text_kind and name == EXECUTION_MODEL:
                model = metric.as_string() or ""
            if self._with_code and not name.startswith(_NO_ADDRESSES) and (count := self._num_instances(number)):
                found = self._instances(action, metric, count, code)
                if found:
                    instances[name] = found
        about = {
            "index": index,
            "kernel": kernel,
            "demangled": action.name(action.NameBase_DEMANGLED),
            "device": device,
            "workload": self._workloads.get(action.workload_type(), workload_of(model)),
        }
        for name, value in about.items():
            self._about[name].append(value)
        if self._with_code and code not in self._has_sources:
            self._has_sources.add(code)
            self._sources.update((name, text) for name, text in action.source_files().items() if text)
        self._add_instructions(action, instances, code)

    def _instances(self, action: Any, metric: Any, count: int, code: int) -> Instances | None:
        """The values of a metric that ncu attributes to machine instructions."""
        if not metric.has_correlation_ids():
            return None
        ids = metric.correlation_ids().this
        # A value of a complete launch may have one instance, at address 0, where no code lies.
        if self._kind(ids) != self._address_kind or (count == 1 and self._as_uint64(ids, 0) == 0):
            return None
        if not self._lies_in_code(action, code, self._as_uint64(ids, 0)):
            return None
        return Instances(
            tuple(map(self._as_uint64, repeat(ids), range(count))),
            list(map(self._as_double, repeat(metric.this), range(count))),
        )

    def _lies_in_code(self, action: Any, code: int, address: int) -> bool:
        if (code, address) not in self._is_code:
            may_be = address % _ALIGNED == 0 and address >= self._start_of(action, code)
            self._is_code[code, address] = may_be and bool(action.sass_by_pc(address))
        return self._is_code[code, address]

    def _start_of(self, action: Any, code: int) -> int:
        """Where the kernel's code starts, 0 if unknown: below it, NVIDIA's reader finds code by chance."""
        if code not in self._code_starts:
            starts = action.metric_by_name(_CODE_STARTS)
            self._code_starts[code] = self._as_uint64(starts.this, 0) if starts and starts.num_instances() else 0
        return self._code_starts[code]

    def _add_instructions(self, action: Any, instances: dict[str, Instances], code: int) -> None:
        addresses = tuple(sorted(set().union(*{each.addresses for each in instances.values()})))
        # Counts from outside the kernel's code have a number that is no address, far below all addresses.
        while addresses and not self._lies_in_code(action, code, addresses[0]):
            addresses = addresses[1:]
        self._counts.append(len(addresses))
        self._carried.append(
            [self._instruction_metrics.setdefault(name, len(self._instruction_metrics)) for name in instances]
        )
        if addresses:
            self._executed.extend(self._places_of(action, addresses, code))
        for each in instances.values():
            if each.addresses == addresses:
                self._instruction_values.extend(each.values)
            else:
                known = dict(zip(*each, strict=True))
                self._instruction_values.extend([known.get(address, 0.0) for address in addresses])

    def _places_of(self, action: Any, addresses: Sequence[int], code: int) -> list[int]:
        """Where these instructions are in the table; new ones are added to it."""
        start = addresses[0]
        if (code, start) not in self._places:
            self._places[code, start] = {}
        places = self._places[code, start]
        for address in addresses:
            if address not in places:
                places[address] = len(self._table["address"])
                source = action.source_info(address)
                self._table["address"].append(address - start)
                self._table["sass"].append(relative(action.sass_by_pc(address), start))
                self._table["file"].append(source.file_name() if source else "")
                self._table["line"].append(source.line() if source else 0)
        return [places[address] for address in addresses]

    def columns(self) -> LaunchColumns:
        """All launches that were added."""
        values: array[float] = array(FLOAT64)
        for row in self._rows:
            values.extend(row)
            values.extend([math.nan] * (len(self._columns) - len(row)))
        return LaunchColumns(
            **self._about,
            metrics=list(self._columns),
            units=self._units,
            values=values,
            counts=self._counts,
            carried=self._carried,
            instruction_metrics=list(self._instruction_metrics),
            **self._table,
            executed=self._executed,
            instruction_values=self._instruction_values,
            sources=self._sources,
        )


def main(rehearsal: str = "", *words: str) -> None:
    """Write the launches of the task, report by report, with the number of launches in each report."""
    import ncu_report

    # All modules and libraries are loaded before the rights to open files are given up, and before there is a task.
    for library in Path(ncu_report.__file__).parent.glob("libnvperf_host.so*"):
        ctypes.CDLL(str(library))
    if rehearsal:
        _rehearse(ncu_report, rehearsal, with_code=WITHOUT_CODE not in words)
    given = from_stdin()
    if given is None:
        return
    task, reports = Task.from_json(given[0]), given[1]
    check_kernel_filter(task.kernel)
    loads = [_prepared(ncu_report, report) for report in reports]
    if task.with_code:
        stay_on_this_processor()
    confine(task.memory, task.cpu_s)
    _say(reading())
    gc.disable()  # a report's objects live until it is read, and collection takes as long as reading
    for place, (load, (start, launches)) in enumerate(zip(loads, task.reports, strict=True)):
        context, columns = load(), Columns(ncu_report, with_code=task.with_code)
        for part in encode(_read(context, start, launches, columns, task.kernel), place):
            sys.stdout.buffer.write(part)
        sys.stdout.flush()
    os._exit(0)  # at once: freeing what it holds would take time


def stay_on_this_processor() -> None:
    """Keep all threads of this process, and those that they start, on the processor that runs it now.

    NVIDIA's disassembler gives each instruction to a thread and waits for it. Where the scheduler wakes that thread on
    another processor, an instruction takes 100 us of processor time, and 40 us on the same one.
    """
    if not IS_LINUX:
        return
    processor = ctypes.CDLL(None).sched_getcpu()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError, ValueError):  # the thread has ended, or no processor is known: it runs anywhere
            os.sched_setaffinity(int(thread.name), {processor})


def _read(
    context: Any, start: int, launches: Iterable[tuple[str, int, int | None]], columns: Columns, kernel: str
) -> Answer:
    """Read the launches of a report, from ``start`` on."""
    places = [(each, launch) for each in context for launch in range(each.num_actions())]
    names, lost = set(), {}
    for index, (mangled, code, metrics) in enumerate(launches, start):
        if index >= len(places):
            break
        _say(at_launch(index))
        of_range, launch = places[index]
        action = of_range.action_by_idx(launch)
        if why := _damage(action, metrics):
            lost[index] = why
            continue
        name = action.name(action.NameBase_FUNCTION)
        names.add(name)
        if matches(name, kernel):
            # The code's number is used only where the launch at this place has the same name; else its code is its own.
            shared = code >= 0 and len(context) == 1 and mangled == action.name(action.NameBase_MANGLED)
            columns.add(index, name, action, code if shared else -1 - index)
    return Answer(Reading(len(places), sorted(names), columns.columns()), lost)


def _rehearse(ncu_report: Any, report: str, *, with_code: bool) -> None:
    """Read the first launch of a report, and discard it."""
    action = ncu_report.load_report(report)[0].action_by_idx(0)
    Columns(ncu_report, with_code=with_code).add(0, "", action, 0)


def _prepared(ncu_report: Any, report: str) -> Callable[[], Any]:
    """The native call that loads a report, found before the rights to open files are given up."""
    native = ncu_report._ncu_report  # noqa: SLF001
    load = native.load_report
    native.load_report = partial(partial, load)
    prepared: partial[Any] = ncu_report.load_report(report)
    native.load_report = load
    return prepared


def _say(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


def _damage(action: Any, announced: int | None) -> str:
    """Why a launch counts as damaged, empty if not: NVIDIA's reader gives one without metrics, or with some missing."""
    names = action.metric_names()
    if not names or (announced is not None and len(names) != announced):
        return f"has {len(names)} metrics" + (f", not {announced}" if announced else "")
    if not all(names):
        return "has metrics without a name"
    try:
        "".join([*names, action.name(action.NameBase_FUNCTION), action.name(action.NameBase_DEMANGLED)]).encode()
    except (TypeError, UnicodeEncodeError):
        return "has names that are no text"
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
