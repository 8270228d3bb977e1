"""``baseline_in``: the launches in a store of the kernels, GPU and settings that are checked -> a ``Baseline``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import NotComparable, ReportError
from ncuview.base.version import VERSION
from ncuview.comparison.launch_groups import configuration_of
from ncuview.gate.baseline import Baseline, baseline_of
from ncuview.pipeline.store_batch import content_of
from ncuview.pipeline.stored import StoredReport, chosen_reports, launches_of
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import Device
from ncuview.store.batches import is_store, number_of
from ncuview.store.opened import open_store

if TYPE_CHECKING:
    from ncuview.gate.spread import Spreads
    from ncuview.pipeline.examine import Examined
    from ncuview.reader.settings import Settings

_UNDATED = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class StoredBaseline:
    """A store as a user names it as a baseline."""

    store: str
    choice: str
    """A point, or the text of a label; empty for all reports."""


def stored_baseline(name: str) -> StoredBaseline | None:
    """``fleet`` or ``fleet@main``; None where it names no store."""
    store, at, choice = name.rpartition("@")
    if at and choice and "/" not in choice and is_store(store) and not Path(name).exists():
        return StoredBaseline(store, choice)
    return StoredBaseline(name, "") if is_store(name) else None


def baseline_in(named: StoredBaseline, examined: Examined, settings: Sequence[Settings], spreads: Spreads) -> Baseline:
    """The launches of the same kernel, grid and block in a store, except those of the checked reports themselves.

    Of reports that were made under several conditions, only those of one are used: the conditions of the checked
    reports, or where there are none, the closest, so that the check names what differs.

    Args:
        named: The store.
        examined: What is checked.
        settings: The settings of ncu of the checked reports.
        spreads: The user's measured spreads.

    Raises:
        BaselineMissing: No report is of this point or label.
        NotComparable: No launch is of the same kernel, grid and block.
        NcuviewError: The store cannot be read.
    """
    diagnosis = examined.diagnosis
    with open_store(named.store) as store:
        chosen = chosen_reports(store, named.choice, without=_checked(diagnosis))
        wanted = {configuration_of(launch) for launch in diagnosis.launches}
        kernels = sorted({launch.kernel for launch in diagnosis.launches})
        placed = [
            each
            for device, reports in _comparable(chosen, diagnosis, settings).items()
            for kernel in kernels
            for each in launches_of(store, device, kernel, reports)
            if configuration_of(each[1]) in wanted and min(*each[1].grid, *each[1].block) > 0
        ]
    if not placed:
        raise NotComparable(
            f"no launch in {named.store} is of the same kernel, grid and block",
            hint="`ncuview store top` shows which kernels are in the store.",
        )
    of_reports = list({id(report): report for report, _ in placed}.values())
    infos = tuple(info for report in of_reports for info in report.diagnosis.reports)
    launches = tuple(launch for _, launch in placed)
    return baseline_of(Diagnosis(launches, infos), [report.settings for report in of_reports], spreads, VERSION)


def _checked(diagnosis: Diagnosis) -> frozenset[int]:
    """The numbers of the checked reports, which may be in the store already."""
    found = set()
    for report in diagnosis.reports:
        with suppress(ReportError, OSError):  # a report of a run here is gone
            found.add(number_of(content_of(Path(report.path))))
    return frozenset(found)


def _comparable(
    chosen: dict[Device, list[StoredReport]], diagnosis: Diagnosis, settings: Sequence[Settings]
) -> dict[Device, list[StoredReport]]:
    """For each checked GPU its reports of the closest conditions; of another GPU where there are none."""
    now = _conditions({report.ncu_version for report in diagnosis.reports}, settings)
    checked = {launch.device for launch in diagnosis.launches}
    devices = [device for device in chosen if device in checked] or list(chosen)[:1]
    return {device: _closest(chosen[device], now) for device in devices}


def _closest(reports: Sequence[StoredReport], now: tuple[str, ...]) -> list[StoredReport]:
    groups: defaultdict[tuple[str, ...], list[StoredReport]] = defaultdict(list)
    for report in reports:
        (info,) = report.placed.diagnosis.reports
        groups[_conditions({info.ncu_version}, [report.placed.settings])].append(report)

    def distance(conditions: tuple[str, ...]) -> tuple[int, int, float]:
        pairs = [(old, new) for old, new in zip(conditions, now, strict=True) if old != new]
        dates = (each.placed.diagnosis.reports[0].created or _UNDATED for each in groups[conditions])
        return sum(bool(old and new) for old, new in pairs), len(pairs), -max(dates).toordinal()

    return groups[min(groups, key=distance)]


def _conditions(versions: set[str], settings: Sequence[Settings]) -> tuple[str, ...]:
    """The version of ncu and its settings; each empty where it is unknown, or not the same in all reports."""
    options = ({getattr(each, field.name) for each in settings} for field in fields(settings[0])) if settings else ()
    return tuple(words.pop() if len(words) == 1 else "" for words in (set(versions), *options))
