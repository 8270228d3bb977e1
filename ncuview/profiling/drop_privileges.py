"""Script, run as root, that sets environment variables, becomes a given user and executes a program, for good.

``python -I -S drop_privileges.py UID GID NAME [VARIABLE=VALUE ...] -- PROGRAM [ARGUMENT ...]``; PROGRAM is absolute.
NAME is the user's name, which gives the supplementary groups. setpriv cannot be used: it aborts under ncu 2025.3.1 as
soon as it changes its user.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_NO_NEW_PRIVS = 38


def main() -> None:
    """Become the user and the program that the command line names."""
    uid, gid, name, *rest = sys.argv[1:]
    end = rest.index("--")
    for variable in rest[:end]:
        variable_name, _, value = variable.partition("=")
        os.environ[variable_name] = value
    program = rest[end + 1 :]
    os.initgroups(name, int(gid))
    os.setresgid(int(gid), int(gid), int(gid))
    os.setresuid(int(uid), int(uid), int(uid))
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.execv(program[0], program)  # noqa: S606  (without a shell on purpose)


if __name__ == "__main__":
    main()
