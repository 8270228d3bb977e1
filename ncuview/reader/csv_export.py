"""Read Nsight Compute's CSV exports (``ncu --import FILE --csv``, raw page or long form) -> ``Reading`` in base units.

``read_csv`` reads a file; ``base_unit`` converts a unit, ``function_name`` shortens a demangled kernel name.

The raw page (``--page raw``) has a row for each launch and a column for each metric, and above the launches a row of
units. The long form, ``--page details``, has a row for each metric of each launch, and one for each result of NVIDIA's
rules, which fills further columns. Its sections name metrics by labels for people; equivalents.toml maps those that
something here reads to metrics, where releases of ncu agree (validation/details_labels.py). By default ncu scales each
column to a readable unit (Kbyte, us) and groups digits with commas; here all become base units. Machine code and
sources are not exported.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportUnreadable
from ncuview.base.report_files import read_regular_file
from ncuview.reader.columns import DEVICE_NAME, EXECUTION_MODEL, LaunchColumns, Reading, workload_of
from ncuview.reader.equivalents import METRIC_OF_LABEL, METRICS_OF_COLUMN
from ncuview.reader.kernel_filter import matches

_EXPORT = "Export with: LC_ALL=C ncu --import REPORT --page raw --csv > FILE.csv"
_KERNEL = "Kernel Name"
_HEADER = re.compile(rb'^(?:.*,)?"?Kernel Name"?,', re.MULTILINE)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LARGEST = 256 << 20
_MOST_DIGITS = 18
"""Of an ID, which is an int64."""
_SECTION, _NAME, _UNIT, _VALUE = "Section Name", "Metric Name", "Metric Unit", "Metric Value"
_ABOUT = frozenset({"ID", "Context", "Stream", "Device", "CC"})
"""Columns that describe a launch and could be names of metrics; the others of this kind hold blanks or slashes."""
_METRIC = re.compile(r"[a-z]\w*(?:[.:]\w+)*")
"""Labels for people, as Duration, begin with a capital."""
_LOG = "=="
"""ncu's own messages begin so, and stand in the file when its whole output was kept."""

_PREFIXES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_PREFIXED = re.compile(r"(?P<prefix>[KMGTP])(?P<unit>[a-z].*)")
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
"""In ns. Until 2024 ncu wrote them out: usecond."""
_SECOND = 10**9

_NUMBER = re.compile(r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?)(?:\s+\(.*\))?", re.DOTALL)
"""Followed by the values of its instances, where the user asked for those."""
_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?:[eE][-+]?\d+)?")
_DOTTED_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:\.\d{3}){2,}")
_EXTENT = re.compile(r"\(?\s*(\d{1,10}),\s*(\d{1,10}),\s*(\d{1,10})\s*\)?")
_NUMBERS_OF = {"Grid Size": _EXTENT, "Block Size": _EXTENT, "CC": re.compile(r"(\d+)\.(\d+)")}
"""The numbers in a cell of a column that gives the values of metrics."""


@dataclass
class _Launch:
    """A launch, from its rows."""

    about: Mapping[str, str]
    numbers: dict[str, float] = field(default_factory=dict)
    device: str = ""
    execution_model: str = ""


def read_csv(path: Path, kernel: str = "") -> Reading:
    """The launches of a CSV export, in base units (ns, byte, per s).

    Args:
        path: The file; what ncu or the program printed before the table is skipped.
        kernel: Only launches of this kernel, or of those that match ``regex:`` and a pattern; empty for all.

    Raises:
        ReportUnreadable: It cannot be opened, or is not such an export.
        ReportDamaged: A row is cut, or a number cannot be read.
        ReportEmpty: The table has no launch.
    """
    data = read_regular_file(path, _LARGEST).removeprefix(_BYTE_ORDER_MARK)
    start = _HEADER.search(data)
    if start is None:
        raise ReportUnreadable(f"{path} holds no table of Nsight Compute", hint=_EXPORT)
    if not data.endswith(b"\n"):  # a number that was cut is a number too
        raise _damaged(f"{path} is damaged: its last line is incomplete")
    try:
        return _launches_of_kernel(_rows(data, start.start(), path), kernel, path)
    except MemoryError as error:
        raise ReportUnreadable(
            f"{path} does not fit into memory", hint="Export fewer launches, say with --launch-count."
        ) from error


