"""Find catalogue kernels by name, family or textbook step, and resolve a kernel at given sizes into a ``Launch``.

``find_kernel``, ``family`` and ``all_kernels`` return ``Kernel``s; ``launch_of`` evaluates a kernel's expressions.
These give grid, block, shared memory, arguments and useful work. ``launches_of`` also launches a better kernel at the
sizes of the kernel that it improves. ``recorded_report`` gives the report of a family that ships.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncuview.base.errors import KernelFileError, ReportUnreadable, RuleFileError, UnknownFamily, UnknownKernel
from ncuview.base.expression import compile_expression
from ncuview.base.files import is_folder
from ncuview.base.paths import shipped
from ncuview.base.suggestion import did_you_mean, did_you_mean_file
from ncuview.catalogue.kernel_file import DTYPES, Argument, Kernel, Step, load_kernels
from ncuview.records.profile import Extent

_ROLES = frozenset({"in", "constant", "texture", "out", "zeroed"})
_INPUTS = frozenset({"in", "constant", "texture"})

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel at given sizes, with all arithmetic done.

    Attributes:
        kernel: The kernel to launch.
        sizes: The sizes of this launch.
        grid: Blocks in x, y, z.
        block: Threads per block in x, y, z.
        shared: Bytes of dynamic shared memory.
        template: Integer template arguments.
        args: Arguments in order: role (``in``, ``constant``, ``texture``, ``out``, ``zeroed``, ``scalar``), dtype, and
            shape or value; inputs also have ``below``, 0 when they take any number.
        useful_bytes: Bytes that the problem must move; 0 when the file does not give them.
        useful_flops: Floating-point operations that the problem needs; 0 when the file does not give them.
        pieces: Pieces in which the host moves the data, and streams that it uses; (1, 1) without ``[transfers]``.
    """

    kernel: Kernel
    sizes: Sizes
    grid: Extent
    block: Extent
    shared: int
    template: tuple[int, ...]
    args: tuple[Mapping[str, Any], ...]
    useful_bytes: int
    useful_flops: int
    pieces: tuple[int, int]


def find_kernel(name: str) -> Kernel:
    """The catalogue's kernel of this name.

    Raises:
        UnknownKernel: No kernel has it; the hint gives the nearest names.
    """
    files = {path.stem: path for path in shipped("kernels").glob("*/*.cu")}
    function = name.partition("[")[0]
    known = {kernel.name: kernel for kernel in load_kernels(files[function])} if function in files else {}
    if is_family(name):
        raise UnknownKernel(f"{name!r} is a family of kernels", hint=f"`ncuview kernels {name}` lists its kernels.")
    if name not in known:
        candidates = known or [*files, *families()]
        near = did_you_mean(name, candidates)
        if Path(name).suffix or "/" in name or not near:
            near = did_you_mean_file(Path(name), "") or near
        hint = " ".join(filter(None, [near, "`ncuview kernels` lists the kernels by family."]))
        raise UnknownKernel(f"no kernel or report {name!r}", hint=hint)
    return known[name]


def all_kernels() -> list[Kernel]:
    """Every kernel of the catalogue, by family and step of the ladder."""
    kernels = [kernel for path in shipped("kernels").glob("*/*.cu") for kernel in load_kernels(path)]
    return sorted(kernels, key=lambda kernel: (kernel.text.family, kernel.text.step_number))


def families() -> list[str]:
    """The names of all families, by the folders of their files."""
    return sorted({path.parent.name for path in shipped("kernels").glob("*/*.cu")})


def is_family(name: str) -> bool:
    """Whether a family has this name."""
    return name.isidentifier() and is_folder(shipped("kernels") / name)


def family(name: str) -> list[Kernel]:
    """The kernels of a family, from the first step of its ladder to the last.

    Raises:
        UnknownFamily: No family has this name.
    """
    files = sorted((shipped("kernels") / name).glob("*.cu")) if is_family(name) else []
    if not files:
        known = families()
        raise UnknownFamily(f"no family {name!r}", hint=did_you_mean(name, known, f"There are: {', '.join(known)}."))
    return sorted(
        (kernel for path in files for kernel in load_kernels(path)), key=lambda kernel: kernel.text.step_number
    )


def next_in_textbook(kernel: Kernel) -> list[tuple[Kernel, Step]]:
    """The kernels that the documents derive from this one, each with its step; empty for a user's own kernel."""
    if not kernel.of_catalogue:
        return []
    followers = [(other, other.text.step) for other in family(kernel.text.family)]
    return [(other, step) for other, step in followers if step and step.after == kernel.name]


