"""Build the HTML report's kernel rows (``rows_of`` -> ``KernelRow``): launches and checks by kernel, grid, block, GPU.

The rows keep the order of ``Priorities``, largest saving first; ``key_of`` is the key of a launch's row.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ncuview.comparison.compare import launch_words
from ncuview.engine.priority import Priorities, Priority
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.gate import Check, Gate
from ncuview.records.profile import Device, Extent
from ncuview.render.priorities import ambiguous_names

DETAILED, LISTED = 300, 1_000
"""Kernels with details, and kernels in the table; a browser is slow with more."""

Key = tuple[str, str, Extent, Extent, Device]


@dataclass(frozen=True)
class KernelRow:
    """One kernel with one grid and block."""

    id: str
    """The row's id in the page."""
    name: str
    """The bare name, or the demangled one where several kernels have the bare name."""
    group: Priority
    launches: tuple[LaunchDiagnosis, ...]
    """In the order of the reports."""
    checks: tuple[Check, ...]
    """The gate's checks of the kernel."""
    detailed: bool
    """Whether the page has the details of the kernel."""

    @property
    def shown(self) -> LaunchDiagnosis:
        """The example launch, whose details are shown."""
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
    ambiguous = ambiguous_names(ranked)
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
    """The row's name; never blank, so that it can be seen and clicked."""
    name = group.demangled if by_types else group.kernel
    return name if name.strip() else "(no name)"


def key_of(launch: LaunchDiagnosis) -> Key:
    """The key that launches of one row share."""
    return (launch.demangled, launch.kernel, launch.grid, launch.block, launch.device)
