"""``PrivateFolder``: files in a folder that only this user can change, up to a size; then the least recently used go.

Nothing is raised: a folder or file that is not private or cannot be used is ignored. A file is replaced atomically and
its checksum is compared when it is read, so that parallel runs, full disks and killed writers leave no wrong content.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.system import user_id

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_UNFINISHED = ".tmp"
_ABANDONED_AFTER_S = 3600.0


@dataclass(frozen=True)
class PrivateFolder:
    """A folder of this user with files up to a total size.

    Attributes:
        path: The folder, which need not exist.
        most: The bytes that its files may take together.
        largest: The bytes that one file may have.
    """

    path: Path
    most: int
    largest: int

    def read(self, name: str) -> bytes | None:
        """The content that was written under this name; None where there is none, or another one."""
        with suppress(OSError), self._opened() as folder:
            descriptor = os.open(name, _READ, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                if not _is_private(os.fstat(descriptor), stat.S_ISREG):
                    return None
                digest, content = file.readline(_LONGEST_DIGEST), file.read(self.largest + 1)
                if len(content) > self.largest or digest != _digest(content):
                    return None
                os.utime(descriptor)  # used now
                return content
        return None

    def write(self, name: str, content: bytes) -> None:
        """Keep a content under this name, unless it is too large or the folder cannot be used."""
        if len(content) > self.largest or user_id() is None:
            return
        with suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError), self._opened() as folder:
            partial = f"{name}.{secrets.token_hex(8)}{_UNFINISHED}"
            try:
                with os.fdopen(os.open(partial, _WRITE_NEW, 0o600, dir_fd=folder), "wb") as file:
                    file.writelines((_digest(content), content))
                os.replace(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(partial, dir_fd=folder)
                raise
            self._shrink(folder)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The folder itself, so that a name that is changed meanwhile has no effect.

        Raises:
            OSError: It is missing, a link, of another user, or others may write to it.
        """
        if user_id() is None:
            raise PermissionError("whose folder it is cannot be checked here")
        folder = os.open(self.path, _FOLDER)
        try:
            if not _is_private(os.fstat(folder), stat.S_ISDIR):
                raise PermissionError(f"{self.path} is not private")
            yield folder
        finally:
            os.close(folder)

    def _shrink(self, folder: int) -> None:
        """Remove what was used least recently beyond the size, and what killed writers have left."""
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):  # a parallel run has removed it
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, entry.name))
        kept, now = 0, time.time()
        for used, size, name in sorted(found, reverse=True):
            kept += size
            if kept > self.most or (name.endswith(_UNFINISHED) and now - used > _ABANDONED_AFTER_S):
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)


_LONGEST_DIGEST = 65


def _digest(content: bytes) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}\n".encode()


def _is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    return is_kind(status.st_mode) and status.st_uid == user_id() and not status.st_mode & _OF_OTHERS
