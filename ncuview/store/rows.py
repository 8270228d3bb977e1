"""``tables_of``: a diagnosed report -> its rows in each table of a store, as Arrow tables.

Paths become base names unless they are kept; hosts and users stand in no column. Text is valid Unicode.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ncuview.base.version import VERSION as NCUVIEW_VERSION
from ncuview.programs.lines import LineTime, by_line
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis, main_cause
from ncuview.records.profile import Profile
from ncuview.records.program import Call
from ncuview.store.batches import number_of
from ncuview.store.names import base_name, parts_of, without_folders
from ncuview.store.schema import TABLE, TableName, arrow_schema
from ncuview.store.series import series_of
from ncuview.store.work import CYCLES, exact_of, work_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ATTRIBUTE = "device__attribute_"
"""How the metrics begin that say what the GPU is."""
_COUNTED = "inst_executed"
"""The metric that ncu gives for each instruction of a kernel; others leave some out."""
_AXES = "xyz"
Row = dict[str, Any]


@dataclass(frozen=True)
class JudgedReport:
    """A report that was read and diagnosed, with what the tables say of it besides."""

    content: str
    """The SHA-256 of its unpacked content."""
    name: str
    """The file, as the user named it."""
    profile: Profile
    diagnosis: Diagnosis
    settings: Settings
    cuda_version: str
    point: str
    rank: str
    labels: Mapping[str, str]
    keep_paths: bool

    @cached_property
    def created(self) -> datetime | None:
        """When it was written."""
        return self.diagnosis.reports[0].created

    @cached_property
    def lines(self) -> list[LineTime[LaunchDiagnosis]]:
        """The lines of the program, the costliest first."""
        return by_line(((0, each) for each in self.diagnosis.launches if isfinite(each.duration_ns)), 1)

    @cached_property
    def time_ns(self) -> float:
        """Of all launches of known duration."""
        return fsum(each.duration_ns for each in self.diagnosis.launches if isfinite(each.duration_ns))

    def text(self, words: str) -> str | None:
        """A text as columns have it: without folders unless they are kept; None where it is empty."""
        shown = words if self.keep_paths else without_folders(words)
        return shown.encode("utf-8", "replace").decode("utf-8") or None

    def file(self, path: str) -> str | None:
        """A file's name as columns have it."""
        return self.text(path if self.keep_paths else base_name(path))

    def place(self, gpu: str) -> Row:
        """What all rows of the report have."""
        month = f"{self.created:%Y-%m}" if self.created else None
        return {"report": number_of(self.content), "gpu": self.text(gpu), "month": month}

    @property
    def conditions(self) -> Row:
        """Under which it was made."""
        return {
            "created": self.created,
            "ncu_version": self.text(self.diagnosis.reports[0].ncu_version),
            "cuda_version": self.text(self.cuda_version),
            "clock_control": self.text(self.settings.clock_control),
            "cache_control": self.text(self.settings.cache_control),
            "replay_mode": self.text(self.settings.replay_mode),
            "point": self.text(self.point),
            "rank": self.text(self.rank),
        }


def tables_of(judged: JudgedReport) -> dict[TableName, pa.Table]:
    """The rows of a report in each table, in the order of its launches."""
    rows: dict[TableName, list[Row]] = {
        "reports": list(_reports(judged)),
        "launches": list(_launches(judged)),
        "findings": [*_findings(judged), *_findings_of_program(judged)],
        "lines": list(_lines(judged)),
        "calls": list(_calls(judged)),
    }
    made = {name: pa.Table.from_pylist(each, arrow_schema(TABLE[name])) for name, each in rows.items()}
    return {**made, "metrics": _metrics(judged)}


def refused_report(content: str, name: str, why: str) -> dict[TableName, pa.Table]:
    """The row of a report of which nothing could be read."""
    row = {
        "report": number_of(content),
        "content": content,
        "name": name,
        "ncuview_version": NCUVIEW_VERSION,
        "launches": 0,
        "damage": why,
    }
    return {"reports": pa.Table.from_pylist([row], arrow_schema(TABLE["reports"]))}


