"""``Snapshot``: a report's bytes in a sealed memory file, immutable, shared by this process and its child processes.

So what was checked is what is read.
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
    """Bytes in a file that has no name, for this process (``data``) and for child processes (``descriptor``)."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.data = mmap.mmap(descriptor, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
        self._forgotten = 0

    @classmethod
    def of(cls, pieces: Iterable[bytes]) -> Self:
        """Keep these bytes, of which there is at least one. What ``pieces`` raises goes through, and nothing is kept.

        Raises:
            OSError: There is no room.
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
        """What a process that was given the descriptor finds it under."""
        return Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def size(self) -> int:
        """Bytes that it holds; none once it is closed."""
        return 0 if self.data.closed else len(self.data)

    def forget(self, end: int) -> None:
        """Take what was walked over, up to this byte, out of this process's share of memory.

        Whoever looks at it again finds it as it was.
        """
        end -= end % mmap.PAGESIZE
        if end > self._forgotten:
            self.data.madvise(mmap.MADV_DONTNEED, self._forgotten, end - self._forgotten)
            self._forgotten = end

    def close(self) -> None:
        """Give the memory back, once no child reads it any more; to close again does nothing."""
        if not self.data.closed:
            self.data.close()
            os.close(self.descriptor)
