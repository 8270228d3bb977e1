"""Diagnose many reports, or read JSON diagnoses or a store -> ``History``: series over commits or ranks.

``history`` makes the series of each kernel per GPU model, which ``ncuview report`` shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import ReportEmpty, ReportUnreadable, UsageError
from ncuview.base.report_files import named_path
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import load_rules
from ncuview.pipeline.profiled import read_with_sources
from ncuview.reader.reader import damage_of
from ncuview.reader.settings import Settings, settings_of
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.store.batches import is_store
from ncuview.trends import DiagnosedReport, History, history_of
from ncuview.trends.document import read_document
from ncuview.trends.series_files import SeriesFile, series_files

if TYPE_CHECKING:
    from ncuview.base.patterns import Pattern
    from ncuview.engine.rule_file import Rule


def history(*targets: str | Path, rules: Sequence[Rule] | None = None, mine: Sequence[Pattern] = ()) -> History:
    """Compare many reports: the time of each kernel, and of each line, over commits, dates, ranks or GPUs.

    A file in a sub-folder belongs to the point of the sub-folder's name, any other file to the point of its own name.
    See docs/how-to/ci.md for names that identify ranks.

    Args:
        targets: Files or folders of reports, or of JSON documents that ``ncuview analyze`` printed; or one store.
        rules: The rules to evaluate on reports; None for the shipped ones. Documents and stores keep their outcomes.
        mine: Kernels and files of reports that match one of these patterns are the user's.

    Raises:
        UsageError: A name is empty, or a store is not the only target.
        ReportError: A file is unreadable or damaged, or no file is found.
        ToolError: What stores need is not installed.
    """
    if stores := [str(target) for target in targets if is_store(str(target))]:
        from ncuview.pipeline.stored import stored_history

        if len(targets) > 1:
            raise UsageError(
                f"{stores[0]}: a store is shown alone", hint="ncuview store add REPORT... --to STORE adds to it."
            )
        if mine:
            raise UsageError("--mine has no effect on a store", hint="ncuview store add --mine PATTERN decides it.")
        return stored_history(stores[0])
    found = series_files([named_path(target) for target in targets])
    reports = [member for member in found if not member.is_document]
    judged = _judged(reports, rules, mine)
    reported = [
        DiagnosedReport(member.point, member.rank, judged[str(member.file)], settings_of(member.file))
        for member in reports
    ]
    for member in found:
        if member.is_document and (diagnosis := read_document(member.file)) is not None:
            reported.append(DiagnosedReport(member.point, member.rank, diagnosis, Settings()))
        elif member.is_document and member.file in map(Path, targets):
            raise ReportUnreadable(
                f"{member.file} is no diagnosis", hint="ncuview analyze REPORT --format json prints one."
            )
    if not any(each.diagnosis.launches for each in reported):
        raise ReportEmpty(
            "there is no launch in any of the files",
            hint="Name a folder of .ncu-rep or .ncu-repz files, or of documents of `ncuview analyze --format json`.",
        )
    return history_of(reported)


def _judged(
    reports: Sequence[SeriesFile], rules: Sequence[Rule] | None, mine: Sequence[Pattern]
) -> dict[str, Diagnosis]:
    """The diagnosis of each report by its path. Reading and judging all of them at once is faster."""
    if not reports:
        return {}
    read = read_with_sources([member.file for member in reports])
    of_all = diagnose(read, load_rules() if rules is None else rules, mine=mine)
    launches: defaultdict[str, list[LaunchDiagnosis]] = defaultdict(list)
    for launch in of_all.launches:
        launches[launch.report].append(launch)
    return {
        info.path: replace(
            of_all, launches=tuple(launches[info.path]), reports=(info,), failure=damage_of([info]), program=None
        )
        for info in of_all.reports
    }