def _reports(judged: JudgedReport) -> Iterator[Row]:
    by_gpu: defaultdict[str, list[int]] = defaultdict(list)
    for at, launch in enumerate(judged.diagnosis.launches):
        by_gpu[launch.device.name].append(at)
    attributes = [name for name in judged.profile.metrics.columns if name.startswith(ATTRIBUTE)]
    for gpu, places in by_gpu.items():
        launches = [judged.diagnosis.launches[at] for at in places]
        values = judged.profile.metrics.loc[places[0], attributes].to_dict().items()
        yield {
            **judged.place(gpu),
            "compute_capability": judged.text(launches[0].device.compute_capability),
            **judged.conditions,
            "content": judged.content,
            "name": judged.file(judged.name),
            "labels": sorted(judged.labels.items()),
            "ncuview_version": NCUVIEW_VERSION,
            "launches": len(launches),
            "time_ns": fsum(each.duration_ns for each in launches if isfinite(each.duration_ns)),
            "damage": judged.text(judged.diagnosis.reports[0].damage),
            "gpu_attributes": [
                (str(name).removeprefix(ATTRIBUTE), float(value)) for name, value in values if isfinite(value)
            ],
        }


def _launches(judged: JudgedReport) -> Iterator[Row]:
    calls = {id(launch): number for number, line in enumerate(judged.lines) for launch in line.launches}
    codes = _codes(judged.profile)
    conditions = judged.conditions
    about = zip(judged.profile.launches["process"], judged.profile.launches["workload"], strict=True)
    works, cycles = _works(judged.profile), judged.profile.metrics.get(CYCLES)
    for at, (launch, (process, workload)) in enumerate(zip(judged.diagnosis.launches, about, strict=True)):
        function, arguments = parts_of(launch.demangled)
        first = launch.findings[0] if launch.findings else None
        gain = first.predicted_speedup.best if first else None
        row = {
            **judged.place(launch.device.name),
            "launch": launch.index,
            "compute_capability": judged.text(launch.device.compute_capability),
            **conditions,
            "kernel": judged.text(launch.kernel),
            "demangled": judged.text(launch.demangled),
            "function": judged.text(function),
            "template_arguments": judged.text(arguments),
            "code": codes.get(at),
            **{f"grid_{axis}": size for axis, size in zip(_AXES, launch.grid, strict=True)},
            **{f"block_{axis}": size for axis, size in zip(_AXES, launch.block, strict=True)},
            "duration_ns": _known(launch.duration_ns),
            "time_share": launch.time_share,
            "verdict": launch.verdict,
            "bottleneck": judged.text(launch.bottleneck),
            "attained": _known(launch.attained),
            "rule": first.rule.code if first else None,
            "optimization": first.optimization if first else None,
            "speedup": gain,
            "saved_ns": _known(launch.whole_ns * (1 - 1 / gain)) if gain else None,
            "owner": judged.text(launch.owner),
            "owner_kind": launch.owner_kind,
            "call": calls.get(id(launch)),
            "process": int(process) or None,
            "workload": workload,
            "waits_for_peers": launch.waits_for_peers,
            "bottleneck_use": launch.units.get(launch.bottleneck),
            "not_judged": judged.text(main_cause(launch)) if launch.unexamined or launch.not_judged else None,
            "work": works[at],
            "cycles": None if cycles is None else _known(float(cycles.iloc[at])),
        }
        yield {**row, "series": series_of(row)}


def _findings(judged: JudgedReport) -> Iterator[Row]:
    for launch in judged.diagnosis.launches:
        ranks = {id(finding): rank for rank, finding in enumerate(launch.findings, start=1)}
        for finding in _findings_in(launch):
            gain = finding.predicted_speedup
            worst = finding.where[0] if finding.where else None
            yield {
                **judged.place(launch.device.name),
                "launch": launch.index,
                "kernel": judged.text(launch.kernel),
                "rule": finding.rule.code,
                "name": finding.rule.name,
                "optimization": finding.optimization,
                "grade": finding.grade,
                "rank": ranks.get(id(finding), 0),
                "gain_low": gain.low,
                "gain_best": gain.best,
                "gain_high": gain.high,
                "saved_ns": _known(launch.whole_ns * (1 - 1 / gain.best)),
                "bottleneck_after": judged.text(finding.bottleneck_after),
                "file": judged.file(worst.file) if worst else None,
                "line": worst.line if worst else None,
                "message": judged.text(finding.message),
                "rejected": judged.text(finding.rejected),
            }


