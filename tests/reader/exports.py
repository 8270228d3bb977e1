"""CSV exports in ncu's form, made from any numbers."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ABOUT = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
OLDER = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream")
"""Until 2021: when the kernel ran, and nothing of its size or its chip."""
OF_A_METRIC = ("Section Name", "Metric Name", "Metric Unit", "Metric Value")
OF_A_RULE = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")


SECTION_OF = {"Duration": "GPU Speed Of Light Throughput", "Block Limit SM": "Occupancy"}
"""Labels for people, and where they stand."""


@dataclass(frozen=True)
class Row:
    """A launch of an export; a metric that is left out is an empty cell."""

    metrics: Mapping[str, float | str] = field(default_factory=dict)
    kernel: str = "twice(float *, const float *)"
    block: tuple[int, int, int] = (256, 1, 1)
    grid: tuple[int, int, int] = (8192, 2, 1)

    def about(self, columns: Sequence[str], number: int) -> list[str]:
        cells = {
            "ID": str(number),
            "Process ID": "3411",
            "Process Name": "python3.11",
            "Host Name": "127.0.0.1",
            "Kernel Name": self.kernel,
            "Kernel Time": "2021-Nov-21 10:00:00",
            "Context": "1",
            "Stream": "7",
            "Block Size": str(self.block),
            "Grid Size": str(self.grid),
            "Device": "0",
            "CC": "9.0",
        }
        return [cells[column] for column in columns]


def cell(value: float | str, *, grouped: bool = True) -> str:
    """A number as ncu prints it, digits in groups of three, and not one digit lost."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return str(value)
    text = repr(float(value)).removesuffix(".0")
    if not grouped or "e" in text:
        return text
    integer, point, rest = text.partition(".")
    return f"{int(integer):,}{point}{rest}" if integer != "-0" else text


def raw_page(rows: Sequence[Row], units: Mapping[str, str], about: Sequence[str] = ABOUT) -> str:
    """``--page raw --csv``: a row per launch, a column per metric of ``units``, and a row of units."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([*about, *units])
    writer.writerow([*[""] * len(about), *units.values()])
    for number, row in enumerate(rows):
        writer.writerow([*row.about(about, number), *(cell(row.metrics.get(name, "")) for name in units)])
    return text.getvalue()


def details_page(rows: Sequence[Row], units: Mapping[str, str]) -> str:
    """``--page details --csv``: a row per metric of each launch."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([*ABOUT, *OF_A_METRIC])
    for number, row in enumerate(rows):
        for name, value in row.metrics.items():
            section = SECTION_OF.get(name, "Command line profiler metrics")
            writer.writerow([*row.about(ABOUT, number), section, name, units[name], cell(value)])
    return text.getvalue()


def details_page_with_rules(rows: Sequence[Row], units: Mapping[str, str]) -> str:
    """The same where sections with rules were collected: the columns of a metric end after its value, with a comma."""
    header, *of_metrics = details_page(rows, units).splitlines()
    of_rules = ",".join(f'"{name}"' for name in OF_A_RULE)
    said = ",".join(f'"{cell}"' for cell in (*rows[0].about(ABOUT, 0), "Occupancy", "", "", "", *["text"] * 5))
    return "".join(f"{line}\n" for line in (f"{header},{of_rules}", *(f"{line}," for line in of_metrics), said))
