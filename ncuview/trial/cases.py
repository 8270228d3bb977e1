"""The cases that a variant is verified on: sizes and contents of inputs -> the job of ``launcher/variants.py``.

``further_sizes`` gives other sizes at which the original's launch is defined, ``small_sizes`` the smallest of them, and
``job_of`` the job for one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from ncuview.base.errors import KernelFileError
from ncuview.base.expression import compile_expression
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernel_file import Kernel
from ncuview.catalogue.kernels import Launch, Sizes, launch_of
from ncuview.catalogue.launcher.inputs import PATTERNS

FURTHER = 2
"""Sizes in addition to the file's own."""
ROUNDS = 3
"""Multiples of the smallest size."""
ORDERS = 8
"""Orders of summation that the original is run in."""
_ODD = (13, 1, 7)
"""Added to half a size, for one that is no multiple of a block or tile."""


@dataclass(frozen=True)
class Build:
    """A kernel file and its machine code: the original, or a variant."""

    kernel: Kernel
    compiled: Compiled


@dataclass(frozen=True)
class Reordering:
    """The sums that a change reorders: an input's axis that they run over.

    Attributes:
        name: The input's name.
        axis: The axis, from 0.
        group: Only so many neighbours are summed together, as arithmetic over the sizes: ``tile * threads``; empty for
            the complete axis.
    """

    name: str
    axis: int
    group: str = ""

    def at(self, sizes: Sizes) -> dict[str, Any]:
        """The job's description of it.

        Raises:
            RuleFileError: The group is no arithmetic over the sizes.
        """
        known: dict[str, Any] = {name: float(value) for name, value in sizes.items()}
        group = int(float(compile_expression(self.group, known).evaluate(known))) if self.group else 0
        return {"name": self.name, "axis": self.axis, "group": group}


def further_sizes(kernel: Kernel) -> list[Sizes]:
    """Other sizes at which the original's launch is defined: one that is no multiple of the block if there is one.

    A size that a macro of the source repeats stays: its arrays would have another extent than the code. So does one
    that a template argument depends on, which the source instantiates for its own size, and one that the block depends
    on, for which a change may be written.
    """
    free = _free(kernel)
    odd = (kernel.text.sizes | {name: kernel.text.sizes[name] // 2 + add} for name in free for add in _ODD)
    even = (kernel.text.sizes | {name: kernel.text.sizes[name] // divisor} for divisor in (2, 4, 8) for name in free)
    valid = [next(_defined(kernel, odd), None), *_defined(kernel, even)]
    return [sizes for sizes in valid if sizes is not None][:FURTHER]


def small_sizes(kernel: Kernel, variant: Kernel) -> list[Sizes]:
    """The smallest size at which a kernel and its variant can be launched, and its multiples: one to three rounds.

    An edit that is right from some number of rounds of a loop on, or up to one, is wrong there. Grid and arrays shrink;
    blocks, contents of the inputs and other arguments stay.
    """
    own = launch_of(kernel)
    least = own
    for name in _free(kernel):
        halves = range(1, abs(own.sizes[name]).bit_length())
        shrunk = (
            launch
            for bits in reversed(halves)
            if (launch := _small(own, variant, {**least.sizes, name: own.sizes[name] >> bits}))
        )
        least = next((launch for launch in shrunk if _extents(launch) != _extents(least)), least)
    shrunk_names = [name for name, size in own.sizes.items() if least.sizes[name] != size]
    multiples = (
        {**least.sizes, **{name: times * least.sizes[name] for name in shrunk_names}} for times in range(1, ROUNDS + 1)
    )
    return [sizes for sizes in multiples if sizes != own.sizes and _small(own, variant, sizes)]


def _small(own: Launch, variant: Kernel, sizes: Sizes) -> Launch | None:
    """The kernel's launch at these sizes, if its variant has one there and only grid and arrays are others."""
    with suppress(KernelFileError):
        launch_of(variant, sizes)
        launch = launch_of(own.kernel, sizes)
        return launch if _fixed(launch) == _fixed(own) else None
    return None


def _extents(launch: Launch) -> tuple[object, ...]:
    return (launch.grid, *(tuple(each["shape"]) for each in launch.args if "shape" in each))


def _fixed(launch: Launch) -> tuple[object, ...]:
    """What stays at other sizes: the block, template arguments, and what inputs hold."""
    return launch.block, launch.template, [each.get("below") for each in launch.args]


def _free(kernel: Kernel) -> list[str]:
    """The sizes that no macro of the source repeats, the largest first."""
    source = kernel.path.read_text(encoding="utf-8", errors="surrogateescape")
    macros = re.findall(r"^[ \t]*#[ \t]*define[^\n]*", source, re.MULTILINE)
    return [
        name
        for name, value in sorted(kernel.text.sizes.items(), key=lambda each: -abs(each[1]))
        if not any(re.search(rf"\b{value}\b", line) for line in macros)
    ]


def _defined(kernel: Kernel, candidates: Iterator[Sizes]) -> Iterator[Sizes]:
    own = launch_of(kernel)
    for sizes in candidates:
        try:
            launch = launch_of(kernel, sizes)
        except KernelFileError:
            continue
        stays = (launch.template, launch.block) == (own.template, own.block)
        if stays and (launch.args, launch.grid) != (own.args, own.grid):
            yield sizes


def job_of(
    builds: Mapping[str, Build],
    sizes: Sizes,
    *,
    mode: Literal["compare", "time"] = "compare",
    patterns: Sequence[str] = PATTERNS,
    reordered: Sequence[Reordering] = (),
    budget_s: float = 0.0,
) -> dict[str, Any]:
    """The job that runs builds of one kernel at some sizes.

    Args:
        builds: By key; the original is the first.
        sizes: The sizes.
        mode: Compare outputs, or time launches.
        patterns: The contents of the inputs, a case for each; one is enough where a kernel has no input.
        reordered: The sums that the variants reorder.
        budget_s: The time for timing.

    Raises:
        KernelFileError: The launch of a build is not defined at these sizes.
        CompileFailed: A build has no such template instance.
    """
    launches = {key: launch_of(build.kernel, sizes) for key, build in builds.items()}
    original = next(iter(launches.values()))
    named = [
        dict(each) | {"name": text.name} for each, text in zip(original.args, original.kernel.text.args, strict=True)
    ]
    has_inputs = any("below" in argument for argument in named)
    return {
        "mode": mode,
        "orders": ORDERS,
        "budget_s": budget_s,
        "reordered": [each.at(sizes) for each in reordered],
        "cases": [
            {
                "arguments": [
                    argument | {"pattern": pattern} if "below" in argument else argument for argument in named
                ],
                "launches": {key: _launch(builds[key], launch) for key, launch in launches.items()},
                "name": f"{shown(sizes)}, {pattern}" if has_inputs else shown(sizes),
            }
            for pattern in (patterns if has_inputs else patterns[:1])
        ],
    }


def _launch(build: Build, launch: Launch) -> dict[str, Any]:
    return {
        "cubin": str(build.compiled.cubin),
        "symbol": build.compiled.symbol(launch.template),
        "grid": launch.grid,
        "block": launch.block,
        "shared": launch.shared,
    }


def shown(sizes: Sizes) -> str:
    """Sizes as words: ``n = 64, rows = 2``."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())
