"""Pair the launches (``LaunchDiagnosis``) of two profiles by kernel, GPU, grid and block -> ``Pairing``.

``pair_launches`` matches a changed configuration by kernel name, and a renamed kernel by ``renamed`` or its parameters.
Pairs that ``renamed`` names come first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

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

    @property
    def threads(self) -> int:
        return prod((*self.launch.grid, *self.launch.block))


_PAIRING_KEYS: tuple[Callable[[_Named], Hashable], ...] = (
    lambda named: (named.demangled, named.configuration, named.launch.device),
    lambda named: (named.kernel, named.configuration, named.launch.device),
    lambda named: (named.demangled, named.configuration),
    lambda named: (named.kernel, named.configuration),
    lambda named: (named.demangled, named.threads),
    lambda named: named.demangled,
    lambda named: (named.kernel, named.threads),
    lambda named: named.kernel,
)
"""What two launches must have in common, the strictest first. Launches of different GPUs pair only when forced. Of a
kernel whose grid and block changed, launches of as many threads are most likely of the same size."""


def pair_launches(before: Launches, after: Launches, renamed: Mapping[str, str]) -> Pairing:
    """Pair the launches of two profiles.

    A kernel whose grid, block, template or parameters changed is paired by its name. Where one unpaired kernel remains
    on each side, and both take the same parameters, it is treated as renamed. Extra launches of one side have no
    partner. A name in ``renamed`` is paired first: both sides may have launches of the old and the new kernel.

    Args:
        before: The launches of the first profile.
        after: The launches of the second profile.
        renamed: Old name -> new name of renamed kernels.
    """
    groups = _Groups()
    groups.pair(
        _named((launch for launch in before if launch.kernel in renamed), renamed),
        _named((launch for launch in after if launch.kernel in set(renamed.values())), {}),
    )
    unpaired = groups.pair(_named(groups.missing(0, before), {}), _named(groups.missing(1, after), {}))
    guessed = _the_only_rename(before, after, unpaired)
    if guessed:
        groups.pair(_named((each.launch for each in unpaired[0]), guessed), unpaired[1])
    return Pairing(tuple(groups.found), groups.missing(0, before), groups.missing(1, after))


class _Groups:
    """The pairs found so far."""

    def __init__(self) -> None:
        self.found: list[tuple[Launches, Launches]] = []

    def pair(self, before: list[_Named], after: list[_Named]) -> tuple[list[_Named], list[_Named]]:
        """Pair by each key in turn, the strictest first; launches whose keys have no partner are returned."""
        for key_of in _PAIRING_KEYS:
            by_key: tuple[dict[Hashable, list[LaunchDiagnosis]], ...] = (defaultdict(list), defaultdict(list))
            for side, members in zip((before, after), by_key, strict=True):
                for named in side:
                    members[key_of(named)].append(named.launch)
            both = [key for key in by_key[0] if key in by_key[1]]
            for key in both:
                was, now = (members[key] for members in by_key)
                count = min(len(was), len(now))
                self.found.append((tuple(was[:count]), tuple(now[:count])))
            taken = set(both)
            before, after = ([named for named in side if key_of(named) not in taken] for side in (before, after))
        return before, after

    def missing(self, side: int, launches: Launches) -> Launches:
        """The launches of a side that are in no pair."""
        paired = {id(launch) for pair in self.found for launch in pair[side]}
        return tuple(launch for launch in launches if id(launch) not in paired)


def _named(launches: Iterable[LaunchDiagnosis], renamed: Mapping[str, str]) -> list[_Named]:
    names = ((launch, renamed.get(launch.kernel, launch.kernel)) for launch in launches)
    return [_Named(launch, name, launch.demangled.replace(launch.kernel, name, 1)) for launch, name in names]


def _the_only_rename(before: Launches, after: Launches, unpaired: tuple[list[_Named], list[_Named]]) -> dict[str, str]:
    """Old name -> new name where one kernel is unpaired on each side and both take the same parameters; else empty."""
    was, now = ({(named.launch.kernel, _parameters(named.launch)) for named in side} for side in unpaired)
    if len(was) != 1 or len(now) != 1:
        return {}
    (old, takes), (new, takes_now) = was.pop(), now.pop()
    stays = any(launch.kernel == old for launch in after) or any(launch.kernel == new for launch in before)
    return {old: new} if takes == takes_now and not stays else {}


def _parameters(launch: LaunchDiagnosis) -> str:
    return launch.demangled.partition("(")[2]