def _findings_of_program(judged: JudgedReport) -> Iterator[Row]:
    program, launches = judged.diagnosis.program, judged.diagnosis.launches
    numbers = {_at(line.call): number for number, line in reversed(list(enumerate(judged.lines)))}
    for rank, finding in enumerate(program.findings if program else (), start=1):
        first = finding.calls[0] if finding.calls else None
        yield {
            **judged.place(launches[finding.launches[0] if finding.launches else 0].device.name),
            "rule": finding.code,
            "name": finding.name,
            "optimization": finding.change,
            "rank": rank,
            "gain_low": finding.gain.low,
            "gain_best": finding.gain.best,
            "gain_high": finding.gain.high,
            "saved_ns": _known(finding.saved_ns.best),
            "call": numbers.get(_at(first)) if first else None,
            "file": judged.file(first.file) if first else None,
            "line": first.line or None if first else None,
            "message": judged.text(finding.message),
        }


def _lines(judged: JudgedReport) -> Iterator[Row]:
    for launch in judged.diagnosis.launches:
        for finding in _findings_in(launch):
            for line in finding.where:
                yield {
                    **judged.place(launch.device.name),
                    "launch": launch.index,
                    "kernel": judged.text(launch.kernel),
                    "rule": finding.rule.code,
                    "file": judged.file(line.file),
                    "line": line.line,
                    "share": line.share,
                }


def _calls(judged: JudgedReport) -> Iterator[Row]:
    for number, line in enumerate(judged.lines):
        call = line.call
        yield {
            **judged.place(line.launches[0].device.name),
            "call": number,
            "file": judged.file(call.file),
            "line": call.line or None,
            "function": judged.text(call.function),
            "operator": judged.text(call.operator),
            "backward": judged.text(call.backward),
            "forward_file": judged.file(call.forward.file) if call.forward else None,
            "forward_line": call.forward.line or None if call.forward else None,
            "launches": len(line.launches),
            "time_ns": line.time_ns,
            "share": line.time_ns / judged.time_ns if judged.time_ns else None,
        }


def _metrics(judged: JudgedReport) -> pa.Table:
    """A column for each metric that a launch has, by name, besides those of all files."""
    values = judged.profile.metrics
    finite = np.isfinite(values.to_numpy(np.float64))
    names = sorted(
        name for name, known in zip(values.columns, finite.any(axis=0), strict=True)
        if known and not name.startswith(ATTRIBUTE)
    )  # fmt: skip
    units = {name: judged.profile.units.get(name, "") for name in names}
    schema = arrow_schema(TABLE["metrics"], units)
    rows = [
        {**judged.place(each.device.name), "launch": each.index, "kernel": judged.text(each.kernel)}
        for each in judged.diagnosis.launches
    ]
    fixed = pa.Table.from_pylist(rows, pa.schema(list(schema)[: len(schema) - len(names)]))
    columns = [pa.array(_finite(values[name].to_numpy(np.float64)), from_pandas=True) for name in names]
    return pa.Table.from_arrays([*fixed.columns, *columns], schema=schema)


def _codes(profile: Profile) -> dict[int, int]:
    """A hash of the machine code of each launch whose instructions are all known."""
    instructions = profile.instructions
    if _COUNTED not in instructions.columns:
        return {}
    places, texts = pd.factorize(instructions["sass"].to_numpy(object))
    words = np.array([_hash(text.encode("utf-8", "replace")) for text in texts], dtype=np.int64)[places]
    counted = instructions[_COUNTED].notna().to_numpy()
    launches = instructions["launch"].to_numpy()
    ends = np.flatnonzero(np.diff(launches, append=-1)) + 1
    starts = [0, *ends[:-1].tolist()]
    return {
        int(launches[start]): _hash(words[start:end].tobytes())
        for start, end in zip(starts, ends.tolist(), strict=True)
        if counted[start:end].all()
    } if len(launches) else {}  # fmt: skip


def _works(profile: Profile) -> list[int | None]:
    names = exact_of(name for name in profile.metrics.columns if not name.startswith(ATTRIBUTE))
    return [work_of(names, _finite(values)) for values in profile.metrics[names].to_numpy(np.float64)]


def _hash(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values), values, np.nan)


def _findings_in(launch: LaunchDiagnosis) -> Sequence[Finding]:
    return [outcome for outcome in launch.outcomes if isinstance(outcome, Finding)]


def _at(call: Call) -> tuple[str, int, str]:
    return call.file, call.line, call.function


def _known(value: float) -> float | None:
    return value if isfinite(value) else None
