"""Find the parameters of a kernel that may have other values with equal results: ``parameters_of`` -> ``Parameters``.

These are the threads per block, where threads differ by their number alone; the elements per thread, where one block
may do the work of several; the factor of each unrolled loop; the blocks that registers must leave room for; and the
shape of the tiles that the change before it made.
``Parameters.edit`` makes the change of several values at once. Each is proven again on the source with those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Literal

from ncuview.patch.elements_per_thread import in_elements
from ncuview.patch.launch_configuration import bounded, minimum_of_blocks, resized
from ncuview.patch.launches import block_of
from ncuview.patch.patch import Change, Edit, NoEdit, Refused, edit_between
from ncuview.patch.program import Kernel, Program, line_of
from ncuview.patch.tile_shapes import Shapes
from ncuview.patch.unroll import unrollable, unrolled
from ncuview.records.diagnosis import Optimization

Kind = Literal["tile", "unroll", "block", "minimum_blocks", "elements"]

_THREADS = (32, 64, 128, 256, 512, 1024)
_FACTORS = (1, 2, 4, 8, 16)
_ELEMENTS = (2, 4, 8, 16)
_MINIMA = (2, 3, 4, 6, 8)
_MOST_LOOPS = 2
"""Of more loops, the first: each is a dimension of the space."""


@dataclass(frozen=True)
class Parameter:
    """A number in the source that may have other values.

    Attributes:
        name: Its name, which is an identifier.
        kind: What it is.
        present: Its value now; 0 where the compiler chooses.
        values: The values that can be proven, with the present one, ascending.
        make: The change to another value; raises ``Refused``. None where ``Parameters.shapes`` makes it with others.
    """

    name: str
    kind: Kind
    present: int
    values: tuple[int, ...]
    make: Callable[[Kernel, int], Change] | None


@dataclass(frozen=True)
class Parameters:
    """The parameters of a kernel, in the order in which they are changed.

    Attributes:
        source: The file's text.
        path: Its name.
        kernel: The kernel's name.
        found: The parameters; none where each has its present value only.
        refused: Why the block has its present value only; empty where it has others.
        shapes: The shapes of the tiles that the last change made; None where it made none.
    """

    source: str
    path: str
    kernel: str
    found: tuple[Parameter, ...]
    refused: str
    shapes: Shapes | None = None

    def edit(self, values: Mapping[str, int]) -> Edit | NoEdit:
        """The change to the values of parameters by their names; those that are left out keep theirs.

        Nothing is raised for any value: what is not proven for all values together is a ``NoEdit``.
        """
        source, titles, assumed = self.source, list[str](), list[str]()
        changed = {
            each: values[each.name] for each in self.found if values.get(each.name, each.present) != each.present
        }
        try:
            if self.shapes and any(each.kind == "tile" for each in changed):
                shape = {name: values.get(name, value) for name, value in self.shapes.present.items()}
                shaped = self.shapes.make(shape)
                source, titles, assumed = shaped.edited, [shaped.title], [shaped.assumes]
            for each, value in changed.items():
                if each.make is not None:
                    program = Program.read(source, self.path)
                    change = each.make(program.kernel(self.kernel), value)
                    source = Edit(change.title, change.assumes, program.data, change.replacements).edited
                    titles.append(change.title)
                    assumed.append(change.assumes)
        except Refused as refused:
            return NoEdit(str(refused))
        if not titles:
            return NoEdit("every parameter has its present value")
        title = ", ".join([titles[0], *(each[:1].lower() + each[1:] for each in titles[1:])])
        made = edit_between(title, self.source, source)
        return Edit(title, " and ".join(dict.fromkeys(filter(None, assumed))), made.source, made.replacements)

    def optimization(self, values: Mapping[str, int]) -> Optimization:
        """What a change to these values does: the word of its one kind of parameter, else of the launch."""
        kinds = {each.kind for each in self.found if values.get(each.name, each.present) != each.present}
        if kinds == {"unroll"}:
            return "unrolling"
        if kinds == {"tile"}:
            return "shared_memory_tiling"
        return "thread_coarsening" if kinds == {"elements"} else "launch_configuration"

    def threads(self, values: Mapping[str, int]) -> int | None:
        """The threads per block at these values; None where the source does not show them."""
        edit = self.edit(values)
        try:
            program = Program.read(edit.edited if isinstance(edit, Edit) else self.source, self.path)
            return prod(block_of(program.kernel(self.kernel)))
        except Refused:
            return None


def parameters_of(source: str, path: str, kernel: str, shapes: Shapes | None = None) -> Parameters:
    """The parameters of a kernel.

    Args:
        source: The file's text, with ``surrogateescape``.
        path: The file's name; its ending distinguishes a header from a program.
        kernel: The kernel's name.
        shapes: The shapes of the tiles that the last change of it made, if it made any.
    """
    try:
        parsed = Program.read(source, path).kernel(kernel)
    except Refused as refused:
        return Parameters(source, path, kernel, (), str(refused))
    tiles = shapes.values.items() if shapes else ()
    found = [Parameter(name, "tile", shapes.present[name], values, None) for name, values in tiles if shapes]
    found += _unrolls(parsed)
    refused_block = ""
    try:
        threads = prod(block_of(parsed))
        others = _provable(parsed, resized, [each for each in _THREADS if each != threads])
        found.append(Parameter("block", "block", threads, tuple(sorted({threads, *others})), resized))
    except Refused as refused:
        refused_block = str(refused)
    for name, kind, present, values, make in (
        ("minimum_blocks", "minimum_blocks", minimum_of_blocks(parsed), _MINIMA, bounded),
        ("elements", "elements", 1, _ELEMENTS, in_elements),
    ):
        try:
            others = _provable(parsed, make, [each for each in values if each != present])
        except Refused:
            continue
        found.append(Parameter(name, kind, present, tuple(sorted({present, *others})), make))  # type: ignore[arg-type]
    return Parameters(source, path, kernel, tuple(found), refused_block, shapes)


def _unrolls(kernel: Kernel) -> list[Parameter]:
    """A parameter for each of the first loops whose iterations may be unrolled."""

    def factor_of(number: int) -> Callable[[Kernel, int], Change]:
        return lambda kernel, factor: unrolled(kernel, number, factor)

    loops = islice(unrollable(kernel), _MOST_LOOPS)
    return [
        Parameter(
            f"unroll_{line_of(loop.node)}",
            "unroll",
            present,
            tuple(sorted({present, *(each for each in _FACTORS if not loop.iterations or each <= loop.iterations)})),
            factor_of(number),
        )
        for number, loop, present in loops
    ]


def _provable(kernel: Kernel, make: Callable[[Kernel, int], Change], values: Sequence[int]) -> list[int]:
    """Those of the values to which the change can be made.

    Raises:
        Refused: There are none; with the reason of the last.
    """
    found, reason = list[int](), Refused("")
    for value in values:
        try:
            make(kernel, value)
        except Refused as refused:
            reason = refused
        else:
            found.append(value)
    if not found:
        raise reason
    return found
