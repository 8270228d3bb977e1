"""The operating system that ncuview runs on: ``IS_LINUX``, ``usable_processors``, ``user_id``, ``host_name``.

Reports are read everywhere. Profiling, and the sandbox of the process that reads reports, need Linux.
"""

from __future__ import annotations

import os
import sys

IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
ADMINISTRATOR = 0
"""The number of the user who may do everything."""


def usable_processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def user_id() -> int | None:
    """The number of this process's user; None on Windows, where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def host_name() -> str:
    """The name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
