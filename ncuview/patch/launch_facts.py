"""What a kernel's launches in the source tell a proof: the block, and facts about grid and parameters.

``fixed_block`` and ``launch_facts`` take a ``Kernel``; both raise ``Refused`` where a launch may be hidden.
``check_distinct`` requires that arrays do not overlap.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import product

from ncuview.patch.constants import constant
from ncuview.patch.index_algebra import ONE, Polynomial
from ncuview.patch.launches import argument_kinds, block_of, front_matter, grid_of, launches_in_source
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel
from ncuview.patch.restrict import check_arguments_differ, is_restrict
from ncuview.records.profile import Extent

_QUOTIENT = re.compile(r"^(ceil\()?([\w\s*]+?)(?:\s*/\s*(\d+))?(\))?$")


def fixed_block(kernel: Kernel) -> Extent:
    """The block of all launches.

    Raises:
        Refused: They differ, or depend on sizes.
    """
    text = front_matter(kernel)
    if text is not None and not all(each.strip().isdigit() for each in text.launch.block):
        raise Refused("the block of the front matter depends on sizes")
    return block_of(kernel)


def launch_facts(kernel: Kernel) -> list[Polynomial]:
    """What holds for ``gridDim`` and parameters in all launches, as polynomials that are not negative.

    Of front matter, the grid over those sizes that are parameters; of a launch in the code, constants.
    """
    text = front_matter(kernel)
    if text is None:
        return _constants(kernel)
    sizes = {kind.value: name for name, kind in argument_kinds(kernel).items() if kind.role == "scalar"}
    facts = [Polynomial.of(name) - ONE for size, name in sizes.items() if size in text.sizes and text.sizes[size] > 0]
    for axis, written in zip("xyz", [*text.launch.grid, "1", "1"], strict=False):
        parts = _QUOTIENT.match(written.strip())
        if not parts or bool(parts[1]) != bool(parts[4]):
            continue
        dividend = ONE
        for factor in (each.strip() for each in parts[2].split("*")):
            known = Polynomial.of(int(factor)) if factor.isdigit() else None
            dividend = dividend * (known or Polynomial.of(sizes.get(factor, f"size {factor}")))
        divisor = int(parts[3] or 1)
        over = Polynomial.of(divisor - 1 if parts[1] else 0)
        covered = Polynomial.of(f"gridDim.{axis}").times(divisor)
        facts += [dividend + over - covered, covered - dividend]  # a quotient that is no integer is no grid
    return facts


def _constants(kernel: Kernel) -> list[Polynomial]:
    facts: list[Polynomial] = []
    try:
        for axis, size in zip("xyz", grid_of(kernel), strict=True):
            facts += _equal(f"gridDim.{axis}", size)
    except Refused:
        pass
    passed = [launch.arguments for launch in launches_in_source(kernel)]
    for place, name in enumerate(kernel.parameters):
        values = {constant(kernel.program, each[place]) if place < len(each) else None for each in passed}
        value = values.pop() if len(values) == 1 else None
        if value is not None:
            facts += _equal(name, value)
    return facts


def _equal(name: str, value: int) -> list[Polynomial]:
    difference = Polynomial.of(name) - Polynomial.of(value)
    return [difference, difference.times(-1)]


def check_distinct(kernel: Kernel, written: Collection[str], read: Collection[str]) -> None:
    """Require that no array that is written overlaps another, or one that is read.

    Front matter allocates each argument, ``__restrict__`` promises it, and a launch in the source shows it.

    Raises:
        Refused: A pointer is no parameter, or nothing shows it.
    """
    for name in {*written, *read}:
        if name not in kernel.parameters or kernel.parameters[name].stars != 1 or kernel.moves(name):
            raise Refused(f"{name} is no pointer parameter that stays")
        if "volatile" in kernel.parameters[name].qualifiers:
            raise Refused(f"{name} is volatile")
        if kernel.program.in_macros(name):
            raise Refused(f"a macro mentions {name}")
    pairs = {frozenset(pair) for pair in product(written, {*written, *read}) if pair[0] != pair[1]}
    open_pairs = [pair for pair in pairs if not any(is_restrict(kernel, kernel.parameters[name]) for name in pair)]
    if not open_pairs or front_matter(kernel) is not None:
        return
    for pair in open_pairs:
        one, other = sorted(pair)
        if not check_arguments_differ(kernel, [one, other]):
            raise Refused(f"{one} and {other} may overlap: no launch in this file shows what is passed")
