"""Remove just the waste of one finding, whatever the results: a variant whose time bounds what a cure can bring.

``ablation`` takes a ``Kernel``, a kind of ``KINDS`` and lines, and returns an ``Ablation`` or raises ``Refused``.
``kind_of`` names the kind for a rule; for the rules of ``NONE`` there is no ablation, for the reason beside them.

An ablation keeps what the cure keeps: the loops, the number of accesses and the arithmetic. ``ncuview.trial.guards``
checks this in the machine code and in counters before a time is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ncuview.patch.fast_functions import fast_functions
from ncuview.patch.float_literals import float_literals
from ncuview.patch.patch import Change, Refused
from ncuview.patch.program import Kernel
from ncuview.trial.ablations.ablation import Ablation
from ncuview.trial.ablations.atomics import spread_atomics
from ncuview.trial.ablations.barriers import no_barrier
from ncuview.trial.ablations.conditions import uniform_condition
from ncuview.trial.ablations.elements import smaller_element
from ncuview.trial.ablations.global_index import aligned_index, coalesced_index
from ncuview.trial.ablations.shared_index import conflict_free_index

__all__ = ["KINDS", "NONE", "Ablation", "Kind", "ablation", "kind_of"]


@dataclass(frozen=True)
class Kind:
    """A kind of ablation.

    Attributes:
        make: Makes it for lines of a kernel.
        rules: The codes of the rules whose waste it removes.
        only_the_waste: What the cures of these findings bring besides the end of the waste, as a clause about the cure;
            empty where they bring no more, so that the ablation bounds the cure too.
    """

    make: Callable[[Kernel, Sequence[int]], Ablation]
    rules: frozenset[str] = frozenset()
    only_the_waste: str = ""


def _real(make: Callable[[Kernel, Sequence[int]], Change]) -> Callable[[Kernel, Sequence[int]], Ablation]:
    """A change that a user would make too; its accesses are those of the original."""
    return lambda kernel, lines: Ablation(make(kernel, lines), True)


KINDS: Mapping[str, Kind] = {
    "conflict_free_index": Kind(conflict_free_index, frozenset({"SMEM001", "SMEM002"})),
    "coalesced_index": Kind(
        coalesced_index,
        frozenset({"GMEM001", "GMEM002", "GMEM005", "GMEM013", "OLD001"}),
        "a block or warp for each row also brings more threads, and wider accesses fewer instructions",
    ),
    "aligned_index": Kind(aligned_index, frozenset({"GMEM004"})),
    "no_barrier": Kind(no_barrier, frozenset({"SYNC001"})),
    "no_barrier_in_exchange": Kind(
        no_barrier,
        frozenset({"SYNC002", "SYNC003", "SYNC004"}),
        "shuffles and more elements per thread also remove accesses to shared memory and instructions",
    ),
    "uniform_condition": Kind(uniform_condition, frozenset({"FLOW001"})),
    "spread_atomics": Kind(
        spread_atomics,
        frozenset({"ATOM001", "ATOM002"}),
        "private copies in shared memory or registers also remove the atomics from global memory",
    ),
    "fast_functions": Kind(_real(fast_functions), frozenset({"INST003"})),
    "fast_power": Kind(
        _real(fast_functions), frozenset({"INST008"}), "products need fewer instructions than the fast function"
    ),
    "float_literals": Kind(_real(float_literals), frozenset({"INST004"})),
    "smaller_element": Kind(smaller_element),
}
"""Kinds of ablations by name. No shipped rule advises smaller elements in memory; a launch that device memory limits
and that has no advice can be asked about them."""

_MORE_WORK_AT_ONCE = "the cure gives each thread or the GPU more to do at once, and nothing that is removed does that"
_LOADS_ARE_THE_WASTE = "the waste is the accesses themselves, so that a variant without them has less work"
_REAL = "the waste is the work of an expression, so that only the cure itself is comparable"
_OTHER_MEMORY = "the cure moves the accesses to another memory or cache, and leaves their number and addresses"
_LAUNCH = "the cure is another launch or another use of registers, which can be tried as it is"
_HOST = "the waste is not in a kernel"

NONE: Mapping[str, str] = {
    **dict.fromkeys(("WORK001", "WORK002", "WORK003", "WORK005", "FLOW002", "FLOW003"), _MORE_WORK_AT_ONCE),
    **dict.fromkeys(("GMEM007", "CONST004"), _MORE_WORK_AT_ONCE),
    **dict.fromkeys(
        ("GMEM006", "GMEM008", "GMEM009", "GMEM011", "GMEM012", "GMEM014", "GMEM015"), _LOADS_ARE_THE_WASTE
    ),
    **dict.fromkeys(("SMEM003", "SMEM004", "SMEM005", "WORK006", "CONST001", "CONST003"), _LOADS_ARE_THE_WASTE),
    **dict.fromkeys(("INST001", "INST002", "INST005", "INST006", "INST007", "INST009", "WORK004"), _REAL),
    **dict.fromkeys(("CONST002", "TEX001", "LMEM002", "GMEM003"), _OTHER_MEMORY),
    "GMEM010": "its index comes from loaded values, and lanes that share one have fewer different elements",
    "ATOM003": "how often a thread retries depends on the values",
    **dict.fromkeys(("GRID001", "GRID002", "LMEM001", "ATOM004"), _LAUNCH),
    **dict.fromkeys(("OCC001", "OCC002", "OCC003", "OCC004", "OCC005", "OCC006"), _LAUNCH),
    **dict.fromkeys(("HOST001", "HOST002", "HOST003"), _HOST),
}
"""The rules without an ablation, and why."""


def ablation(kernel: Kernel, kind: str, lines: Sequence[int]) -> Ablation:
    """The variant of a kernel without one waste.

    Args:
        kernel: The kernel.
        kind: A name of ``KINDS``.
        lines: The lines of the source that the finding is about, from 1; empty for the complete kernel.

    Raises:
        Refused: The source does not show how to remove just that.
    """
    return KINDS[kind].make(kernel, lines)


def kind_of(rule: str) -> str:
    """The kind of ablation for a rule.

    Args:
        rule: The rule's code.

    Raises:
        Refused: There is none, for the reason in the text.
    """
    found = next((name for name, kind in KINDS.items() if rule in kind.rules), None)
    if found is None:
        raise Refused(NONE.get(rule, f"no ablation is known for {rule}"))
    return found
