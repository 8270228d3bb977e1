"""Find the user who called sudo, and build the command that runs the profiled program as that user while ncu is root.

It also hands files over to the user, and removes variables that would load the user's code into ncu.

ncu needs root's rights for the counters. Where root is the only user, as in most containers, there is nobody to
become, and the program runs as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.system import ADMINISTRATOR, user_id

_BECOME = Path(__file__).with_name("drop_privileges.py")

_LOADS_CODE = ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
"""Variables that have a program run files of a user's choice; with root's rights ncu must not."""


@dataclass(frozen=True)
class InvokingUser:
    """The user who called sudo."""

    uid: int
    gid: int
    name: str
    home: Path

    def runs(self, command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        """The command line that gives up root's rights before it becomes a program.

        Args:
            command: The program's absolute path, and its arguments.
            variables: Further variables for the program alone.
        """
        of_user = {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name, **variables}
        become = [sys.executable, "-I", "-S", str(_BECOME), str(self.uid), str(self.gid), self.name]
        return [*become, *(f"{name}={value}" for name, value in of_user.items()), "--", *command]

    def hand_over(self, paths: Iterable[Path]) -> None:
        """Make files and folders the user's own, as far as the file system has owners."""
        for path in paths:
            with suppress(OSError):
                os.chown(path, self.uid, self.gid, follow_symlinks=False)


def invoking_user() -> InvokingUser | None:
    """Who called sudo, where this process has root's rights by it; None for root itself and everybody else."""
    if user_id() != ADMINISTRATOR:
        return None
    import pwd

    try:
        uid = int(os.environ.get("SUDO_UID", "0"))
        known = pwd.getpwuid(uid)
    except (ValueError, KeyError):
        return None
    return InvokingUser(uid, known.pw_gid, known.pw_name, Path(known.pw_dir)) if uid else None


def variables_for_ncu() -> dict[str, str]:
    """The variables of this process, less those that would have ncu run a user's files with root's rights."""
    elevated = invoking_user() is not None
    return {name: value for name, value in os.environ.items() if not (elevated and name in _LOADS_CODE)}
