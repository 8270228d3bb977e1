"""``with_patches``: the answer to ``--diff``, with a patch for the first advice, or the reason why there is none.

Beside the paths that the reports name it looks for sources in the folders of the reports, in their git repositories and
in that of the current folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ncuview.base.files import repository_of
from ncuview.base.paths import current_repository
from ncuview.patch import file_of, with_edits
from ncuview.reader.source import MovedSources, moved_sources
from ncuview.records.diagnosis import Diagnosis, Finding
from ncuview.records.profile import Profile


@dataclass(frozen=True)
class Patched:
    """The answer to ``--diff``.

    Attributes:
        diagnosis: The diagnosis with the patches as edits of its first advice.
        missing: Kernel and reason for each launch with advice that has no edit.
    """

    diagnosis: Diagnosis
    missing: Sequence[tuple[str, str]]


def with_patches(
    diagnosis: Diagnosis,
    folders: Sequence[Path] = (),
    *,
    profile: Profile | None = None,
    shipped_sources: Path | None = None,
) -> Patched:
    """Make an edit for the first advice of each launch, or give the reason why there is none.

    Sources of catalogue kernels inside an installed package are not edited.

    Args:
        diagnosis: The diagnosis.
        folders: Where the user's sources are, as far as the user names folders.
        profile: The diagnosed profile, whose reports hold the lines to compare files with.
        shipped_sources: The folder with the sources, where kernels of the catalogue are diagnosed.
    """
    moved = moved_sources(profile, _repositories(diagnosis)) if profile else MovedSources({}, {}, ())
    looked_in = list(folders)
    if shipped_sources and shipped_sources.parent.name == "_shipped":
        diagnosis = _without_edits(diagnosis)
    elif shipped_sources:
        looked_in.append(shipped_sources)
    edited = with_edits(diagnosis, looked_in, moved.files)
    missing: list[tuple[str, str]] = []
    for launch in edited.launches:
        for first in launch.findings[:1]:
            if first.edit and not first.edit.diff:
                missing.append((launch.kernel, first.edit.reason))
            elif first.edit is None and not (file := file_of(launch)):
                reason = f"no source line is known for {first.optimization}; nvcc -lineinfo records lines"
                missing.append((launch.kernel, reason))
            elif first.edit is None and shipped_sources:
                missing.append((launch.kernel, "a kernel of the catalogue, not your source"))
            elif first.edit is None:
                missing.append((launch.kernel, _not_found(file, moved, diagnosis, folders)))
    return Patched(edited, missing)


def _without_edits(diagnosis: Diagnosis) -> Diagnosis:
    launches = (
        replace(launch, outcomes=tuple(replace(o, edit=None) if isinstance(o, Finding) else o for o in launch.outcomes))
        for launch in diagnosis.launches
    )
    return replace(diagnosis, launches=tuple(launches))


def _repositories(diagnosis: Diagnosis) -> list[Path]:
    """The repositories of the current folder and of the reports."""
    of_reports = (repository_of(Path(report.path).absolute()) for report in diagnosis.reports)
    return list(dict.fromkeys(each for each in (current_repository(), *of_reports) if each))


def _not_found(file: str, moved: MovedSources, diagnosis: Diagnosis, folders: Sequence[Path]) -> str:
    places = [
        "at this path",
        f"beside the report{'s' * (len(diagnosis.reports) > 1)}",
        *(f"in the repository {each}" for each in moved.searched),
        *(f"below {each}" for each in folders),
    ]
    problem = moved.refused.get(file, f"it is not {', '.join(places[:-1])} or {places[-1]}")
    return f"its source {file} is not on this machine: {problem}; --source-folders names further folders"
