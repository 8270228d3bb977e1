"""Private copies of a source tree, in which versions are built and run: the user's own tree is never written.

``copy_of`` copies a tree, ``state_of`` shows whether a tree changed, ``run_in`` runs a command in a copy.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import UsageError
from ncuview.profiling.privileges import variables_for_ncu
from ncuview.profiling.runner import Overdue, Watch, supervise

LARGEST_TREE = 2 << 30
"""In bytes; a tree with more holds data or builds, and each version is a copy."""
_KEPT_OUTPUT = 1 << 20
_LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__"})
_NAME_THE_TREE = ("CMakeCache.txt", "pyvenv.cfg")
"""A folder with one of them names the user's tree by its absolute path, and would build or install there."""


@dataclass(frozen=True)
class Ran:
    """A command that ended."""

    returncode: int
    stopped: Overdue
    output: bytes
    """The end of its standard output."""
    digest: str
    """The SHA-256 of all of its standard output."""
    errors: bytes
    """The end of its standard error."""
    seconds: float

    @property
    def failure(self) -> str:
        """Why it did not succeed, as a clause with its last words; empty where it did."""
        if self.stopped:
            return "it took too long"
        words = (self.errors or self.output).decode("utf-8", "replace").strip().splitlines()[-5:]
        return f"it ended with {self.returncode}: {' / '.join(words)}" if self.returncode else ""


def copy_of(tree: Path, folder: Path) -> None:
    """Copy a source tree without its history, its CMake builds and its Python environments.

    A link into the tree leads into the copy; other links stay.

    Args:
        tree: The tree.
        folder: The copy; it must not exist.

    Raises:
        UsageError: The tree is too large to be copied for each version.
        OSError: A file cannot be copied.
    """
    tree = tree.resolve()
    size = sum(entry.stat().st_size for entry in _files(tree))
    if size > LARGEST_TREE:
        raise UsageError(
            f"{tree} holds {size / 1e9:.1f} GB, and each version is a copy of it",
            hint="Name the folder of the sources by --tree, or move data out of it: a link to it stays a link.",
        )
    shutil.copytree(tree, folder, symlinks=True, ignore=_ignored)
    for link in (path for path in folder.rglob("*") if path.is_symlink()):
        target = link.readlink()
        inside = link.resolve() if target.is_absolute() else None
        if inside is not None and inside.is_relative_to(tree):
            link.unlink()
            link.symlink_to(folder / inside.relative_to(tree))


def state_of(tree: Path) -> Mapping[Path, tuple[int, int]]:
    """Size and time of the last change of every file of a tree, by its name there; two are equal if nothing changed."""
    tree = tree.resolve()
    found = {}
    for path in _files(tree):
        status = path.lstat()
        found[path.relative_to(tree)] = (status.st_size, status.st_mtime_ns)
    return found


def written_in(folder: Path, before: Mapping[Path, tuple[int, int]]) -> Mapping[Path, str]:
    """The SHA-256 of every file of a folder that is new or changed since ``state_of`` gave its state."""
    return {
        path: hashlib.sha256((folder / path).read_bytes()).hexdigest()
        for path, state in state_of(folder).items()
        if before.get(path) != state
    }


def never() -> bool:
    """Stops nothing."""
    return False


def run_in(
    folder: Path,
    command: Sequence[str],
    timeout_s: float,
    variables: Mapping[str, str] | None = None,
    stopped: Callable[[], bool] = never,
) -> Ran:
    """Run a command in a folder to its end, below the guard that ends it with ncuview.

    Args:
        folder: The folder that it runs in.
        command: The command and its arguments.
        timeout_s: How long it may take, in seconds; it is stopped then.
        variables: Environment variables in addition to those of this process.
        stopped: Whether it is to be stopped at once; asked repeatedly.
    """
    output, errors, digest = bytearray(), bytearray(), hashlib.sha256()
    watch, started = Watch(timeout_s, timeout_s), time.monotonic()

    def heard(piece: bytes, end: bytearray) -> None:
        end += piece
        del end[:-_KEPT_OUTPUT]

    def printed(piece: bytes) -> None:
        digest.update(piece)
        heard(piece, output)

    program = shutil.which(command[0], path=f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    given = folder / command[0] if os.sep in command[0] else Path(program or command[0])
    ended = supervise(
        [str(given), *command[1:]],
        cwd=folder,
        # PyTorch builds the extensions of one name in one folder, where versions would replace each other.
        environment={**variables_for_ncu(), "TORCH_EXTENSIONS_DIR": f"{folder}.torch", **(variables or {})},
        overdue=lambda: "time" if stopped() else watch.overdue,
        stdout=printed,
        stderr=lambda piece: heard(piece, errors),
    )
    seconds = time.monotonic() - started
    return Ran(ended.returncode, ended.stopped, bytes(output), digest.hexdigest(), bytes(errors), seconds)


def _files(tree: Path) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(set(folders) - set(_ignored(folder, folders)))
        found += [path for name in files if not (path := Path(folder, name)).is_symlink() and path.is_file()]
    return found


def _ignored(folder: str, names: Sequence[str]) -> list[str]:
    return [
        name for name in names if name in _LEFT_OUT or any(Path(folder, name, each).exists() for each in _NAME_THE_TREE)
    ]
