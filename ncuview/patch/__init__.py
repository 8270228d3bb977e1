"""Make the source change that a finding advises, where it is mechanical: an edit, or the reason why there is none.

``propose`` takes the user's CUDA source as text and the change's name, and returns an ``Edit`` or a ``NoEdit``.
``with_edits`` does so for the first advice of each launch of a ``Diagnosis``, from the source on this machine, whose
name in the profile ``file_of`` gives.

Nothing here writes a file. The conditions of a change are proven from the source, or the change is refused; conditions
that only the author can know are given with the edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

from ncuview.base.files import repository_of
from ncuview.base.paths import shipped
from ncuview.patch.block_reduction import block_reduction
from ncuview.patch.constant_divisor import constant_divisor
from ncuview.patch.elements_per_thread import elements_per_thread
from ncuview.patch.fast_functions import fast_functions
from ncuview.patch.float_literals import float_literals
from ncuview.patch.launch_configuration import block_size, launch_bounds
from ncuview.patch.pad_tile import pad_tile
from ncuview.patch.patch import Change, Edit, NoEdit, Refused
from ncuview.patch.private_histogram import private_histogram
from ncuview.patch.product_tiles import product_tiles
from ncuview.patch.program import Kernel, Program
from ncuview.patch.python_launch import check_in_python
from ncuview.patch.register_tiles import register_tiles
from ncuview.patch.restrict import restrict
from ncuview.patch.swap_indices import swap_indices
from ncuview.patch.tile_rows import tile_rows
from ncuview.patch.tile_transposed import tile_transposed
from ncuview.patch.triton_launch import is_triton_kernel, triton_changes
from ncuview.patch.unroll import unroll
from ncuview.patch.vector_access import vector_access
from ncuview.reader.source import local_file
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis, Optimization, SourceEdit

__all__ = [
    "PATCHES",
    "STRUCTURAL",
    "Edit",
    "Maker",
    "NoEdit",
    "changes_for",
    "file_of",
    "lines_in",
    "propose",
    "with_edits",
]

Maker = Callable[[Kernel, Sequence[int]], Change]

PATCHES: Mapping[str, Maker] = {
    maker.__name__: maker
    for maker in (
        block_size,
        constant_divisor,
        fast_functions,
        float_literals,
        launch_bounds,
        pad_tile,
        restrict,
        swap_indices,
        unroll,
    )
}
"""Mechanical changes by the names that rules give in ``patch``."""

STRUCTURAL: Mapping[Optimization, tuple[Maker, ...]] = {
    "coalescing": (tile_transposed, tile_rows),
    "shared_memory_tiling": (register_tiles, product_tiles, tile_transposed, tile_rows),
    "register_tiling": (register_tiles, product_tiles),
    "thread_coarsening": (block_reduction, elements_per_thread, vector_access),
    "vectorized_access": (vector_access, elements_per_thread),
    "atomic_privatization": (private_histogram, block_reduction),
    "warp_shuffle": (block_reduction,),
    "fewer_barriers": (block_reduction,),
    "divergence_removal": (block_reduction,),
    "launch_configuration": (elements_per_thread,),
}
"""Changes of a kernel's structure by what rules advise; in this order, the first that is not refused is tried first."""


def propose(source: str, path: str, kernel: str, patch: str, lines: Sequence[int]) -> Edit | NoEdit:
    """The change that a finding advises, made in the user's own source.

    Args:
        source: The file's text with its own line ends, as ``bytes.decode("utf-8", "surrogateescape")`` gives it.
        path: The file's name; its ending distinguishes a header from a program.
        kernel: The kernel's name, as the profile has it.
        patch: The name of one of ``PATCHES``.
        lines: The lines of the source that the finding is about, from 1.

    Returns:
        The edit, or why there is none. Nothing is raised for any text.
    """
    return _made(PATCHES[patch], source, path, kernel, lines)


def changes_for(
    source: str, path: str, kernel: str, finding: Finding | None
) -> Iterator[tuple[Optimization, Edit | NoEdit]]:
    """The changes of the source that a finding asks for, mechanical and structural ones; without finding all there are.

    Args:
        source: The file's text, as for ``propose``.
        path: The file's name.
        kernel: The kernel's name.
        finding: A finding of a profile of this very source, whose lines are lines of it.

    Yields:
        The optimization, and the edit or why there is none.
    """
    if is_triton_kernel(source, path, kernel):
        if finding is None or finding.optimization == "launch_configuration":
            yield from (("launch_configuration", change) for change in triton_changes(source, kernel))
        else:
            reason = f"{kernel} is a kernel of Triton, of which only the constants of its launch are changed"
            yield cast("Optimization", finding.optimization), NoEdit(reason)
        return
    if finding is None:
        lines: tuple[int, ...] = ()
        makers = [(optimization, maker) for optimization, makers in STRUCTURAL.items() for maker in makers]
    else:
        optimization = cast("Optimization", finding.optimization)
        lines = lines_in(source, path, kernel, finding)
        mechanical = [PATCHES[finding.fix.patch]] if finding.fix.patch else []
        makers = [(optimization, maker) for maker in (*mechanical, *STRUCTURAL.get(optimization, ()))]
        if not makers:
            reason = finding.fix.by_hand or f"{finding.optimization} takes decisions that no program can make"
            yield optimization, NoEdit(reason)
    for optimization, maker in makers:
        yield optimization, _made(maker, source, path, kernel, lines)