def _launches_of_kernel(rows: Iterator[tuple[int, list[str]]], kernel: str, path: Path) -> Reading:
    _, header = next(rows)
    units: dict[str, str] = {}
    table = _table(header, rows, path)
    launches = _of_long_form(table, units, path) if _NAME in header else _of_raw_page(table, units, path)
    if not launches:
        raise ReportEmpty(f"{path} holds no kernel launch", hint=_EXPORT)
    if not any(launch.numbers for launch in launches):
        raise ReportUnreadable(f"no column of {path} has the name of an Nsight Compute counter", hint=_EXPORT)
    for launch in launches:
        _add_what_columns_say(launch, units)
    return _reading(launches, units, kernel)


def base_unit(unit: str) -> tuple[int, str]:
    """The factor that takes a value to its base unit, and that unit: ``Kbyte`` is 1000 ``byte``."""
    above, slash, below = unit.partition("/")
    factor = 1
    if _time(above):
        factor, above = _time(above), "ns"
    elif prefixed := _PREFIXED.fullmatch(above.replace("Hz", "hz")):
        factor, above = _PREFIXES[prefixed["prefix"]], prefixed["unit"]
    if _time(below):
        factor, below = factor * _SECOND // _time(below), "s"
    return factor, above + slash + below


def function_name(demangled: str) -> str:
    """A kernel's bare name, as reports have it: without namespaces, template arguments, result and parameters."""
    rest = _without_angles(demangled.replace("(anonymous namespace)", "").replace("->", ""))
    words = rest.partition("(")[0].rpartition("::")[2].split()
    return words[-1] if words else demangled


def _without_angles(name: str) -> str:
    """Without what stands between each < and its >."""
    kept: list[str] = []
    opened: list[int] = []
    for letter in name:
        if letter == ">" and opened:
            del kept[opened.pop() :]
            continue
        if letter == "<":
            opened.append(len(kept))
        kept.append(letter)
    return "".join(kept)


def _time(unit: str) -> int:
    """How many ns it is; 0 when it is no time."""
    return _TIMES.get(unit.removesuffix("econd") if unit.endswith("second") else unit, 0)


def _rows(data: bytes, start: int, path: Path) -> Iterator[tuple[int, list[str]]]:
    """All rows from a byte on but blank lines, each with the line that it ends on."""
    lines_before = data.count(b"\n", 0, start)
    file = io.BytesIO(data)
    file.seek(start)
    reader = csv.reader(io.TextIOWrapper(file, "utf-8", "backslashreplace", newline=""), strict=True)
    try:
        for row in reader:
            if row and not row[0].startswith(_LOG):
                yield lines_before + reader.line_num, row
    except csv.Error as error:
        raise _damaged(f"{path} is damaged at line {lines_before + reader.line_num:,}: {error}") from error


def _table(header: list[str], rows: Iterator[tuple[int, list[str]]], path: Path) -> Iterator[dict[str, str]]:
    ends_early = header.index(_VALUE) + 2 if _VALUE in header else len(header)
    for line, row in rows:
        cells = len(row)
        if cells == ends_early < len(header) and not row[-1]:
            row.extend([""] * (len(header) - cells))
        if len(row) != len(header):
            raise _damaged(f"{path} is damaged at line {line:,}: {cells} cells, and the header has {len(header)}")
        yield dict(zip(header, row, strict=True))


def _damaged(message: str) -> ReportDamaged:
    return ReportDamaged(message, hint=_EXPORT, id="NCU-CORRUPT")


def _of_raw_page(table: Iterator[dict[str, str]], units: dict[str, str], path: Path) -> list[_Launch]:
    """One launch per row, below a row of units that names no kernel."""
    scales = next(table, {})
    if scales.get(_KERNEL):
        raise ReportUnreadable(
            f"{path} has no row of units below its header, so the units of its numbers are unknown", hint=_EXPORT
        )
    factors = {}
    for name in scales:
        if _METRIC.fullmatch(name) and name not in _ABOUT:
            factors[name], units[name] = base_unit(scales[name])
    launches = []
    for row in table:
        launch = _Launch(row, device=row.get(DEVICE_NAME, ""), execution_model=row.get(EXECUTION_MODEL, ""))
        for name, factor in factors.items():
            if not math.isnan(value := _number(row[name], path)):
                launch.numbers[name] = value * factor
        launches.append(launch)
    return launches


