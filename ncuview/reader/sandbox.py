"""Confine the current process before it reads untrusted data: limits on memory, CPU time and files, no root rights.

``confine`` cannot be undone. The process can write no file, gain no privilege, and dies with its parent. This is Linux:
macOS has the limits on processor time and files alone, Windows has none of these bounds, and ``MISSING`` says so.
"""

from __future__ import annotations

import ctypes
import os
import signal
from errno import EINVAL, EPERM
from math import ceil

from ncuview.base.system import ADMINISTRATOR, IS_LINUX, IS_WINDOWS, user_id

MISSING = ""
"""What the process that reads a report may do on this system, and not on Linux; empty on Linux."""
if IS_WINDOWS:
    MISSING = "it has all rights of this user, without limits on its memory and files"
elif not IS_LINUX:
    MISSING = "it has the rights of this user, without a limit on its memory"

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_NOBODY = 65534
_MOST_FILES = 64


def confine(memory: int, cpu_s: int) -> None:
    """Limit address space (bytes) and further processor time (s), and give up rights, for good.

    As root the process becomes the user nobody, so everything that it needs must be imported or loaded already. It dies
    with the process that started it. Other systems than Linux have a part of this (``MISSING``).

    Raises:
        OSError: The system refuses it.
    """
    if IS_WINDOWS:
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = ceil(used.ru_utime + used.ru_stime) + cpu_s
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _MOST_FILES,
    }
    if IS_LINUX:  # macOS refuses a limit on address space
        limits[resource.RLIMIT_AS] = memory
    for what, wanted in limits.items():
        _limit(what, wanted, wanted)
    # A higher hard limit: with equal limits the signal would be SIGKILL, as when memory runs out, and not SIGXCPU.
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    if not IS_LINUX:
        return
    if user_id() == ADMINISTRATOR:
        _become_nobody()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of user, which would reset it


def _limit(what: int, soft: int, hard: int) -> None:
    import resource

    _, known = resource.getrlimit(what)
    most = hard if known == resource.RLIM_INFINITY else min(hard, known)
    resource.setrlimit(what, (min(soft, most), most))


def _become_nobody() -> None:
    try:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    except OSError as error:
        # In a container without root's rights outside, the user nobody may be missing, or the change not allowed.
        if error.errno not in {EPERM, EINVAL}:
            raise


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
