"""``stored_history``: the trends of a store, whose launches are made of its tables, kernel by kernel.

A launch has what trends and baselines read: time, bottleneck, units, textbook metrics, verdict and findings. Textbook
metrics and the use of units are computed from the stored counters, as from those of a report. Of rules that did not
fire, the store does not know whether they passed, so that no change of such a rule is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC
from math import fsum, nan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ncuview.base.errors import BaselineMissing, ReportEmpty
from ncuview.comparison.launch_groups import configuration_of
from ncuview.engine.rank import bottleneck_uses
from ncuview.engine.shipped_plan import shipped_plan
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.names import NAMES
from ncuview.metrics.shared_pipes import UNIT as SHARED_PIPES
from ncuview.metrics.shared_pipes import shared_pipes
from ncuview.metrics.textbook import definitions, metric_names, textbook_metrics
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, Finding, Fix, Gain, LaunchDiagnosis, RuleId
from ncuview.records.profile import Configuration, Device, Failure, Frame, Profile, ReportInfo
from ncuview.records.program import Call
from ncuview.speedup.model import load_of
from ncuview.store.opened import Store, open_store
from ncuview.store.rows import ATTRIBUTE
from ncuview.trends import Called, DiagnosedReport, History, Placed, Series, history_with, point_of, series_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Row = dict[str, Any]
_WITHOUT_REASON = "the store does not hold the reason"
_OF_GPU = "gpu IS NOT DISTINCT FROM $gpu AND compute_capability IS NOT DISTINCT FROM $capability"


@dataclass(frozen=True)
class StoredReport:
    """The launches of a report on one GPU, which are still in the store."""

    number: int
    placed: DiagnosedReport
    """Without its launches."""
    launches: int
    time_ns: float
    attributes: Mapping[str, float]
    """Of the GPU, under Nsight Compute's names."""


def stored_history(name: str) -> History:
    """The trends of a store, as ``history`` makes them from its reports.

    In memory are the launches of one kernel at a time.

    Raises:
        UsageError: The name is that of no store.
        ReportError: There is no store, or it is damaged.
        ToolError: What stores need is not installed.
    """
    with open_store(name) as store:
        found = [_series(store, device, reports) for device, reports in reports_by_gpu(store).items()]
        failures = [
            Failure("NCU-CORRUPT", f"{report.name}: {report.damage}", report.hint, 3) for report in store.damaged
        ]
    if not found:
        raise ReportEmpty(f"there is no launch in {name}", hint="ncuview store add REPORT... --to STORE adds reports.")
    return history_with(found, failures)


def stored_diagnosis(name: str, choice: str) -> Diagnosis:
    """All launches of a point of a store, or of the reports with a label of this text.

    Raises:
        BaselineMissing: No report is of this point or label.
        NcuviewError: The store cannot be read.
    """
    with open_store(name) as store:
        chosen = chosen_reports(store, choice)
        placed = [
            each
            for device, reports in chosen.items()
            for kernel in kernels_on(store, device)
            for each in launches_of(store, device, kernel, reports)
        ]
        infos = tuple(info for reports in chosen.values() for each in reports for info in each.placed.diagnosis.reports)
        return Diagnosis(tuple(launch for _, launch in placed), infos)


def chosen_reports(
    store: Store, choice: str, without: frozenset[int] = frozenset()
) -> dict[Device, list[StoredReport]]:
    """The reports of a point, or with a label of this text, by GPU.

    Args:
        store: The store.
        choice: The point, or the text of a label; empty for all reports.
        without: The numbers of reports to leave out.

    Raises:
        BaselineMissing: There is none.
    """
    of_choice = store.sql(
        "SELECT report FROM reports WHERE $choice = '' OR point = $choice "
        "OR list_contains(map_values(labels), $choice)",
        choice=choice.encode("utf-8", "replace").decode(),  # DuckDB takes no lone surrogates
    )
    numbers = {number for (number,) in of_choice.fetchall()} - without
    by_gpu = reports_by_gpu(store).items()
    found = {device: [each for each in reports if each.number in numbers] for device, reports in by_gpu}
    found = {device: reports for device, reports in found.items() if reports}
    if not found:
        what, others = f"of {choice} " if choice else "", " besides the checked ones" if without else ""
        raise BaselineMissing(
            f"there is no report {what}in {store.name}{others}",
            hint="ncuview store sql 'SELECT DISTINCT point, labels FROM reports' shows points and labels.",
        )
    return found


