"""Files that are written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_LONGEST_NAME = 180
"""Bytes of a target's name that its partial files bear; a name may have 255, and what follows takes up to 42."""
_ABANDONED_AFTER_S = 3600.0
"""So long nobody writes one file. It counts where nobody can tell whether the writer still runs."""
_REST_OF_NAME = r"(?P<machine>[0-9a-f]{8})\.(?P<writer>[1-9][0-9]{0,6})\.[0-9a-f]{16}\.tmp"


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
    return hashlib.sha256(os.fsencode(f"{os.uname().nodename} {numbering}")).hexdigest()[:8]


def _permissions(target: Path) -> int | None:
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def _write(partial: Path, parts: Iterable[bytes], mode: int, permissions: int | None) -> None:
    """Write a file to the disk; nobody else may read it before it has the permissions of what it replaces."""
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode if permissions is None else 0o600)
    try:
        if permissions is not None:
            os.fchmod(descriptor, permissions)
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
