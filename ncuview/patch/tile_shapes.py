"""The other shapes that the tiles of a kept change may have: ``shapes_of`` -> ``Shapes``.

A tile is made by one of a few changes, each of which can be made again, on the source before it, with another shape:
the rows of a transposition's tile, the iterations and the results per thread of a product's. So each shape is proven as
the first one was. ``Shapes.shared`` and ``Shapes.registers`` say what a shape needs, as arithmetic over its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from ncuview.patch.elements_per_thread import in_elements
from ncuview.patch.launch_facts import fixed_block
from ncuview.patch.pad_tile import BYTES
from ncuview.patch.patch import Change, Edit, Refused, edit_between
from ncuview.patch.product_tiles import product_of, product_stage
from ncuview.patch.program import Kernel, Program
from ncuview.patch.python_launch import check_in_python
from ncuview.patch.register_tiles import register_stage, registers_of
from ncuview.patch.staged_loads import Stage
from ncuview.patch.tile_rows import rows_of, rows_stage
from ncuview.patch.tile_transposed import tile_transposed

Values = Mapping[str, int]

_DEPTHS = (8, 16, 32, 64)
_RESULTS = (1, 2, 4, 8)
_MERGED = (1, 2, 4, 8)
_LANES = 32


@dataclass(frozen=True)
class Shapes:
    """The shapes of one change's tiles.

    Attributes:
        values: The values of each number of the shape that can be proven alone, with the present one, ascending.
        present: The present ones.
        threads: The threads of a block.
        shared: The bytes of the tiles at most, as arithmetic over the numbers' names.
        registers: The sums and operands that a thread keeps, likewise.
        make: Makes the change with a shape, from the source before it; raises Refused.
    """

    values: Mapping[str, tuple[int, ...]]
    present: Values
    threads: int
    shared: str
    registers: str
    make: Callable[[Values], Edit]


@dataclass(frozen=True)
class _Tiled:
    """A source whose tiles have a shape.

    Attributes:
        others: The values that each number may have.
        make: Makes the change with a shape; raises Refused.
        shared: As in ``Shapes``.
        registers: As in ``Shapes``.
    """

    others: Mapping[str, Sequence[int]]
    make: Callable[[Values], Edit]
    shared: str
    registers: str = "0"


def shapes_of(before: str, after: str, path: str, kernel: str, lines: Sequence[int]) -> Shapes | None:
    """The shapes of the tiles that a change made, or None where it is none of those that make tiles.

    Args:
        before: The source before the change, with ``surrogateescape``.
        after: The source with it.
        path: The file's name.
        kernel: The kernel's name.
        lines: The lines that it was made for; empty for the complete kernel.
    """
    for tiled_as in (_registers, _product, _rows, _transposed):
        try:
            program = Program.read(before, path)
            found = program.kernel(kernel)
            threads, tiled = prod(fixed_block(found)), tiled_as(program, found, lines)
        except Refused:
            continue
        shapes = (dict(zip(tiled.others, each, strict=True)) for each in product(*tiled.others.values()))
        present = next((shape for shape in shapes if _text(tiled, shape) == after), None)
        if present is not None:
            values = {name: tuple(_provable(tiled, present, name)) for name in tiled.others}
            return Shapes(values, present, threads, tiled.shared, tiled.registers, tiled.make)
    return None


def _text(tiled: _Tiled, shape: Values) -> str:
    """The source with the change; empty where it is refused."""
    try:
        return tiled.make(shape).edited
    except Refused:
        return ""


def _provable(tiled: _Tiled, present: Values, name: str) -> Iterator[int]:
    return (value for value in tiled.others[name] if _text(tiled, {**present, name: value}))


def _edit(program: Program, kernel: Kernel, change: Change, title: str) -> Edit:
    check_in_python(kernel, change.replacements)
    return Edit(title, change.assumes, program.data, change.replacements)


def _registers(program: Program, kernel: Kernel, lines: Sequence[int]) -> _Tiled:
    stage = register_stage(kernel, lines)

    def make(values: Values) -> Edit:
        change = registers_of(replace(stage, steps=values["tile_depth"]), (values["results_x"], values["results_y"]))
        return _edit(program, kernel, change, f"{change.title}, {_at_once(values)}")

    return _Tiled(
        {"results_x": _RESULTS, "results_y": _RESULTS, "tile_depth": _DEPTHS},
        make,
        stage.bytes_at(
            ("results_x", "results_y") if stage.extent[1] > 1 else ("1", "results_x * results_y"), "tile_depth"
        ),
        "results_x * results_y + results_x + results_y",
    )


def _product(program: Program, kernel: Kernel, lines: Sequence[int]) -> _Tiled:
    return _in_steps(program, product_stage(kernel, lines), product_of)


def _rows(program: Program, kernel: Kernel, lines: Sequence[int]) -> _Tiled:
    return _in_steps(program, rows_stage(kernel, lines), rows_of)


def _in_steps(program: Program, stage: Stage, change_of: Callable[[Stage], Change]) -> _Tiled:
    def make(values: Values) -> Edit:
        change = change_of(replace(stage, steps=values["tile_depth"]))
        return _edit(program, stage.kernel, change, f"{change.title}, {_at_once(values)}")

    return _Tiled({"tile_depth": _DEPTHS}, make, stage.bytes_at(("1", "1"), "tile_depth"))


def _at_once(values: Values) -> str:
    return f"{values['tile_depth']} iterations at once"


def _transposed(program: Program, kernel: Kernel, lines: Sequence[int]) -> _Tiled:
    """A tile of the rows of several blocks, which one block serves."""
    width, height, _ = fixed_block(kernel)
    sizes = [BYTES.get(each.type, 8) for each in kernel.parameters.values() if each.stars]
    if not sizes:
        raise Refused(f"{kernel.name} has no pointer parameter")

    def make(values: Values) -> Edit:
        by = values["tile_blocks"]
        if by == 1:
            change = tile_transposed(kernel, lines)
            return _edit(program, kernel, change, change.title)
        merged = in_elements(kernel, by)
        between = Program.read(_edit(program, kernel, merged, "").edited, program.path)
        found = between.kernel(kernel.name)
        change = tile_transposed(found, ())  # the lines are those of the source before it
        made = edit_between(
            f"{change.title}, for the rows of {by} blocks",
            program.data.decode("utf-8", "surrogateescape"),
            _edit(between, found, change, "").edited,
        )
        return replace(made, assumes=" and ".join(dict.fromkeys(filter(None, (merged.assumes, change.assumes)))))

    merged = [by for by in _MERGED if by == 1 or by * height <= max(_LANES, height)]
    return _Tiled({"tile_blocks": merged}, make, f"{width + 1} * {height} * tile_blocks * {max(sizes)}")
