"""The change that a finding advises, as all pages show it: ``shown_change`` gives a ``ShownChange``.

``changed_lines`` returns the lines in which two pieces of code differ.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from ncuview.records.diagnosis import Finding


@dataclass(frozen=True)
class ShownChange:
    """A change: its label on the page, a heading, and the lines of a diff."""

    label: Literal["Change", "Example"]
    """``Change`` of the launch's own code, or in words; ``Example`` for the change of another kernel."""
    heading: str
    """What the lines are, ending in a colon; the change in words where there are none."""
    lines: tuple[str, ...] = ()
    """A unified diff of the user's source, or the lines that differ between two kernels of the catalogue."""
    is_patch: bool = False
    """Whether the lines are a unified diff of the user's source."""
    remark: str = ""
    """What the change assumes, or why none was written for the user's code."""


def shown_change(kernel: str, finding: Finding, most: int | None = None) -> ShownChange:
    """The edit of the user's source; else the change on kernels of the catalogue, else the change in words.

    Args:
        kernel: The launch's kernel: a change of the catalogue is an example where it is of another kernel.
        finding: The advice.
        most: A change of the catalogue with more lines is given in words; None for any number of lines.
    """
    edit, fix = finding.edit, finding.fix
    if edit and edit.diff:
        assumes = f"holds if {edit.assumes}" if edit.assumes else ""
        return ShownChange("Change", f"{edit.title}:", tuple(edit.diff.splitlines()), is_patch=True, remark=assumes)
    refused = f"no patch was written: {edit.reason}" if edit else ""
    lines = tuple(changed_lines(fix.before, fix.after)) if fix.before else ()
    if not lines or (most is not None and len(lines) > most):
        return ShownChange("Change", fix.recipe or f"{fix.title}.", remark=refused)
    pair = f"{fix.before_from}, to {fix.after_from.rpartition('/')[2]}:"
    if PurePosixPath(fix.before_from.partition("#")[0]).stem == kernel:
        return ShownChange("Change", pair, lines, remark=refused)
    return ShownChange("Example", f"of the catalogue: {pair}", lines, remark=refused)


def changed_lines(before: str, after: str) -> Iterator[str]:
    """The lines that differ, with the prefixes ``-`` and ``+``."""
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line.startswith(("- ", "+ ")):
            yield line
