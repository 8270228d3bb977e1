"""Replace a file atomically, open it only if it is a regular file, and read untrusted TOML within limits.

``replace_file`` writes beside the target and renames, so that readers see old or new content, never a part.
``exists``, ``is_folder`` and ``is_file`` answer for any name, also one that no file can have.
``open_regular`` refuses folders, pipes, devices, large files; ``text_of`` and ``beginning_of`` read a limited size.
After ``read_only_below`` it opens files below some folders only. ``keep_entry`` syncs a new entry of a folder to the
disk. ``toml_of`` parses a file and ``parse_toml`` a text, within limits of size, key depth and nesting.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import sys
import time
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from ncuview.base.system import IS_LINUX, IS_WINDOWS, host_name

_READ = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # without it opening a pipe waits for a writer, for ever if there is none
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)  # Windows alters line ends without it
)
_CHMOD_BY_DESCRIPTOR = os.chmod in os.supports_fd
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_LONGEST_NAME = 180
"""Bytes of a target's name in the names of its partial files; a name may have 255 bytes, the rest takes up to 42."""
_ABANDONED_AFTER_S = 3600.0
"""Seconds after which a partial file counts as abandoned if it is unknown whether its writer still runs."""
_REST_OF_NAME = r"(?P<machine>[0-9a-f]{8})\.(?P<writer>[1-9][0-9]{0,6})\.[0-9a-f]{16}\.tmp"
LARGEST_TOML = 1 << 18
"""The most bytes of a file; the largest that ships has 8,000."""
DEEPEST = 32
"""The most parts of a dotted key. Python's parser takes a minute for one of 64 kB with 30,000 parts."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEEPEST}}}")


class NoRegularFile(ValueError):
    """The name is that of a folder, pipe or device."""

    def __init__(self, *, is_folder: bool) -> None:
        super().__init__("is no regular file")
        self.is_folder = is_folder


class TooLarge(ValueError):
    """The file has more bytes than allowed."""


class Outside(ValueError):
    """The file is below none of the folders that this process may read."""


_FOLDERS: list[Path] = []
"""Where this process may open files; empty for everywhere."""


def read_only_below(folders: Iterable[Path]) -> None:
    """From now on ``open_regular`` opens in this process what is below these folders, and nothing else.

    A further call adds folders. What counts is where the opened file is, so that no link leads out of them.

    Raises:
        OSError: A folder is missing.
    """
    _FOLDERS.extend(folder.resolve(strict=True) for folder in folders)


def is_below(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path without links is one of these folders or below one."""
    return any(path.is_relative_to(folder) for folder in folders)


def may_be_read(path: Path) -> bool:
    """Whether a place is below the folders that ``read_only_below`` was given, or it was given none."""
    try:
        return not _FOLDERS or is_below(path.resolve(), _FOLDERS)
    except (OSError, ValueError, RuntimeError):  # it leads nowhere
        return False


