"""The conformance table: what ncuview says of reports of different versions, options and GPUs, and whether it is right.

    python -m validation.conformance.table PAGE FOLDER [FOLDER ...]

A folder holds reports that ``record.py`` made, or the sample reports that NVIDIA ships with Nsight Compute, which are
not in this repository. Each cell is a right verdict, a refusal by its name, or wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import load_rules
from ncuview.base.errors import NcuviewError
from ncuview.base.report_files import report_files
from ncuview.engine.rank import diagnose
from ncuview.pipeline.profiled import read_with_sources
from ncuview.records.diagnosis import LaunchDiagnosis

CHANGES = {
    "conflicts": {"shared_memory_padding"},
    "transposeCoalesced": {"shared_memory_padding"},
    "addConstDouble3": {"coalescing", "shared_memory_tiling", "data_layout", "vectorized_access"},
    "sobelDouble": {"lower_precision"},
}
"""Kernel, or the name of a sample whose kernel is another's too -> the changes that are right."""
FINISHED = {"finished", "transposeNoBankConflicts", "addConstDouble"}
PAIRS = {
    "transposeCoalesced": "transposeNoBankConflicts",
    "addConstDouble3": "addConstDouble",
    "sobelDouble": "sobelFloat",
}
"""Sample -> the sample with the change; each has one launch."""
GAINS = 1.05
"""Of a sample whose change gains less, no advice is right."""
_HEAD = """# Reports of different versions, options and GPUs

`python -m validation.conformance.table` over reports of `record.py` (our program `kinds.cu`) and over the samples that
NVIDIA ships with Nsight Compute, which are not in this repository. *Measured* is the sample with the change, on the
same GPU with the same ncu.

| report | ncu | GPU | launch | time | says | predicted | measured | |
| --- | --- | --- | --- | ---: | --- | ---: | ---: | --- |
"""


@dataclass(frozen=True)
class Row:
    """A launch of a report, or why there is none."""

    report: str
    version: str
    gpu: str
    launch: str
    time: str
    says: str
    predicted: str
    measured: str
    cell: str


def main(page: Path, folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...")]) -> None:
    """Diagnose every report, and write the table."""
    rows = [row for folder in folders for file in report_files([folder]) for row in rows_of(file)]
    lines = [f"| {' | '.join(vars(row).values())} |" for row in rows]
    wrong = [row for row in rows if row.cell.startswith("WRONG")]
    known = [row for row in rows if row.cell]
    refused = sum(row.cell.startswith("refused") for row in known)
    right = len(known) - len(wrong) - refused
    said = f"\n{len(known)} cells: {right} right, {refused} refused by name, {len(wrong)} wrong.\n"
    page.write_text(_HEAD + "\n".join(lines) + "\n" + said, encoding="utf-8")
    print(said.strip())


def rows_of(file: Path) -> Iterator[Row]:
    """The launches of a report; one row where it is refused."""
    try:
        profile = read_with_sources([file])
        found = diagnose(profile, load_rules())
    except NcuviewError as refused:
        yield Row(file.name, "", "", "", "", "", "", "", f"refused: {refused.id}")
        return
    for launch in found.launches:
        yield _row(file, found.reports[0].ncu_version, launch)


def _row(file: Path, version: str, launch: LaunchDiagnosis) -> Row:
    first = launch.findings[0] if launch.findings else None
    measured = _measured(file, launch)
    gain = first.predicted_speedup if first else None
    return Row(
        file.name,
        version,
        launch.device.name,
        launch.kernel,
        f"{launch.duration_ns / 1e3:,.1f} us",
        launch.not_judged or (first.optimization if first else launch.verdict),
        f"{gain.best:.2f} ({gain.low:.2f} to {gain.high:.2f})" if gain else "",
        f"{measured:.2f}" if measured else "",
        cell_of(_sample(file), launch, measured),
    )


def cell_of(sample: str, launch: LaunchDiagnosis, measured: float | None) -> str:
    """Whether what is said of a launch is right; empty where the right answer is not known."""
    first = launch.findings[0].optimization if launch.findings else ""
    name = sample if sample in CHANGES else launch.kernel
    if launch.not_judged:
        return f"right: not judged, {launch.not_judged}"
    if name in CHANGES and not (measured and measured < GAINS):
        return "right" if first in CHANGES[name] else _unknown(launch) or f"WRONG: {first or launch.verdict}"
    if name in FINISHED or name in CHANGES:
        return f"WRONG: {first}" if first else "right"
    return ""


def _unknown(launch: LaunchDiagnosis) -> str:
    """Of a launch whose metrics are too few to be judged, a verdict that says so is right."""
    return "right: not judged, metrics are missing" if launch.verdict == "not-judged" else ""


def _sample(file: Path) -> str:
    """The name of the sample in a file's name: ``2024-sobelDouble.ncu-rep``."""
    return file.stem.rpartition("-")[2]


def _measured(file: Path, launch: LaunchDiagnosis) -> float | None:
    """The time of a sample over that of the sample with the change; None where there is no such pair."""
    after = PAIRS.get(_sample(file))
    other = file.with_name(file.name.replace(_sample(file), after)) if after else file
    if other == file or not other.exists():
        return None
    found: Sequence[float] = read_with_sources([other]).launches["duration_ns"].tolist()
    return launch.duration_ns / found[0]


if __name__ == "__main__":
    typer.run(main)
