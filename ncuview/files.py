"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def replace_file(target: Path, data: bytes) -> None:
    """Put a file in another's place at once, with its permissions: whoever reads meanwhile sees what was there before.

    Raises:
        OSError: It cannot be written; what was there before is untouched, and nothing is left beside it.
    """
    partial = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.tmp")
    try:
        with partial.open("xb") as file:
            if target.exists():
                partial.chmod(target.stat().st_mode & 0o7777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _keep_entry(target.parent)


def _keep_entry(folder: Path) -> None:
    """Have the folder's new entry on the disk too, as far as the file system does that."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(opened)
    except OSError:
        pass
    finally:
        os.close(opened)
