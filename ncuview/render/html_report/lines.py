"""Source lines of a ``Profile`` for the script of the HTML report: text and shares of waste, instructions, samples.

``LineData.of`` takes a ``KernelRow`` and returns its lines, ``LineData.files`` the texts of all lines returned so far.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ncuview.metrics.samples import NOT_ISSUED
from ncuview.reader.source import Sources
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.html_report.rows import KernelRow
from ncuview.render.words import shown_file

if TYPE_CHECKING:
    import pandas as pd

    from ncuview.records.profile import Profile

_AROUND = 2
_GAP = 8
"""Gaps of at most this many lines without counts are shown."""
_LONGEST = 300
"""Characters of a line that are shown."""
_MOST = 1500
"""Lines of one kernel that are shown."""
_SAMPLES = "smsp__pcsamp_warps_issue_stalled_"


class LineData:
    """The source lines of a profile, for the script of the page.

    Call ``of`` for every row, then ``files`` for the texts of the lines that it returned.
    """

    def __init__(self, profile: Profile) -> None:
        self._sources = Sources(profile)
        self._shares = _shares(profile)
        self._wanted: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._keys: dict[tuple[str, str], str] = {}

    def of(self, row: KernelRow) -> list[Any]:
        """For each file of the launch: its key, its counted lines, and the ranges of lines to show.

        A line is ``[number, waste, executed, samples]``, in thousandths of the launch; a range ``[first, last]``.
        """
        launch = row.shown
        counted = self._shares.get((launch.report, launch.index), {})
        waste = _waste(launch)
        found = []
        for file, lines in counted.items():
            text = self._sources.lines(launch.report, file)
            if not text:
                continue
            known = [line for line in sorted(lines) if line <= len(text)][:_MOST]
            if not known:
                continue
            ranges = _ranges(known, len(text))
            for first, last in ranges:
                self._wanted[launch.report, file].update(range(first, last + 1))
            rows = [[line, round(1000 * waste.get((file, line), 0.0)), *lines[line]] for line in known]
            found.append([self._keys.setdefault((launch.report, file), str(len(self._keys))), rows, ranges])
        return found

    def files(self) -> Mapping[str, Any]:
        """Key of a file -> ``[name, {line: text}]``, with all lines that ``of`` returned."""
        return {
            self._keys[report, file]: [
                shown_file(file),
                {str(at): self._sources.lines(report, file)[at - 1][:_LONGEST].rstrip() for at in sorted(wanted)},
            ]
            for (report, file), wanted in self._wanted.items()
        }


def _ranges(lines: Sequence[int], most: int) -> list[list[int]]:
    """First and last line of each range to show, with lines around it; small gaps are closed."""
    ranges: list[list[int]] = []
    for line in lines:
        first, last = max(1, line - _AROUND), min(most, line + _AROUND)
        if ranges and first <= ranges[-1][1] + _GAP:
            ranges[-1][1] = max(ranges[-1][1], last)
        else:
            ranges.append([first, last])
    return ranges


def _waste(launch: LaunchDiagnosis) -> dict[tuple[str, int], float]:
    where = launch.findings[0].where if launch.findings else ()
    return {(line.file, line.line): line.share for line in where}


def _shares(profile: Profile) -> dict[tuple[str, int], dict[str, dict[int, tuple[int, int]]]]:
    """Launch -> file -> line -> thousandths of its executed instructions and of its samples."""
    lines = profile.lines
    if "inst_executed" not in lines.columns or not len(lines):
        return {}
    sampled = [name for name in lines.columns if name.startswith(_SAMPLES)]
    sampled = [name for name in sampled if not name.endswith(NOT_ISSUED)] or sampled
    executed = _thousandths(lines, lines["inst_executed"])
    samples = _thousandths(lines, lines[sampled].sum(axis=1)) if sampled else [0] * len(lines)
    places: Sequence[Any] = profile.launches[["report", "index"]].to_dict("records")
    shares: dict[tuple[str, int], dict[str, dict[int, tuple[int, int]]]] = {}
    columns = (lines["launch"], lines["file"], lines["line"], executed, samples)
    for launch, file, line, ran, sample in zip(*columns, strict=True):
        place = places[launch]
        of_launch = shares.setdefault((str(place["report"]), int(place["index"])), {})
        of_launch.setdefault(str(file), {})[int(line)] = (ran, sample)
    return shares


def _thousandths(lines: pd.DataFrame, values: pd.Series[float]) -> list[int]:
    """Each value in thousandths of the total of its launch."""
    total = values.groupby(lines["launch"]).transform("sum")
    return [round(1000 * part) for part in (values / total).fillna(0.0)]
