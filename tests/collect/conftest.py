"""What several tests of runs share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

UNSAFE = {"LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH"}


@pytest.fixture
def sudo(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make this process look as if sudo had started it for a user of this number."""

    def by(uid: str) -> None:
        monkeypatch.setattr("ncuview.collect.rights.os.geteuid", lambda: 0)
        monkeypatch.setenv("SUDO_UID", uid)
        for name in UNSAFE:
            monkeypatch.setenv(name, "")

    return by


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder as runs get it: nobody else may enter it, and all may enter the one that it is in."""
    with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        yield Path(folder)