def reports_by_gpu(store: Store) -> dict[Device, list[StoredReport]]:
    """The reports that have launches, by GPU and in the order of their points."""
    rows = _rows(
        store,
        "SELECT report, gpu, compute_capability, name, point, rank, created, ncu_version, clock_control, "
        "cache_control, replay_mode, launches, time_ns, gpu_attributes FROM reports WHERE launches > 0 "
        "ORDER BY point, rank, name, report",
    )
    found: defaultdict[Device, list[StoredReport]] = defaultdict(list)
    for row in rows:
        created = row["created"].astimezone(UTC) if row["created"] else None
        info = ReportInfo(row["name"] or "", row["ncu_version"] or "", created)
        settings = Settings(**{each.name: row[each.name] or "" for each in fields(Settings)})
        placed = DiagnosedReport(row["point"] or "", row["rank"] or "", Diagnosis((), (info,)), settings)
        attributes = {f"{ATTRIBUTE}{key}": value for key, value in row["gpu_attributes"] or ()}
        device = Device(row["gpu"] or "", row["compute_capability"] or "")
        found[device].append(StoredReport(row["report"], placed, row["launches"], row["time_ns"] or 0.0, attributes))
    return dict(found)


def kernels_on(store: Store, device: Device) -> list[str]:
    """The bare names of the kernels that were launched on a GPU."""
    query = f"SELECT DISTINCT kernel FROM launches WHERE {_OF_GPU} ORDER BY ALL"  # noqa: S608  (a constant)
    return [row["kernel"] for row in _rows(store, query, **_of(device))]


def launches_of(store: Store, device: Device, kernel: str, reports: Sequence[StoredReport]) -> list[Placed]:
    """The launches of a kernel in some reports, by report and place."""
    known = sorted(_needed() & set(store.tables.table("metrics").columns))
    columns = "".join(f', m."{name}"' for name in known)
    order = {report.number: at for at, report in enumerate(reports)}
    table = store.sql(
        f"SELECT l.*{columns} FROM launches AS l LEFT JOIN metrics AS m ON l.report = m.report "  # noqa: S608
        "AND l.launch = m.launch AND l.kernel = m.kernel AND l.gpu IS NOT DISTINCT FROM m.gpu "
        "WHERE l.kernel = $kernel AND l.gpu IS NOT DISTINCT FROM $gpu "
        "AND l.compute_capability IS NOT DISTINCT FROM $capability ORDER BY l.report, l.launch",
        kernel=kernel,
        **_of(device),
    ).to_arrow_table()
    rows = table.drop_columns(known).to_pylist()
    kept = [at for at, row in enumerate(rows) if row["report"] in order]
    kept.sort(key=lambda at: (order[rows[at]["report"]], rows[at]["launch"]))
    values = {name: table[name].to_numpy()[kept] for name in known}
    rows = [rows[at] for at in kept]
    found = _diagnosed(rows, values, [reports[order[row["report"]]] for row in rows], _findings(store, device, kernel))
    return [(reports[order[row["report"]]].placed, launch) for row, launch in zip(rows, found, strict=True)]


def _series(store: Store, device: Device, reports: Sequence[StoredReport]) -> Series:
    at_point: defaultdict[str, list[StoredReport]] = defaultdict(list)
    for report in reports:
        at_point[report.placed.point].append(report)
    points = [
        point_of(
            name,
            [each.placed for each in found],
            sum(each.launches for each in found),
            fsum(each.time_ns for each in found),
        )
        for name, found in at_point.items()
    ]
    total_ns = fsum(report.time_ns for report in reports)
    return series_of(device, points, _configurations(store, device, reports), _called(store, device, reports), total_ns)


def _configurations(store: Store, device: Device, reports: Sequence[StoredReport]) -> Iterator[Sequence[Placed]]:
    for kernel in kernels_on(store, device):
        of_each: defaultdict[Configuration, list[Placed]] = defaultdict(list)
        for placed in launches_of(store, device, kernel, reports):
            of_each[configuration_of(placed[1])].append(placed)
        yield from of_each.values()


def _called(store: Store, device: Device, reports: Sequence[StoredReport]) -> Iterator[Called]:
    points = {report.number: report.placed.point for report in reports}
    rows = store.sql(
        "SELECT c.report, c.file, c.line, c.function, c.operator, c.backward, c.forward_file, c.forward_line, "
        "l.demangled, count(*), sum(l.duration_ns) FROM calls AS c JOIN launches AS l ON c.report = l.report "
        "AND c.call = l.call WHERE l.gpu IS NOT DISTINCT FROM $gpu "
        "AND l.compute_capability IS NOT DISTINCT FROM $capability AND l.duration_ns IS NOT NULL "
        "GROUP BY ALL ORDER BY ALL",
        **_of(device),
    ).fetchall()
    for report, file, line, function, operator, backward, forward, at, demangled, launches, duration_ns in rows:
        called_by = Frame("", forward or "", at or 0) if forward or at else None
        call = Call(file or "", line or 0, function or "", operator or "", backward or "", forward=called_by)
        yield Called(points[report], call, demangled or "", launches, duration_ns)


