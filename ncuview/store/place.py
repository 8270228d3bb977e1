"""``Place``: the folder or object store that holds a store; files appear in it completely or not at all.

``place_of`` takes what the user names: a folder, or a URL that fsspec knows, such as ``s3://bucket/store``. A file in a
folder is written beside its name, synced to the disk and renamed; an object store shows an object once it is complete.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ncuview.base.errors import ReportUnreadable, ToolError, UsageError
from ncuview.base.files import exists, is_folder, keep_entry, replace_file

WITHOUT_EXTRA = "pip install 'ncuview[store]'"
_OF_PATTERNS = "*?[]{}"


class Place(ABC):
    """Where a store is. Names are relative, with slashes."""

    def __init__(self, name: str) -> None:
        self.name = name
        """As the user gave it."""

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write a file, which others see completely or not at all, and which a power failure leaves.

        Raises:
            UsageError: It cannot be written.
        """

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            ReportUnreadable: It cannot be read.
        """

    @abstractmethod
    def names(self, folder: str, ending: str) -> list[str]:
        """The files in a folder with this ending, in order; none where the folder is missing."""

    @abstractmethod
    def full_name(self, name: str) -> str:
        """The name of a file as DuckDB takes it."""

    @abstractmethod
    def old_files(self, folder: str, ending: str, age_s: float) -> Iterator[str]:
        """The files below a folder that are older."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file; one that is gone or may not be removed is left."""

    filesystem: Any = None
    """fsspec's file system, where the place is a URL."""


class Folder(Place):
    """A folder on this machine."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._root = Path(os.path.abspath(name))  # noqa: PTH100  (resolve would follow links, and raise for loops)

    def write(self, name: str, data: bytes) -> None:
        """Beside its name, synced, renamed."""
        target = self._root / name
        try:
            _make_folder(target.parent)
            replace_file(target, data)
        except OSError as error:
            raise UsageError(
                f"{self.name}: the store cannot be written: {error.strerror}",
                hint="Name a folder that exists, or can be made, and has room.",
            ) from error

    def read(self, name: str) -> bytes:
        """Its bytes."""
        try:
            return (self._root / name).read_bytes()
        except OSError as error:
            raise ReportUnreadable(f"{self.name}: {name} cannot be read: {error.strerror}") from error

    def names(self, folder: str, ending: str) -> list[str]:
        """Those in one folder."""
        try:
            with os.scandir(self._root / folder) as entries:
                found = [each.name for each in entries if each.name.endswith(ending) and not each.name.startswith(".")]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ReportUnreadable(f"{self.name}: {folder} cannot be listed: {error.strerror}") from error
        return [f"{folder}/{name}" for name in sorted(found)]

    def full_name(self, name: str) -> str:
        """An absolute path."""
        return f"{self._root}/{name}".rstrip("/")  # pathlib takes ten times as long, for each file of a question

    def old_files(self, folder: str, ending: str, age_s: float) -> Iterator[str]:
        """By the time of their last change."""
        before = time.time() - age_s
        for found in (self._root / folder).rglob(f"*{ending}"):
            with suppress(OSError):
                if found.lstat().st_mtime < before:
                    yield found.relative_to(self._root).as_posix()

    def remove(self, name: str) -> None:
        """Unlink it."""
        with suppress(OSError):
            (self._root / name).unlink()


class Bucket(Place):
    """A URL of fsspec."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise ToolError("fsspec, which opens URLs, is not installed", hint=WITHOUT_EXTRA) from error
        try:
            self.filesystem, self._root = url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise UsageError(f"{url} cannot be opened: {error}", hint="Name a folder, or a URL of fsspec.") from error

    def write(self, name: str, data: bytes) -> None:
        """One put."""
        try:
            self.filesystem.pipe_file(f"{self._root}/{name}", data)
        except Exception as error:  # each object store has errors of its own
            raise UsageError(f"{self.name}: the store cannot be written: {error}") from error

    def read(self, name: str) -> bytes:
        """One get."""
        try:
            return bytes(self.filesystem.cat_file(f"{self._root}/{name}"))
        except Exception as error:  # as above
            raise ReportUnreadable(f"{self.name}: {name} cannot be read: {error}") from error

    def names(self, folder: str, ending: str) -> list[str]:
        """One listing."""
        try:
            self.filesystem.invalidate_cache()
            found = self.filesystem.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        except Exception as error:  # as above
            raise ReportUnreadable(f"{self.name}: {folder} cannot be listed: {error}") from error
        return sorted(f"{folder}/{each.rpartition('/')[2]}" for each in found if each.endswith(ending))

    def full_name(self, name: str) -> str:
        """With the scheme by which DuckDB finds the file system."""
        return str(self.filesystem.unstrip_protocol(f"{self._root}/{name}"))

    def old_files(self, folder: str, ending: str, age_s: float) -> Iterator[str]:
        """None: object stores have rules of their own for the age of objects."""
        del folder, ending, age_s
        return iter(())

    def remove(self, name: str) -> None:
        """One delete."""
        with suppress(Exception):
            self.filesystem.rm_file(f"{self._root}/{name}")


def place_of(name: str) -> Place:
    """The place that a user names.

    Raises:
        UsageError: The name is empty, a file, a pattern, or a URL of an unknown kind.
        ToolError: It is a URL and fsspec is not installed.
    """
    if not name.strip():
        raise UsageError("the name of the store is empty", hint='The current folder is ".".')
    if set(name) & set(_OF_PATTERNS):
        raise UsageError(f"{name}: a store's name may not contain {' '.join(_OF_PATTERNS)}", hint="Rename its folder.")
    if "://" in name:
        return Bucket(name)
    if exists(Path(name)) and not is_folder(Path(name)):
        raise UsageError(f"{name} is a file, not a store", hint="Name a folder, which need not exist.")
    return Folder(name)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, and sync their entries to the disk."""
    if is_folder(folder):
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    keep_entry(folder.parent)