def launches_of(kernels: list[Kernel]) -> list[Launch]:
    """One launch of each kernel, and one more of its better kernel where that has other sizes by default.

    The gain of a step is measured at the sizes of the kernel that it improves, if the two kernels have the same names
    of sizes and the step changes none of them.
    """
    by_name = {kernel.name: kernel for kernel in kernels}
    launches = {_identity(kernel, kernel.text.sizes): launch_of(kernel) for kernel in kernels}
    for kernel in kernels:
        better = by_name.get(kernel.text.better or "")
        if (
            better
            and better.text.sizes.keys() == kernel.text.sizes.keys()
            and better.function != kernel.function
            and better.name == better.function
        ):
            launches.setdefault(_identity(better, kernel.text.sizes), launch_of(better, kernel.text.sizes))
    return list(launches.values())


def _identity(kernel: Kernel, sizes: Sizes) -> tuple[str, tuple[tuple[str, int], ...]]:
    return kernel.function, tuple(sizes.items())


def launch_of(kernel: Kernel, sizes: Sizes | None = None) -> Launch:
    """Resolve a kernel's launch at its own or other sizes.

    Raises:
        KernelFileError: An expression is wrong, or a grid, block or shape is no positive integer.
    """
    sizes = kernel.text.sizes if sizes is None else sizes
    arithmetic = _Arithmetic(kernel, sizes)
    text = kernel.text
    moved = text.transfers
    return Launch(
        kernel=kernel,
        sizes=dict(sizes),
        grid=arithmetic.extent("launch.grid", text.launch.grid),
        block=arithmetic.extent("launch.block", text.launch.block),
        shared=arithmetic.optional("launch.shared", text.launch.shared),
        template=tuple(arithmetic.positive_integer("launch.template", value) for value in text.launch.template),
        args=tuple(arithmetic.argument(argument) for argument in text.args),
        useful_bytes=arithmetic.optional("useful.bytes", text.useful.bytes),
        useful_flops=arithmetic.optional("useful.flops", text.useful.flops),
        pieces=(
            arithmetic.positive_integer("transfers.pieces", moved.pieces if moved else "1"),
            arithmetic.positive_integer("transfers.streams", moved.streams if moved else "1"),
        ),
    )


class _Arithmetic:
    """Evaluates one kernel file's expressions at given sizes."""

    def __init__(self, kernel: Kernel, sizes: Sizes) -> None:
        self._path = kernel.path
        self._sizes: dict[str, Any] = {name: float(value) for name, value in sizes.items()}

    def value(self, key: str, text: str) -> float:
        try:
            return float(compile_expression(text, self._sizes).evaluate(self._sizes))
        except RuleFileError as error:
            raise KernelFileError(f"{self._path}: {key}: {error}") from error

    def positive_integer(self, key: str, text: str) -> int:
        value = self.value(key, text)
        if not value.is_integer() or value < 1:
            raise KernelFileError(f"{self._path}: {key}: {text!r} gives {value:g}, not a positive integer")
        return int(value)

    def optional(self, key: str, text: str | None) -> int:
        return self.positive_integer(key, text) if text else 0

    def extent(self, key: str, texts: list[str]) -> Extent:
        x, y, z = (*(self.positive_integer(key, text) for text in texts), 1, 1)[:3]
        return (x, y, z)

    def argument(self, argument: Argument) -> dict[str, Any]:
        key, kind = f"args.{argument.name}", argument.parsed
        if kind is not None and kind.role == "scalar":
            return {"role": "scalar", "dtype": kind.dtype, "value": self.value(key, kind.value)}
        if kind is not None:
            shape = [self.positive_integer(key, text) for text in kind.shape]
            described = {"role": kind.role, "dtype": kind.dtype, "shape": shape}
            if kind.role in _INPUTS:
                return described | {"name": argument.name, "below": self.optional(key, kind.below)}
            if not kind.below:
                return described
        raise KernelFileError(
            f"{self._path}: {key}: {argument.kind!r} is no kind of argument", hint=_kinds_of_arguments(argument.kind)
        )


def _kinds_of_arguments(given: str) -> str:
    """What an argument may be, for a wrong one."""
    near = [word for word in re.findall(r"\w+", given) if word not in DTYPES | _ROLES]
    meant = next((hint for word in near if (hint := did_you_mean(word, DTYPES | _ROLES))), "")
    roles, types = (", ".join(sorted(words)) for words in (_ROLES, DTYPES))
    return f"{meant} An array is TYPE[SIZE] after one of {roles}, a scalar TYPE = VALUE; types are {types}.".strip()


def recorded_report(family: str) -> Path:
    """The report with all launches of a family.

    Raises:
        ReportUnreadable: None was recorded.
    """
    reports = sorted((shipped("kernels") / family).glob("*.ncu-repz"))
    if not reports:
        raise ReportUnreadable(f"no profile of {family} is recorded", hint="Use --live on a machine with a GPU.")
    return reports[0]