def _needed() -> set[str]:
    """The metrics from which textbook metrics and the use of units are computed."""
    expressions = (text for each in definitions().values() for text in each.expressions)
    return {*NAMES.values(), *shipped_plan(), *(name for text in expressions for name in metric_names(text))}


def _diagnosed(
    rows: Sequence[Row],
    values: Mapping[str, NDArray[np.float64]],
    reports: Sequence[StoredReport],
    findings: Mapping[tuple[int, int], tuple[Finding, ...]],
) -> Iterator[LaunchDiagnosis]:
    if not rows:
        return
    analysis = Analysis(_profile(rows, values, reports))
    uses, textbook, pipes = bottleneck_uses(load_of(analysis)), textbook_metrics(analysis), shared_pipes(analysis)
    for at, (row, report) in enumerate(zip(rows, reports, strict=True)):
        yield LaunchDiagnosis(
            report=report.placed.diagnosis.reports[0].path,
            index=row["launch"],
            kernel=row["kernel"] or "",
            demangled=row["demangled"] or "",
            grid=(row["grid_x"], row["grid_y"], row["grid_z"]),
            block=(row["block_x"], row["block_y"], row["block_z"]),
            duration_ns=_number(row["duration_ns"]),
            device=Device(row["gpu"] or "", row["compute_capability"] or ""),
            origin="report",
            bottleneck=row["bottleneck"] or "",
            units=uses[at] | _use_of_bottleneck(row),
            attained=_number(row["attained"]),
            verdict=row["verdict"],
            metrics=textbook[at],
            outcomes=findings.get((row["report"], row["launch"]), ()),
            owner=row["owner"] or "",
            owner_kind=row["owner_kind"] or "yours",
            unit_names={SHARED_PIPES: pipes[at]} if SHARED_PIPES in uses[at] else {},
            not_judged=row["not_judged"] or (_WITHOUT_REASON if row["verdict"] == "not-judged" else ""),
            waits_for_peers=bool(row["waits_for_peers"]),
            time_share=row["time_share"],
        )


def _profile(
    rows: Sequence[Row], values: Mapping[str, NDArray[np.float64]], reports: Sequence[StoredReport]
) -> Profile:
    """The launches with their counters, without machine code."""
    attributes = sorted({name for report in reports for name in report.attributes})
    columns = {**values, **{name: [each.attributes.get(name, nan) for each in reports] for name in attributes}}
    launches = pd.DataFrame(rows).rename(columns={"launch": "index", "gpu": "device"})
    for name in ("device", "compute_capability", "demangled", "kernel"):
        launches[name] = launches[name].fillna("").astype("string")
    launches["duration_ns"] = launches["duration_ns"].astype(np.float64)
    launches["report"] = launches["report"].astype("string")
    launches["process"], launches["process_name"] = launches["process"].fillna(0).astype(np.int64), ""
    instructions = pd.DataFrame({"launch": [], "address": [], "sass": [], "file": [], "line": []})
    return Profile((), launches, pd.DataFrame(columns, dtype=np.float64), {}, instructions, {})


def _findings(store: Store, device: Device, kernel: str) -> dict[tuple[int, int], tuple[Finding, ...]]:
    """The findings of each launch of a kernel: advice first, by its rank."""
    rows = _rows(
        store,
        "SELECT report, launch, rule, name, optimization, grade, gain_low, gain_best, gain_high, bottleneck_after, "
        "message, rejected FROM findings WHERE kernel = $kernel AND gpu IS NOT DISTINCT FROM $gpu "
        "AND launch IS NOT NULL ORDER BY report, launch, rank = 0, rank, rule",
        kernel=kernel,
        gpu=device.name or None,
    )
    found: defaultdict[tuple[int, int], list[Finding]] = defaultdict(list)
    for row in rows:
        found[row["report"], row["launch"]].append(
            Finding(
                RuleId(row["rule"], row["name"] or ""),
                row["optimization"] or "",
                row["message"] or "",
                Gain(row["gain_low"], row["gain_best"], row["gain_high"]),
                row["bottleneck_after"] or "",
                check="",
                assumes="",
                evidence=(),
                where=(),
                cite=(),
                fix=Fix(""),
                rejected=row["rejected"] or "",
                grade=row["grade"] or "likely",
            )
        )
    return {launch: tuple(each) for launch, each in found.items()}


def _rows(store: Store, query: str, **values: Any) -> list[Row]:
    rows: list[Row] = store.sql(query, **values).to_arrow_table().to_pylist()
    return rows


def _of(device: Device) -> dict[str, str | None]:
    return {"gpu": device.name or None, "capability": device.compute_capability or None}


def _use_of_bottleneck(row: Row) -> dict[str, float]:
    """Machine code may be needed to compute it again."""
    return {} if row["bottleneck_use"] is None else {row["bottleneck"]: row["bottleneck_use"]}


def _number(value: float | None) -> float:
    return nan if value is None else value
