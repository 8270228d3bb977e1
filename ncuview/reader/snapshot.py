"""``Snapshot``: a report's bytes in a sealed memory file, immutable, shared by this process and its child processes.

``Snapshot.of`` takes the bytes in pieces. No process can change them, so the bytes that were checked are those read.
Only Linux has such files; elsewhere it is a temporary file of this user.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from ncuview.base.system import IS_LINUX


class Snapshot:
    """Bytes in an unnamed file, for this process (``data``) and for child processes (``descriptor``)."""

    def __init__(self, descriptor: int, file: Path | None = None) -> None:
        self.descriptor = descriptor
        self._file = file
        self.data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        self._forgotten = 0

    @classmethod
    def of(cls, pieces: Iterable[bytes]) -> Self:
        """Keep these bytes, at least one. Where ``pieces`` raises, nothing is kept.

        Raises:
            OSError: They do not fit into memory.
        """
        return cls._sealed(pieces) if IS_LINUX else cls._in_a_file(pieces)

    @classmethod
    def _sealed(cls, pieces: Iterable[bytes]) -> Self:
        import fcntl

        final = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        writable = os.memfd_create("report", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with os.fdopen(writable, "wb", closefd=False) as file:
                file.writelines(pieces)
            fcntl.fcntl(writable, fcntl.F_ADD_SEALS, final)
            return cls(os.open(f"/proc/self/fd/{writable}", os.O_RDONLY | os.O_CLOEXEC))
        finally:
            os.close(writable)

    @classmethod
    def _in_a_file(cls, pieces: Iterable[bytes]) -> Self:
        writable, name = tempfile.mkstemp(prefix="ncuview-", suffix=".ncu-rep")
        file = Path(name)
        try:
            with os.fdopen(writable, "wb") as opened:
                opened.writelines(pieces)
            return cls(os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0)), file)
        except BaseException:
            file.unlink()
            raise

    @property
    def name(self) -> Path:
        """The path for a process that has the descriptor; of a temporary file, the path for all processes."""
        return self._file or Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def size(self) -> int:
        """Bytes that it holds; none once it is closed."""
        return 0 if self.data.closed else len(self.data)

    def forget(self, end: int) -> None:
        """Release this process's memory for the bytes up to this one, which were parsed.

        They can still be read; the system maps them again.
        """
        end -= end % mmap.PAGESIZE
        if end > self._forgotten and hasattr(mmap, "MADV_DONTNEED"):  # Windows has no such advice
            self.data.madvise(mmap.MADV_DONTNEED, self._forgotten, end - self._forgotten)
            self._forgotten = end

    def close(self) -> None:
        """Free the memory, once no child reads it any more; closing twice is allowed."""
        if not self.data.closed:
            self.data.close()
            os.close(self.descriptor)
            if self._file:
                with suppress(OSError):  # a child that is being ended may have it open
                    self._file.unlink()