def _of_long_form(table: Iterator[dict[str, str]], units: dict[str, str], path: Path) -> list[_Launch]:
    """One launch for the rows with the same ID; labels that mean no metric for certain are left out."""
    launches: dict[tuple[str, ...], _Launch] = {}
    kernels: dict[tuple[str, str], str] = {}
    for row in table:
        one, kernel = (row.get("ID", ""), row.get("Process ID", "")), row[_KERNEL]
        if one[0] and kernels.setdefault(one, kernel) != kernel:
            raise _damaged(f"{path} is damaged: launch {one[0]} is of {kernels[one]} and of {kernel}")
        launch = launches.setdefault((*one, kernel), _Launch(row))
        name, value = row[_NAME], row.get(_VALUE, "")
        name = METRIC_OF_LABEL.get((row.get(_SECTION, ""), name), name)
        if name == DEVICE_NAME:
            launch.device = value
        elif name == EXECUTION_MODEL:
            launch.execution_model = value
        elif _METRIC.fullmatch(name) and not math.isnan(number := _number(value, path)):
            factor, units[name] = base_unit(row.get(_UNIT, ""))
            launch.numbers[name] = number * factor
    return list(launches.values())


def _number(cell: str, path: Path) -> float:
    """The number in a cell; NaN where there is a text, or none."""
    if match := _NUMBER.fullmatch(cell):
        return float(match["number"].replace(",", ""))
    if _DECIMAL_COMMA.fullmatch(cell):
        raise ReportUnreadable(f"{path} has decimal commas ({cell}), which could be read as thousands", hint=_EXPORT)
    if _DOTTED_THOUSANDS.fullmatch(cell):
        raise ReportUnreadable(
            f"{path} has dots between thousands ({cell}), which could be read as decimals", hint=_EXPORT
        )
    return {"inf": math.inf, "-inf": -math.inf}.get(cell.lower(), math.nan)


def _add_what_columns_say(launch: _Launch, units: dict[str, str]) -> None:
    """Add sizes and the chip, which have columns of their own, under the names of the metrics with the same values."""
    for column, metrics in METRICS_OF_COLUMN.items():
        if said := _NUMBERS_OF[column].fullmatch(launch.about.get(column, "")):
            for metric, number in zip(metrics, said.groups(), strict=True):
                launch.numbers.setdefault(metric, float(number))
                units.setdefault(metric, "")
    if not launch.device and not (named := launch.about.get("Device", "")).isdecimal():
        launch.device = named


def _reading(launches: Sequence[_Launch], units: Mapping[str, str], kernel: str) -> Reading:
    ids = [launch.about.get("ID", "") for launch in launches]
    counted = len(set(ids)) == len(ids) and all(each.isdecimal() and len(each) <= _MOST_DIGITS for each in ids)
    indices = [int(each) for each in ids] if counted else list(range(len(launches)))
    names = [_function(launch.about[_KERNEL]) for launch in launches]
    wanted = [place for place, name in enumerate(names) if matches(name, kernel)]
    metrics = [name for name in units if any(name in launch.numbers for launch in launches)]
    return Reading(
        total=len(launches),
        kernels=sorted(set(names)),
        launches=LaunchColumns(
            index=[indices[place] for place in wanted],
            kernel=[names[place] for place in wanted],
            demangled=[launches[place].about[_KERNEL] for place in wanted],
            device=[launches[place].device for place in wanted],
            metrics=metrics,
            units=[units[name] for name in metrics],
            values=[launches[place].numbers.get(name, math.nan) for place in wanted for name in metrics],
            counts=[0] * len(wanted),
            carried=[()] * len(wanted),
            process=[_process(launches[place].about) for place in wanted],
            process_name=[re.split(r"[/\\]", launches[place].about.get("Process Name", ""))[-1] for place in wanted],
            workload=[workload_of(launches[place].execution_model) for place in wanted],
        ),
    )


def _process(about: Mapping[str, str]) -> int:
    """The number of the process; 0 where there is none."""
    number = about.get("Process ID", "")
    return int(number) if number.isdecimal() and len(number) <= _MOST_DIGITS else 0


_function = cache(function_name)