def open_regular(path: Path, largest: int | None = None, *, follow: bool = True) -> BufferedReader:
    """Open a file to read it, without blocking; the opened file itself is checked, not an earlier one of the name.

    Args:
        path: The file.
        largest: The bytes that it may have; None for any number.
        follow: Whether the name may be a link.

    Raises:
        OSError: It cannot be opened.
        NoRegularFile: It is not a regular file.
        TooLarge: It has more than ``largest`` bytes.
        Outside: It is not below the folders that ``read_only_below`` was given.
        ValueError: No file can have this name.
    """
    descriptor = os.open(path, _READ | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _check_place(path, descriptor)
        _check(os.fstat(descriptor), largest)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_place(path: Path, descriptor: int) -> None:
    """Refuse what is opened outside of the folders. Other systems than Linux say only where the name leads now."""
    if _FOLDERS:
        place = Path(os.readlink(f"/proc/self/fd/{descriptor}")) if IS_LINUX else path.resolve()  # noqa: PTH115
        if not is_below(place, _FOLDERS):
            raise Outside("is outside of the folders that may be read")


def _check(status: os.stat_result, largest: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NoRegularFile(is_folder=stat.S_ISDIR(status.st_mode))
    if largest is not None and status.st_size > largest:
        raise TooLarge(f"is larger than {largest:,} bytes")


def is_folder(path: Path) -> bool:
    """Whether it is a folder; ``Path.is_dir`` raises an error for a name that the system refuses, as a long one."""
    status = _status(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def is_file(path: Path) -> bool:
    """Whether it is a regular file; false for a name that the system refuses."""
    status = _status(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def exists(path: Path) -> bool:
    """Whether there is anything of this name; false for a name that the system refuses."""
    return _status(path) is not None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None


def repository_of(file: Path) -> Path | None:
    """The folder of the git repository that a file is in; None where it is in none."""
    return next((folder for folder in file.parents if (folder / ".git").exists()), None)


def replace_file(target: Path, data: bytes | Iterable[bytes], *, mode: int = 0o666) -> None:
    """Replace a file atomically: a concurrent reader sees the old or the new content.

    The new file is written beside the target and synced to disk before it gets the name. Partial files of killed
    processes for this target are removed by the next write.

    Args:
        target: The file. A link is replaced itself; resolve it first to keep it.
        data: The content, in parts where it is large. An exception from these is passed on, as a failure to write.
        mode: The permissions of a new file, before the umask. An existing file keeps its own.

    Raises:
        OSError: It cannot be written; the old file is unchanged, and no partial file is left.
    """
    beginning = _beginning(target)
    _remove_abandoned(target.parent, beginning)
    partial = target.with_name(f"{beginning}{_machine()}.{os.getpid()}.{secrets.token_hex(8)}.tmp")
    try:
        parts = (data,) if isinstance(data, bytes) else data
        _write(partial, parts, mode, _permissions(target))
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    keep_entry(target.parent)


def _beginning(target: Path) -> str:
    """The beginning of the names of a target's partial files."""
    return f".{os.fsencode(target.name)[:_LONGEST_NAME].decode('utf-8', 'ignore')}."


def _machine() -> str:
    """An id of the host, or of the container with its own process numbers."""
    try:
        numbering = Path("/proc/self/ns/pid").readlink()
    except OSError:
        numbering = Path()
    return hashlib.sha256(os.fsencode(f"{host_name()} {numbering}")).hexdigest()[:8]


def _permissions(target: Path) -> int | None:
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def _write(partial: Path, parts: Iterable[bytes], mode: int, permissions: int | None) -> None:
    """Write a file to the disk; it is private until it has the permissions of the file that it replaces."""
    descriptor = os.open(partial, _WRITE_NEW, mode if permissions is None else 0o600)
    try:
        if permissions is not None:
            os.chmod(descriptor if _CHMOD_BY_DESCRIPTOR else partial, permissions)  # noqa: PTH101  (by descriptor)
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(folder: Path, beginning: str) -> None:
    """Remove the partial files of a target whose writers have ended; files that may not be removed stay."""
    named = re.compile(re.escape(beginning) + _REST_OF_NAME)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if found := named.fullmatch(entry.name):
                partial = Path(entry)
                with suppress(OSError):
                    if _is_abandoned(partial, found["machine"], int(found["writer"])):
                        partial.unlink()


def _is_abandoned(partial: Path, machine: str, writer: int) -> bool:
    gone = machine == _machine() and not _runs(writer)
    return gone or time.time() - partial.lstat().st_mtime > _ABANDONED_AFTER_S


def _runs(process: int) -> bool:
    """Whether there is a process of this number; one of another user exists but may not be signalled."""
    if IS_WINDOWS:  # there ``os.kill`` ends the process, whatever the signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def keep_entry(folder: Path) -> None:
    """Sync the folder's new entry to disk, where the file system supports that."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def toml_of(path: Path) -> dict[str, Any]:
    """Parse a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, too large, not UTF-8, or no TOML that ``parse_toml`` accepts.
    """
    return parse_toml(text_of(path))


def text_of(path: Path, most: int = LARGEST_TOML) -> str:
    """The text of a file of at most ``most`` bytes.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, larger, or not UTF-8.
    """
    data = beginning_of(path, most + 1)
    if len(data) > most:
        raise ValueError(f"is larger than {most:,} bytes")
    return data.decode("utf-8")


def beginning_of(path: Path, most: int) -> bytes:
    """The first bytes of a file, at most ``most``.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file.
    """
    with open_regular(path) as file:
        return file.read(most)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text.

    Raises:
        ValueError: It is no TOML, or exceeds the limits of nesting, dotted keys and digits.
    """
    if _DEEP_KEY.search(text):
        raise ValueError(f"a key has more than {DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # Python refuses to convert such a number
        raise ValueError(f"a number has more than {sys.get_int_max_str_digits():,} digits") from error
