"""Replace a file atomically (old or new content, never a part), and open a file only if it is a regular file.

``replace_file`` writes beside the target and renames; ``open_regular`` refuses folders, pipes, devices and large files.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from ncuview.base.system import IS_WINDOWS, host_name

_READ = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # without it opening a pipe waits for a writer, for ever if there is none
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)  # Windows alters line ends without it
)
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_LONGEST_NAME = 180
"""Bytes of a target's name that its partial files bear; a name may have 255, and what follows takes up to 42."""
_ABANDONED_AFTER_S = 3600.0
"""So long nobody writes one file. It counts where nobody can tell whether the writer still runs."""
_REST_OF_NAME = r"(?P<machine>[0-9a-f]{8})\.(?P<writer>[1-9][0-9]{0,6})\.[0-9a-f]{16}\.tmp"


class NoRegularFile(ValueError):
    """A folder, pipe or device bears the name."""

    def __init__(self, *, is_folder: bool) -> None:
        super().__init__("is no regular file")
        self.is_folder = is_folder


class TooLarge(ValueError):
    """The file has more bytes than it may have."""


def open_regular(path: Path, largest: int | None = None, *, follow: bool = True) -> BufferedReader:
    """Open a file to read it without waiting for anything; what was opened is checked, not what bore the name before.

    Args:
        path: The file.
        largest: The bytes that it may have; None for any number.
        follow: Whether the name may be a link.

    Raises:
        OSError: It cannot be opened.
        NoRegularFile: It is something else.
        TooLarge: It has more bytes.
        ValueError: No file can have this name.
    """
    descriptor = os.open(path, _READ | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _check(os.fstat(descriptor), largest)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check(status: os.stat_result, largest: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NoRegularFile(is_folder=stat.S_ISDIR(status.st_mode))
    if largest is not None and status.st_size > largest:
        raise TooLarge(f"is larger than {largest:,} bytes")


def replace_file(target: Path, data: bytes | Iterable[bytes], *, mode: int = 0o666) -> None:
    """Put a file in another's place at once: whoever reads meanwhile sees what was there before.

    The new file is written beside the target and is on the disk before it takes the name. What a process that was
    killed left there of this target is removed by the next one that writes it.

    Args:
        target: The file. A link is replaced itself; resolve it first where it is to stay.
        data: All that it is to hold, in parts where it is large. What these raise goes through, as a failure to write.
        mode: The permissions of a new file, before the umask. One that is there keeps its own.

    Raises:
        OSError: It cannot be written; what was there before is untouched, and nothing is left beside it.
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
    _keep_entry(target.parent)


def _beginning(target: Path) -> str:
    """How the names of a target's partial files begin."""
    return f".{os.fsencode(target.name)[:_LONGEST_NAME].decode('utf-8', 'ignore')}."


def _machine() -> str:
    """Where process numbers mean the same: a host, or a container that counts its own."""
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
    """Write a file to the disk; nobody else may read it before it has the permissions of what it replaces."""
    descriptor = os.open(partial, _WRITE_NEW, mode if permissions is None else 0o600)
    try:
        if permissions is not None:
            os.chmod(descriptor if os.chmod in os.supports_fd else partial, permissions)  # noqa: PTH101  (by descriptor)
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(folder: Path, beginning: str) -> None:
    """Remove the partial files of a target whose writers are gone; what may not be seen or removed stays."""
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
    """Whether there is a process of this number; one of another user may not be signalled, and is there."""
    if IS_WINDOWS:  # there ``os.kill`` ends the process, whatever the signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _keep_entry(folder: Path) -> None:
    """Have the folder's new entry on the disk too, as far as the file system does that."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
