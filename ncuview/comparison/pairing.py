"""Pair the launches of two profiles by kernel name, GPU, grid and block -> ``Pairing``, with those left unpaired.

A kernel whose configuration changed is paired by name; a renamed one as ``renamed`` says, or by its parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from ncuview.records.diagnosis import LaunchDiagnosis

Launches = tuple[LaunchDiagnosis, ...]


@dataclass(frozen=True)
class Pairing:
    """Groups of launches that belong together, as many on either side, and those without a partner."""

    pairs: tuple[tuple[Launches, Launches], ...]
    only_before: Launches
    only_after: Launches


@dataclass(frozen=True)
class _Named:
    """A launch under the name that its kernel has afterwards."""

    launch: LaunchDiagnosis
    kernel: str
    demangled: str

    @property
    def configuration(self) -> Hashable:
        return (self.launch.grid, self.launch.block)


_LIKENESS: tuple[Callable[[_Named], Hashable], ...] = (
    lambda named: (named.demangled, named.configuration, named.launch.device),
    lambda named: (named.kernel, named.configuration, named.launch.device),
    lambda named: (named.demangled, named.configuration),
    lambda named: (named.kernel, named.configuration),
    lambda named: named.demangled,
    lambda named: named.kernel,
)
"""What launches must share, the strictest first. Without the GPU, they only pair where the comparison is forced."""


def paired(before: Launches, after: Launches, renamed: Mapping[str, str]) -> Pairing:
    """Pair the launches of two profiles.

    A kernel whose grid, block, template or parameters changed is paired by its name. Where a single kernel is left on
    either side, and both take the same parameters, it is taken to be renamed. What one side launched more often than
    the other has no partner.

    Args:
        before: The launches of one profile.
        after: Those of the other.
        renamed: Kernels that bear another name afterwards: the name before to the name after.
    """
    groups: list[tuple[Launches, Launches]] = []
    surplus: list[LaunchDiagnosis] = []
    left = (_named(before, renamed), _named(after, {}))
    for likeness in _LIKENESS:
        left = _pair_by(likeness, left, groups, surplus)
    guessed = _the_only_rename(*left)
    if guessed:
        left = (_named((each.launch for each in left[0]), guessed), left[1])
        for likeness in _LIKENESS:
            left = _pair_by(likeness, left, groups, surplus)
    without = {id(launch) for launch in surplus} | {id(each.launch) for side in left for each in side}
    return Pairing(
        tuple(groups),
        tuple(launch for launch in before if id(launch) in without),
        tuple(launch for launch in after if id(launch) in without),
    )


def _named(launches: Iterable[LaunchDiagnosis], renamed: Mapping[str, str]) -> list[_Named]:
    names = ((launch, renamed.get(launch.kernel, launch.kernel)) for launch in launches)
    return [_Named(launch, name, launch.demangled.replace(launch.kernel, name, 1)) for launch, name in names]


def _pair_by(
    likeness: Callable[[_Named], Hashable],
    sides: tuple[list[_Named], list[_Named]],
    groups: list[tuple[Launches, Launches]],
    surplus: list[LaunchDiagnosis],
) -> tuple[list[_Named], list[_Named]]:
    """Take out what is alike on both sides; what is left of either."""
    alike: tuple[dict[Hashable, list[LaunchDiagnosis]], ...] = (defaultdict(list), defaultdict(list))
    for side, found in zip(sides, alike, strict=True):
        for named in side:
            found[likeness(named)].append(named.launch)
    both = [key for key in alike[0] if key in alike[1]]
    for key in both:
        was, now = (found[key] for found in alike)
        count = min(len(was), len(now))
        groups.append((tuple(was[:count]), tuple(now[:count])))
        surplus += [*was[count:], *now[count:]]
    taken = set(both)
    before, after = ([named for named in side if likeness(named) not in taken] for side in sides)
    return before, after


def _the_only_rename(before: list[_Named], after: list[_Named]) -> dict[str, str]:
    """The kernel that is left before to the one that is left after, if there is one each, with the same parameters."""
    was, now = ({(named.launch.kernel, _parameters(named.launch)) for named in side} for side in (before, after))
    if len(was) != 1 or len(now) != 1:
        return {}
    (old, takes), (new, takes_now) = was.pop(), now.pop()
    return {old: new} if takes == takes_now else {}


def _parameters(launch: LaunchDiagnosis) -> str:
    return launch.demangled.partition("(")[2]
