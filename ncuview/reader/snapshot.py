"""``Snapshot``: a report's bytes in a sealed memory file, immutable, shared by this process and its child processes.

``Snapshot.of`` takes the bytes in pieces. As nobody can change them, the bytes that were checked are those read.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

_FINAL = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Snapshot:
    """Bytes in an unnamed file, for this process (``data``) and for child processes (``descriptor``)."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.data = mmap.mmap(descriptor, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
        self._forgotten = 0

    @classmethod
    def of(cls, pieces: Iterable[bytes]) -> Self:
        """Keep these bytes, at least one. Where ``pieces`` raises, nothing is kept.

        Raises:
            OSError: They do not fit into memory.
        """
        writable = os.memfd_create("report", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with os.fdopen(writable, "wb", closefd=False) as file:
                file.writelines(pieces)
            fcntl.fcntl(writable, fcntl.F_ADD_SEALS, _FINAL)
            return cls(os.open(f"/proc/self/fd/{writable}", os.O_RDONLY | os.O_CLOEXEC))
        finally:
            os.close(writable)

    @property
    def name(self) -> Path:
        """The path for a process that has the descriptor."""
        return Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def size(self) -> int:
        """Bytes that it holds; none once it is closed."""
        return 0 if self.data.closed else len(self.data)

    def forget(self, end: int) -> None:
        """Release this process's memory for the bytes up to this one, which were parsed.

        They can still be read; the system maps them again.
        """
        end -= end % mmap.PAGESIZE
        if end > self._forgotten:
            self.data.madvise(mmap.MADV_DONTNEED, self._forgotten, end - self._forgotten)
            self._forgotten = end

    def close(self) -> None:
        """Free the memory, once no child reads it any more; closing twice is allowed."""
        if not self.data.closed:
            self.data.close()
            os.close(self.descriptor)
