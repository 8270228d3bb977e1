"""Pair the launches (``LaunchDiagnosis``) of two profiles by kernel, GPU, grid and block -> ``Pairing``.

``pair_launches`` matches a changed configuration by kernel name, and a renamed kernel by ``renamed`` or its parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from ncuview.records.diagnosis import LaunchDiagnosis

Launches = tuple[LaunchDiagnosis, ...]


@dataclass(frozen=True)
class Pairing:
    """Pairs of launch lists of equal length, and the launches without a partner."""

    pairs: tuple[tuple[Launches, Launches], ...]
    only_before: Launches
    only_after: Launches


@dataclass(frozen=True)
class _Named:
    """A launch under the new name of its kernel."""

    launch: LaunchDiagnosis
    kernel: str
    demangled: str

    @property
    def configuration(self) -> Hashable:
        return (self.launch.grid, self.launch.block)


_PAIRING_KEYS: tuple[Callable[[_Named], Hashable], ...] = (
    lambda named: (named.demangled, named.configuration, named.launch.device),
    lambda named: (named.kernel, named.configuration, named.launch.device),
    lambda named: (named.demangled, named.configuration),
    lambda named: (named.kernel, named.configuration),
    lambda named: named.demangled,
    lambda named: named.kernel,
)
"""What two launches must have in common, the strictest first. Launches of different GPUs pair only when forced."""


def pair_launches(before: Launches, after: Launches, renamed: Mapping[str, str]) -> Pairing:
    """Pair the launches of two profiles.

    A kernel whose grid, block, template or parameters changed is paired by its name. Where one unpaired kernel remains
    on each side, and both take the same parameters, it is treated as renamed. Extra launches of one side have no
    partner.

    Args:
        before: The launches of the first profile.
        after: The launches of the second profile.
        renamed: Old name -> new name of renamed kernels.
    """
    groups: list[tuple[Launches, Launches]] = []
    surplus: list[LaunchDiagnosis] = []
    unpaired = (_named(before, renamed), _named(after, {}))
    for key_of in _PAIRING_KEYS:
        unpaired = _pair_by(key_of, unpaired, groups, surplus)
    guessed = _the_only_rename(*unpaired)
    if guessed:
        unpaired = (_named((each.launch for each in unpaired[0]), guessed), unpaired[1])
        for key_of in _PAIRING_KEYS:
            unpaired = _pair_by(key_of, unpaired, groups, surplus)
    without = {id(launch) for launch in surplus} | {id(each.launch) for side in unpaired for each in side}
    return Pairing(
        tuple(groups),
        tuple(launch for launch in before if id(launch) in without),
        tuple(launch for launch in after if id(launch) in without),
    )


def _named(launches: Iterable[LaunchDiagnosis], renamed: Mapping[str, str]) -> list[_Named]:
    names = ((launch, renamed.get(launch.kernel, launch.kernel)) for launch in launches)
    return [_Named(launch, name, launch.demangled.replace(launch.kernel, name, 1)) for launch, name in names]


def _pair_by(
    key_of: Callable[[_Named], Hashable],
    sides: tuple[list[_Named], list[_Named]],
    groups: list[tuple[Launches, Launches]],
    surplus: list[LaunchDiagnosis],
) -> tuple[list[_Named], list[_Named]]:
    """Add the launches with the same key on both sides to ``groups``; the unpaired ones are returned."""
    by_key: tuple[dict[Hashable, list[LaunchDiagnosis]], ...] = (defaultdict(list), defaultdict(list))
    for side, found in zip(sides, by_key, strict=True):
        for named in side:
            found[key_of(named)].append(named.launch)
    both = [key for key in by_key[0] if key in by_key[1]]
    for key in both:
        was, now = (found[key] for found in by_key)
        count = min(len(was), len(now))
        groups.append((tuple(was[:count]), tuple(now[:count])))
        surplus += [*was[count:], *now[count:]]
    taken = set(both)
    before, after = ([named for named in side if key_of(named) not in taken] for side in sides)
    return before, after


def _the_only_rename(before: list[_Named], after: list[_Named]) -> dict[str, str]:
    """Old name -> new name where one kernel is unpaired on each side and both take the same parameters; else empty."""
    was, now = ({(named.launch.kernel, _parameters(named.launch)) for named in side} for side in (before, after))
    if len(was) != 1 or len(now) != 1:
        return {}
    (old, takes), (new, takes_now) = was.pop(), now.pop()
    return {old: new} if takes == takes_now else {}


def _parameters(launch: LaunchDiagnosis) -> str:
    return launch.demangled.partition("(")[2]
