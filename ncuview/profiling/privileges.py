"""Find the user who called sudo, and build the command that runs the profiled program as that user while ncu is root.

``invoking_user`` gives the ``InvokingUser`` or None; ``variables_for_ncu`` drops variables that load a user's code.
``InvokingUser.runs`` builds the command, ``hand_over`` makes the user the owner of files. ncu needs root's rights for
the counters. Where root is the only user, as in most containers, the program runs as root.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.system import ADMINISTRATOR, user_id

_DROP_PRIVILEGES = Path(__file__).with_name("drop_privileges.py")

_LOADS_CODE = ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
"""Variables that make a program run files of a user's choice; with root's rights ncu must not."""


@dataclass(frozen=True)
class InvokingUser:
    """The user who called sudo."""

    uid: int
    gid: int
    name: str
    home: Path

    def runs(self, command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        """The command line that gives up root's rights and then executes a program.

        Args:
            command: The program's absolute path, and its arguments.
            variables: Further environment variables for the program only.
        """
        of_user = {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name, **variables}
        as_user = [sys.executable, "-I", "-S", str(_DROP_PRIVILEGES), str(self.uid), str(self.gid), self.name]
        return [*as_user, *(f"{name}={value}" for name, value in of_user.items()), "--", *command]

    def hand_over(self, paths: Iterable[Path]) -> None:
        """Make the user the owner of files and folders, where the file system has owners."""
        for path in paths:
            with suppress(OSError):
                os.chown(path, self.uid, self.gid, follow_symlinks=False)


def invoking_user() -> InvokingUser | None:
    """The user who called sudo, if this process has root's rights through it; None otherwise."""
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
    """The variables of this process, without those that would make ncu run a user's files with root's rights."""
    elevated = invoking_user() is not None
    return {name: value for name, value in os.environ.items() if not (elevated and name in _LOADS_CODE)}
