"""The named effects of a change that rules use, such as ``l2_sectors``, and the hardware units that do each one's work.

``EFFECTS`` and ``ADDED`` are the tables that map them; ``by_unit`` converts a rule's effects to shares per unit.

A rule says in its own terms what its change leaves of the launch's instructions, sectors or bytes; ``EFFECTS`` says
which units do less work then. Where two effects name one unit, the narrower one counts: ``instructions = 0.5`` halves
the work of the issue slots and of the arithmetic pipes; with ``arithmetic = 1`` as well, only other instructions are
removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ncuview.metrics.units import BLOCKS

Share = TypeVar("Share")

EFFECTS: Mapping[str, tuple[str, ...]] = {
    "instructions": ("issue", "alu", "imad", "fma"),
    "arithmetic": ("alu", "imad", "fma"),
    "integer_arithmetic": ("alu", "imad"),
    "double_arithmetic": ("fp64_tensor",),
    "special_functions": ("xu",),
    "memory_instructions": ("lsu", "l1_data"),
    "l1_wavefronts": ("l1_data",),
    "l2_sectors": ("l2_tags", "l2_sectors", "l2_data", "l2_in", "l2_out"),
    "l2_requests": ("l2_tags", "l2_in"),
    "dram_bytes": ("dram",),
    "atomics": ("l2_atomic",),
    "constant_loads": ("constant",),
    "blocks": (BLOCKS,),
}
"""Effect -> the units that it is work for. Each is the share of that work which is left after the change, 0 or more."""
LATENCY_HIDDEN = "latency_hidden"
"""The share of the launch's latency that goes away, 0..1; it changes no unit's demand."""
TIME_LEFT = "time_left"
"""The share of the launch's time that is left at least, whatever the units need: full waves of blocks, say. In rules
about the host's copies, which share of the time of copies and kernel is left."""
NAMES: tuple[str, ...] = (*EFFECTS, LATENCY_HIDDEN, TIME_LEFT)

ADDED: Mapping[str, Mapping[str, float]] = {
    "instructions": {"issue": 4.0},
    "memory_instructions": {"lsu": 1.0, "l1_data": 1.0},
    "l1_wavefronts": {"l1_data": 1.0},
}
"""Work that a change may bring, in instructions or wavefronts of warps -> the units that do it, and how many each does
per cycle of a multiprocessor at its peak."""


def by_unit(effects: Mapping[str, Share]) -> dict[str, Share]:
    """What each unit has left, from effects on its work; the narrowest effect on a unit counts."""
    broad_first = sorted(effects, key=lambda name: -len(EFFECTS[name]))
    return {unit: effects[name] for name in broad_first for unit in EFFECTS[name]}
