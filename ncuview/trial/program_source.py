"""Where the sources of a program are, and which files define and import a kernel: ``placed``, ``definitions_in`` ...

A Python program is copied with the folder of its script; any other with the folder that it is run in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ncuview.base.errors import UsageError
from ncuview.catalogue.signature import definitions
from ncuview.patch.python_source import kernels_in
from ncuview.profiling.program import python_script
from ncuview.profiling.python_hook import is_python
from ncuview.trial.scratch import state_of

_SOURCES = (".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp")


def placed(program: Sequence[str], tree: Path | None) -> tuple[list[str], Path]:
    """A program as it is run in a copy of its tree, and the tree.

    Args:
        program: The program and its arguments, as seen from the current folder; a first word that ends in ``.py``
            is run by this Python.
        tree: The folder that is copied; None for that of the Python script, or else the current one.

    Raises:
        UsageError: There is no such script or folder, or the script is outside of it.
    """
    if tree is not None and not tree.is_dir():
        raise UsageError(f"there is no folder {tree}")
    words = python_script(Path(program[0]), program[1:]) if program[0].endswith(".py") else list(program)
    scripts = [at for at, word in enumerate(words) if at and word.endswith(".py") and Path(word).is_file()]
    if not scripts or not is_python(words[0]):
        return words, (tree or Path.cwd()).absolute()
    script = Path(words[scripts[0]]).absolute()
    root = Path(os.path.normpath((tree or script.parent).absolute()))
    if not script.is_relative_to(root):
        raise UsageError(f"{script} is not below {root}", hint="--tree names a folder with the script in it.")
    interpreter = str(Path(words[0]).absolute()) if os.sep in words[0] else words[0]
    return [interpreter, *(_seen_from(root, word) for word in words[1:])], root


def _seen_from(root: Path, word: str) -> str:
    """A word of a command line, if it is a file's path: as it is seen from the root, where it is below it."""
    if not Path(word).is_file():
        return word
    path = Path(os.path.normpath(Path(word).absolute()))
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def definitions_in(tree: Path) -> Mapping[str, Sequence[Path]]:
    """The kernels that the sources of a tree define, by their plain names, with their files relative to it.

    Kernels in strings of Python files, and those of Triton, are among them.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(state_of(tree)):
        names: list[str] = []
        if path.suffix in _SOURCES:
            text = (tree / path).read_text(encoding="utf-8", errors="replace")
            names = [each.full_name.rpartition("::")[2] for each in definitions(text)]
        elif path.suffix == ".py":
            names = kernels_in((tree / path).read_bytes())
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(path)
    return found


def source_of(kernel: str, paths: Sequence[Path]) -> Path:
    """The file that defines a kernel, of those that ``definitions_in`` found.

    Raises:
        UsageError: Several files do, one of them in Python, where the program alone decides which one it launches.
    """
    if len(paths) > 1 and any(path.suffix == ".py" for path in paths):
        raise UsageError(
            f"{' and '.join(map(str, paths))} define the kernel {kernel}, and one of them is launched",
            hint="Name a folder with only one of them by --tree, or rename one kernel.",
        )
    return paths[0]


def importers_of(tree: Path, source: Path) -> Sequence[Path]:
    """The other Python files of a tree that import a Python file, whose launches of its kernels no proof has seen."""
    named = re.compile(rf"^\s*(?:import|from)\b.*\b{re.escape(source.stem)}\b", re.MULTILINE)
    others = (path for path in sorted(state_of(tree)) if path.suffix == ".py" and path != source)
    return [path for path in others if named.search((tree / path).read_text(encoding="utf-8", errors="replace"))]
