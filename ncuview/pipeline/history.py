"""Diagnose many reports, or read JSON diagnoses, and build each kernel's series over commits, dates, ranks or GPUs.

``history`` returns a ``History``, which the page of ``ncuview report`` shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import ReportEmpty, ReportUnreadable
from ncuview.base.report_files import named_path
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import load_rules
from ncuview.pipeline.profiled import read_with_sources
from ncuview.reader.reader import damage_of
from ncuview.reader.settings import Settings, settings_of
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.trends.document import read_document
from ncuview.trends.members import Member, members
from ncuview.trends.series import History, Reported, history_of

if TYPE_CHECKING:
    from ncuview.engine.rule_file import Rule


def history(*targets: str | Path, rules: Sequence[Rule] | None = None) -> History:
    """Set many reports beside each other: what each kernel took over commits, dates, ranks or GPUs.

    A file in a sub-folder belongs to the point that the sub-folder names, any other to the point of its own name. See
    docs/how-to/ci.md for names that tell ranks apart.

    Args:
        targets: Folders of reports or of JSON documents that ``ncuview analyze`` printed, or such files.
        rules: The rules to judge reports by; the shipped ones by default. Documents were judged when they were written.

    Raises:
        UsageError: A name is empty.
        ReportError: A file is unreadable or damaged, or there is none.
    """
    found = members([named_path(target) for target in targets])
    reports = [member for member in found if not member.is_document]
    judged = _judged(reports, rules)
    reported = [
        Reported(member.point, member.rank, judged[str(member.file)], settings_of(member.file)) for member in reports
    ]
    for member in found:
        if member.is_document and (diagnosis := read_document(member.file)) is not None:
            reported.append(Reported(member.point, member.rank, diagnosis, Settings()))
        elif member.is_document and member.file in map(Path, targets):
            raise ReportUnreadable(
                f"{member.file} is no diagnosis", hint="ncuview analyze REPORT --format json prints one."
            )
    if not any(each.diagnosis.launches for each in reported):
        raise ReportEmpty(
            "there is no launch in any of the files",
            hint="Name a folder of .ncu-rep or .ncu-repz files, or of what `ncuview analyze --format json` printed.",
        )
    return history_of(reported)


def _judged(reports: Sequence[Member], rules: Sequence[Rule] | None) -> dict[str, Diagnosis]:
    """The diagnosis of each report by its path. All are read and judged at once, which is faster."""
    if not reports:
        return {}
    read = read_with_sources([member.file for member in reports])
    together = diagnose(read, load_rules() if rules is None else rules)
    launches: defaultdict[str, list[LaunchDiagnosis]] = defaultdict(list)
    for launch in together.launches:
        launches[launch.report].append(launch)
    return {
        info.path: replace(together, launches=tuple(launches[info.path]), reports=(info,), failure=damage_of([info]))
        for info in together.reports
    }
