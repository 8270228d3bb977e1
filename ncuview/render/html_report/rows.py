"""Build the HTML report's kernel rows (``KernelRow``): launches and checks grouped by kernel, grid, block and GPU.

They keep the order of the priorities, largest saving first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ncuview.comparison.compare import launch_words
from ncuview.engine.priority import Priorities, Priority
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.gate import Check, Gate
from ncuview.records.profile import Device, Extent

DETAILED, LISTED = 300, 1_000
"""Kernels that open in full, and kernels in the table; a browser takes long for more, and nobody reads them."""

Key = tuple[str, str, Extent, Extent, Device]


@dataclass(frozen=True)
class KernelRow:
    """One kernel with one grid and block."""

    id: str
    """Of its place in the page."""
    name: str
    """With its types where the bare name stands for several kernels."""
    group: Priority
    launches: tuple[LaunchDiagnosis, ...]
    """In the order of the reports."""
    checks: tuple[Check, ...]
    """What the gate says of it."""
    detailed: bool
    """Whether the page holds all about it."""

    @property
    def shown(self) -> LaunchDiagnosis:
        """The launch that stands for all of them."""
        return self.group.example

    @property
    def configuration(self) -> str:
        """``grid 256x256, block 32x8``."""
        return launch_words(self.group.grid, self.group.block)


def rows_of(diagnosis: Diagnosis, ranked: Priorities, gate: Gate | None) -> tuple[KernelRow, ...]:
    """The groups of ``ranked`` in their order, with their launches and checks."""
    members: defaultdict[Key, list[LaunchDiagnosis]] = defaultdict(list)
    for launch in diagnosis.launches:
        members[key_of(launch)].append(launch)
    checks: defaultdict[tuple[str, Extent, Extent], list[Check]] = defaultdict(list)
    for check in gate.checks if gate else ():
        checks[check.kernel, check.grid, check.block].append(check)
    ambiguous = _ambiguous(ranked.groups)
    return tuple(
        KernelRow(
            id=f"k{number}",
            name=_name(group, by_types=group.kernel in ambiguous),
            group=group,
            launches=tuple(members[key_of(group.example)]),
            checks=tuple(checks[group.demangled, group.grid, group.block]),
            detailed=number <= DETAILED,
        )
        for number, group in enumerate(ranked.groups, start=1)
    )


def _name(group: Priority, *, by_types: bool) -> str:
    """What the row is called: something that can be seen and clicked, whatever the report says."""
    name = group.demangled if by_types else group.kernel
    return name if name.strip() else "(no name)"


def key_of(launch: LaunchDiagnosis) -> Key:
    """What launches of one row share."""
    return (launch.demangled, launch.kernel, launch.grid, launch.block, launch.device)


def _ambiguous(groups: Sequence[Priority]) -> set[str]:
    """Kernels of which several templates or overloads were launched."""
    names = Counter(name for name, _ in {(group.kernel, group.demangled) for group in groups})
    return {name for name, count in names.items() if count > 1}
