"""Add to each launch of a diagnosis the patch that makes its first advice, from the kernel's source on this machine.

``with_edits`` takes a ``Diagnosis`` and stores a ``SourceEdit``, a diff or the reason for none, in first findings.
A diff names the file from the root of its git repository, where ``git apply`` finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ncuview.patch import PATCHES, Edit, propose
from ncuview.reader.source import local_file
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis, SourceEdit


def with_edits(diagnosis: Diagnosis, folders: Sequence[Path] = ()) -> Diagnosis:
    """The diagnosis with a change of the source, or the reason why there is none, for each launch's first advice.

    Nothing is added where the kernel's source is not on this machine.

    Args:
        diagnosis: The diagnosis with the advice.
        folders: Where to look for sources in addition to the paths that the profile names.
    """
    located = cache(lambda file: local_file(file, folders))
    made: dict[tuple[object, ...], SourceEdit | None] = {}

    def edited(launch: LaunchDiagnosis) -> LaunchDiagnosis:
        first = next(iter(launch.findings), None)
        file = _file_of(launch, first) if first else ""
        if not first or not file:
            return launch
        lines = tuple(sorted(_lines_of(first, file)))
        key = (file, launch.kernel, first.optimization, first.rule.code, lines)
        if key not in made:
            found = located(file)
            made[key] = _proposed(found[1], _named(found[0]), launch.kernel, first, lines) if found else None
        change = made[key]
        outcomes = (replace(each, edit=change) if each is first else each for each in launch.outcomes)
        return replace(launch, outcomes=tuple(outcomes)) if change else launch

    return replace(diagnosis, launches=tuple(edited(launch) for launch in diagnosis.launches))


def _proposed(text: str, file: str, kernel: str, finding: Finding, lines: Sequence[int]) -> SourceEdit:
    fix = finding.fix
    if fix.patch not in PATCHES:
        return SourceEdit(reason=fix.by_hand or f"{finding.optimization} takes decisions that no program can make")
    change = propose(text, file, kernel, fix.patch, lines)
    if isinstance(change, Edit):
        return SourceEdit(change.title, change.diff(file), change.assumes)
    return SourceEdit(reason=change.reason)


def _named(path: Path) -> str:
    """The file's name in a patch: relative to its repository, else to the current folder, if it is in it."""
    here, file = Path.cwd(), path.resolve()
    root = next((folder for folder in file.parents if (folder / ".git").exists()), here)
    return str(file.relative_to(root) if file.is_relative_to(root) else path)


def _file_of(launch: LaunchDiagnosis, first: Finding) -> str:
    """The file of the kernel's own lines: the advice's, else that of any other finding of the launch."""
    findings = [first, *(each for each in launch.outcomes if isinstance(each, Finding))]
    places = (place for finding in findings for line in finding.where for place in line.called_from or (line,))
    return next((place.file for place in places), "")


def _lines_of(finding: Finding, file: str) -> set[int]:
    places = (place for line in finding.where for place in line.called_from or (line,))
    return {place.line for place in places if place.file == file}
