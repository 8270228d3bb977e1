"""``bound_of``: compile a version without the waste of a finding, time it, and say what that bounds.

``without_waste`` and ``without`` make that version, which the page of a dry run shows too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ncuview.base.errors import NcuviewError, ToolError
from ncuview.catalogue.machine_code import KernelCode
from ncuview.patch import lines_in
from ncuview.patch.patch import Edit, Refused
from ncuview.patch.program import Program
from ncuview.patch.python_launch import check_in_python
from ncuview.records.diagnosis import Finding
from ncuview.records.trial import Bound, Bounds
from ncuview.trial.ablations import KINDS, Ablation, ablation, kind_of
from ncuview.trial.guards import (
    PASSED,
    Guarded,
    MeasuredBound,
    NoStatement,
    Withdrawn,
    dynamic_guards,
    first_failed,
    in_bounds,
    judged,
    static_guards,
)
from ncuview.trial.search import NotBuilt, NotTimed, gain_of
from ncuview.trial.timing import Timing
from ncuview.trial.work import Counted

V = TypeVar("V")


@dataclass(frozen=True)
class Means(Generic[V]):
    """What a bench does with an ablation."""

    build: Callable[[str], V]
    """Compiles a source; raises NotBuilt."""
    time: Callable[[V, V], Timing]
    """Times two versions in turns; raises NotTimed, also where one does not end."""
    code_of: Callable[[V], KernelCode]
    """Disassembles a version; raises ToolError."""
    is_clean: Callable[[V, V], bool | None]
    """Whether memcheck finds no more in the second; None where the tool failed."""
    count: Callable[[V], Counted | None]
    """What a launch of a version does; None where counters may not be read. Raises NcuviewError."""


@dataclass(frozen=True)
class Without:
    """A source without the waste of a finding."""

    kind: str
    """The kind of ablation."""
    ablation: Ablation
    edit: Edit
    """The same as an edit of the source."""


def without_waste(finding: Finding, source: str, path: str, kernel: str) -> Without:
    """The ablation of a finding in a source that has its lines.

    Raises:
        Refused: There is none for this rule, or the source does not show how to remove just that.
    """
    return without(kind_of(finding.rule.code), source, path, kernel, lines_in(source, path, kernel, finding))


def without(kind: str, source: str, path: str, kernel: str, lines: Sequence[int]) -> Without:
    """The ablation of a kind of waste on lines of a source; on all lines of the kernel without any.

    Raises:
        Refused: The source does not show how to remove just that.
    """
    program = Program.read(source, path)
    found = program.kernel(kernel)
    made = ablation(found, kind, lines)
    check_in_python(found, made.change.replacements)
    edit = Edit(made.change.title, made.change.assumes, program.data, made.change.replacements)
    return Without(kind, made, edit)


def bound_of(finding: Finding, version: V, source: str, path: str, kernel: str, means: Means[V]) -> Bound | None:
    """What a version gains without the waste of a finding; None where there is no such ablation, or it cannot be timed.

    Args:
        finding: The finding, with its lines in the source.
        version: The version that it is about.
        source: Its source.
        path: The source's name.
        kernel: The kernel's name.
        means: How the ablation is compiled, timed and examined.
    """
    try:
        made = without_waste(finding, source, path, kernel)
        ablated = means.build(made.edit.edited)
        timing = means.time(version, ablated)
    except (Refused, NotBuilt, NotTimed):
        return None
    gain, failed = gain_of(timing), first_failed(_guards(made, version, ablated, timing, means))
    said = judged(finding, made.kind, gain, [failed])
    bounds: Bounds = "nothing" if isinstance(said, NoStatement) else "at most"
    return Bound(
        title=made.edit.title,
        gain=gain,
        bounds=said.bounds if isinstance(said, MeasuredBound) else bounds,
        not_believed="" if failed.more else failed.why,
        more_work=failed.why if failed.more else "",
        only_the_waste=KINDS[made.kind].only_the_waste,
        withdrawn=said.why if isinstance(said, Withdrawn) else "",
    )


def _guards(made: Without, version: V, ablated: V, timing: Timing, means: Means[V]) -> Iterator[Guarded]:
    """What each guard says, the cheapest first."""
    if timing.outcome == "impossible":
        yield Guarded("floor", timing.reason)
    yield _work_left(made.kind, version, ablated, means)
    yield in_bounds(made.ablation, None if made.ablation.in_bounds else means.is_clean(version, ablated))
    yield _work_counted(made.kind, version, ablated, means)


def _work_left(kind: str, version: V, ablated: V, means: Means[V]) -> Guarded:
    try:
        return static_guards(kind, means.code_of(version), means.code_of(ablated))
    except ToolError as missing:
        return Guarded("work", f"the machine code is not known: {missing}")


def _work_counted(kind: str, version: V, ablated: V, means: Means[V]) -> Guarded:
    """Where counters may not be read, machine code alone has decided."""
    try:
        before = means.count(version)
        after = means.count(ablated) if before else None
    except NcuviewError as failed:
        return Guarded("counters", f"its work could not be counted: {failed}")
    return dynamic_guards(kind, before.amounts, after.amounts) if before and after else PASSED