def lines_in(source: str, path: str, kernel: str, finding: Finding) -> tuple[int, ...]:
    """The lines of a source that a finding of this very source is about.

    In a Python file they are found by their text: the profile counts from the start of the string, or of what a library
    puts before it, in a file that no longer exists. A place without text, or whose text stands twice, has none.
    """
    places = [place for line in finding.where for place in line.called_from or (line,)]
    if not path.endswith(".py"):
        return tuple(sorted({place.line for place in places}))
    try:
        text = Program.read(source, path).kernel(kernel).program.data.decode("utf-8", "surrogateescape")
    except Refused:
        return ()
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        found.setdefault(line.strip(), []).append(number)
    codes = {place.code.strip() for place in places} - {""}
    return tuple(sorted(lines[0] for code in codes if len(lines := found.get(code, [])) == 1))


def _made(make: Maker, source: str, path: str, kernel: str, lines: Sequence[int]) -> Edit | NoEdit:
    try:
        program = Program.read(source, path)
        found = program.kernel(kernel)
        change = make(found, lines)
        check_in_python(found, change.replacements)
    except Refused as refused:
        return NoEdit(str(refused))
    return Edit(change.title, change.assumes, program.data, change.replacements, change.reorders, change.approximates)


def with_edits(
    diagnosis: Diagnosis, folders: Sequence[Path] = (), moved: Mapping[str, Path] | None = None
) -> Diagnosis:
    """The diagnosis with a change of the source, or the reason why there is none, for each launch's first advice.

    Nothing is added where the kernel's source is not on this machine.

    Args:
        diagnosis: The diagnosis with the advice.
        folders: Where to look for sources in addition to the paths that the profile names.
        moved: Sources by the names that the profile has for them; before the paths that it names.
    """
    located = cache(lambda file: local_file(file, folders, moved))
    made: dict[tuple[object, ...], SourceEdit | None] = {}

    def edited(launch: LaunchDiagnosis) -> LaunchDiagnosis:
        first = next(iter(launch.findings), None)
        file = file_of(launch)
        if not first or not file:
            return launch
        lines = tuple(sorted(_lines_of(first, file)))
        key = (file, launch.kernel, first.optimization, first.rule.code, lines)
        if key not in made:
            found = located(file)
            made[key] = _proposed(found[1], _named(found[0]), launch.kernel, first, lines) if found else None
        change = made[key]
        outcomes = (replace(each, edit=change) if each is first else each for each in launch.outcomes)
        return replace(launch, outcomes=tuple(outcomes)) if change else launch

    return replace(diagnosis, launches=tuple(edited(launch) for launch in diagnosis.launches))


def file_of(launch: LaunchDiagnosis) -> str:
    """The file of the kernel's own lines, as the profile names it: the first advice's, else that of another finding."""
    findings = [*launch.findings[:1], *(each for each in launch.outcomes if isinstance(each, Finding))]
    places = (place for finding in findings for line in finding.where for place in line.called_from or (line,))
    return next((place.file for place in places), "")


def _proposed(text: str, file: str, kernel: str, finding: Finding, lines: Sequence[int]) -> SourceEdit:
    fix = finding.fix
    if fix.patch not in PATCHES:
        return SourceEdit(reason=fix.by_hand or f"{finding.optimization} takes decisions that no program can make")
    change = propose(text, file, kernel, fix.patch, lines)
    if isinstance(change, Edit):
        return SourceEdit(change.title, change.diff(file), change.assumes)
    return SourceEdit(reason=change.reason)


def _named(path: Path) -> str:
    """The file's name in a patch: relative to its repository, else to the current folder, if it is in it.

    A kernel of the catalogue has the same name in a checkout and in an installed package.
    """
    file, catalogue = path.resolve(), shipped("kernels").resolve()
    root = catalogue.parent if file.is_relative_to(catalogue) else repository_of(file) or Path.cwd()
    return str(file.relative_to(root) if file.is_relative_to(root) else path)


def _lines_of(finding: Finding, file: str) -> set[int]:
    places = (place for line in finding.where for place in line.called_from or (line,))
    return {place.line for place in places if place.file == file}
