"""``print_patches`` prints the patches of ``analyze --diff``; on standard error, what they assume and what is missing.

Kernels with the same condition or reason share a line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ncuview.base.errors import ReportError
from ncuview.base.paths import current_repository
from ncuview.cli.printing import print_error, print_note, print_unchanged

if TYPE_CHECKING:
    from ncuview.pipeline.patches import Patched
    from ncuview.records.diagnosis import Diagnosis

_NAMED = 8
"""The most kernels that a line names."""


def print_patches(patched: Patched) -> int:
    """Print each change of the user's source once; on stderr, its conditions, and the reasons of kernels without one.

    Returns:
        The exit code: not 0 where there is advice, and no change for any of it.
    """
    launches = patched.diagnosis.launches
    edits = [(launch.kernel, first.edit) for launch in launches for first in launch.findings[:1]]
    made = [(kernel, edit) for kernel, edit in edits if edit and edit.diff]
    patches = dict.fromkeys(edit.diff for _, edit in made)
    for patch in patches:
        print_unchanged(_from_root(patch))
    if outside := _outside_this_folder(patches):
        print_error(*outside)
    _print_by_kernel(
        (kernel, f'the patch "{edit.title}" holds if {edit.assumes}') for kernel, edit in made if edit.assumes
    )
    _print_by_kernel(patched.missing)
    if not edits:
        print_note(f"ncuview: there is nothing to change: {_verdicts(patched.diagnosis)}")
    return ReportError.exit_code if edits and not patches else 0


def _print_by_kernel(lines: Iterable[tuple[str, str]]) -> None:
    """Print each text once, with the names of its kernels."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for kernel, text in lines:
        found[text][kernel] = None
    for text, kernels in found.items():
        names = list(kernels)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        print_error(f"{', '.join(names[:_NAMED])}{more}: {text}")


def _verdicts(diagnosis: Diagnosis) -> str:
    """Why launches have no advice: the verdict, with the number of launches where there are several."""
    counts = Counter({"near-peak": "near its peak"}.get(each.verdict, each.verdict) for each in diagnosis.launches)
    if diagnosis.launches[1:]:
        return ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
    return "".join(counts)


def _from_root(patch: str) -> str:
    """The patch with git's header; without it, ``git apply`` takes names as relative to the current folder."""
    before, after = (line[4:].rstrip("\t") for line in patch.split("\n")[:2])
    return f"diff --git {before} {after}\n{patch}"


def _outside_this_folder(patches: Iterable[str]) -> tuple[str, str] | None:
    """A warning and a hint where ``git apply`` would skip a patch here, since its file is not below this folder."""
    here = Path.cwd()
    root = current_repository() or here
    below = here.relative_to(root).parts
    headers = (patch.split("\n")[1].rstrip("\t") for patch in patches)
    changed = [PurePosixPath(each.removeprefix("+++ b/")) for each in headers if not each.endswith('"')]
    if all(file.parts[: len(below)] == below for file in changed):
        return None
    return "git apply skips files that are not below this folder", f"Run it in {root}."
