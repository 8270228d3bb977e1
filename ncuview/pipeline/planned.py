"""The changes that a trial would try, as patches, without a GPU: ``planned_launch`` and ``planned_program``.

A catalogue kernel has a recorded profile, whose findings ask for changes. Of other targets the source alone is known:
all changes that it permits are shown, with the rules that must ask for those that no trial makes without a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ncuview.base.errors import UsageError
from ncuview.catalogue.kernels import Launch
from ncuview.engine.rule_file import load_rules
from ncuview.patch import PATCHES, Edit, NoEdit, changes_for, propose
from ncuview.patch.patch import Refused
from ncuview.pipeline.examine import examine
from ncuview.records.diagnosis import Finding
from ncuview.trial.ablations import KINDS
from ncuview.trial.bounds import without, without_waste
from ncuview.trial.program_source import definitions_in, placed, source_of

_MOST_NAMES = 12
_UNKNOWN = (
    "what each change gains, and whether its results are right",
    "which findings ask for a change, on which lines: those that need one are made for the complete kernel",
)
_OF_PROGRAMS = (
    "whether the kernel takes much of the program's time, and its launches in files other than that of the kernel",
)


@dataclass(frozen=True)
class PlannedChange:
    """A change that would be tried."""

    kind: Literal["edit", "ablation"]
    rule: str
    """The code of the rule whose finding asks for it; empty where none does."""
    title: str
    """What it does; of one that cannot be written, the optimization in words."""
    reason: str
    """Why it cannot be written; empty where it can."""
    diff: str
    """The patch; empty where it cannot be written."""
    if_asked_by: tuple[str, ...] = ()
    """The codes of the rules of which one must ask for it in a run; empty where it is tried in any case."""


@dataclass(frozen=True)
class Planned:
    """All changes that would be tried on one kernel."""

    kernel: str
    path: str
    """The file that they change."""
    changes: tuple[PlannedChange, ...]
    unknown: tuple[str, ...]
    """What only a run shows, as clauses; empty where there is a profile."""


def planned_launch(launch: Launch) -> Planned:
    """The changes of a catalogue kernel by its recorded profile; of a .cu file all that its source permits.

    Args:
        launch: The launch of a catalogue kernel, or of the kernel in a .cu file.
    """
    kernel = launch.kernel
    source = kernel.path.read_bytes().decode("utf-8", "surrogateescape")
    inside = kernel.path.is_relative_to(kernel.root)
    path = str(kernel.path.relative_to(kernel.root) if inside else kernel.path)
    if not kernel.of_catalogue:
        return Planned(kernel.function, path, _permitted(source, path, kernel.function), _UNKNOWN)
    (recorded,) = examine(kernel.name, live=False).diagnosis.launches
    findings = [each for each in recorded.outcomes if isinstance(each, Finding)]
    changes = tuple(change for each in findings for change in _asked(source, path, kernel.function, each))
    return Planned(kernel.function, path, changes, ())


def planned_program(command: Sequence[str], kernel: str, tree: Path | None) -> Planned:
    """The changes of a kernel of a program that its source permits. Nothing is built or run, and no file is written.

    Args:
        command: The program and its arguments, which need not be built yet.
        kernel: The kernel's name; empty where the tree defines one alone.
        tree: The folder of its sources; None for that of a Python script, or else the current one.

    Raises:
        UsageError: There is no such script, folder or kernel, or several kernels and none is named.
    """
    _, tree = placed(command, tree)
    defined = definitions_in(tree)
    names = [kernel.partition("<")[0].rpartition("::")[2]] if kernel else list(defined)
    if not defined or names[0] not in defined:
        wanted = f"the kernel {kernel}" if kernel else "a kernel"
        raise UsageError(
            f"no source below {tree} defines {wanted}", hint=_listed(list(defined)) or "--tree names another folder."
        )
    if len(names) > 1:
        raise UsageError(
            f"{len(names)} kernels are defined below {tree}, and only a run shows which one takes most time",
            hint=f"Name one by --kernel. {_listed(names)}",
        )
    file = source_of(names[0], defined[names[0]])
    source = (tree / file).read_bytes().decode("utf-8", "surrogateescape")
    return Planned(names[0], str(file), _permitted(source, str(file), names[0]), (*_UNKNOWN, *_OF_PROGRAMS))


def _listed(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"There are {', '.join(sorted(names)[:_MOST_NAMES])}{more}."


def _asked(source: str, path: str, kernel: str, finding: Finding) -> Iterator[PlannedChange]:
    """The changes that a finding of the source asks for, those that can be written first, and its ablation."""
    code = finding.rule.code
    changes = changes_for(source, path, kernel, finding)
    edits = dict.fromkeys(_planned("edit", optimization, change, path, code) for optimization, change in changes)
    yield from sorted(edits, key=lambda each: bool(each.reason))
    try:
        ablated: Edit | NoEdit = without_waste(finding, source, path, kernel).edit
    except Refused as refused:
        ablated = NoEdit(str(refused))
    yield _planned("ablation", finding.optimization, ablated, path, code)


def _permitted(source: str, path: str, kernel: str) -> tuple[PlannedChange, ...]:
    """The changes that the source permits, each once: those that are always tried, then those that need a finding."""
    found: dict[tuple[str, str], PlannedChange] = {}
    for optimization, change in changes_for(source, path, kernel, None):
        made = _planned("edit", optimization, change, path)
        found.setdefault((made.diff or made.title, made.reason), made)
    for made in _permitted_to_findings(source, path, kernel):
        known = found.setdefault((made.diff, ""), made)
        if known.if_asked_by:
            rules = tuple(sorted({*known.if_asked_by, *made.if_asked_by}))
            found[made.diff, ""] = replace(known, if_asked_by=rules)
    return tuple(found.values())


def _permitted_to_findings(source: str, path: str, kernel: str) -> Iterator[PlannedChange]:
    """Mechanical edits and ablations of the complete kernel, which need a finding, without those that are refused."""
    fixes = [(fix.patch, rule.text.code) for rule in load_rules() for fix in rule.text.fix]
    for patch in PATCHES:
        change = propose(source, path, kernel, patch, ())
        if isinstance(change, Edit):
            rules = tuple(dict.fromkeys(code for name, code in fixes if name == patch))
            yield replace(_planned("edit", patch, change, path), if_asked_by=rules)
    for name, kind in KINDS.items():
        try:
            made = without(name, source, path, kernel, ()).edit
        except Refused:
            continue
        if kind.rules:
            yield replace(_planned("ablation", name, made, path), if_asked_by=tuple(sorted(kind.rules)))


def _planned(
    kind: Literal["edit", "ablation"], optimization: str, change: Edit | NoEdit, path: str, rule: str = ""
) -> PlannedChange:
    if isinstance(change, NoEdit):
        return PlannedChange(kind, rule, optimization.replace("_", " "), change.reason, "")
    return PlannedChange(kind, rule, change.title, "", change.diff(path))
