"""Two checks of doctor on ncu's lock file: whether this user may write it, and whether the kernel protects it.

``lock_file`` and ``protected_files`` take a ``Machine`` and return a ``Verdict``. All users share the lock file.
"""

from __future__ import annotations

from ncuview.doctor.machine import Machine, Owned
from ncuview.doctor.verdict import Evidence, NotKnown, Verdict, fail, ok, warn

_NAME = "nsight-compute-lock"
_PROTECTED = "/proc/sys/fs/protected_regular"
_FIX = (
    f"Ask its owner to remove {_NAME}; or, if no other user profiles on this GPU, set TMPDIR to a folder of your own: "
    "a lock file there does not exclude other users."
)


def lock_file(machine: Machine) -> Verdict:
    """Whether ncu may write its lock file."""
    path, lock = _lock(machine)
    if lock is None:
        return ok("no lock file is in the way", Evidence(path, "does not exist"))
    seen = Evidence(path, f"of user {lock.uid}, mode {lock.mode & 0o7777:o}")
    if not machine.may_write(lock):
        return fail("the lock file of ncu belongs to another user", seen, fix=_FIX)
    return ok("ncu may write its lock file", seen)


def protected_files(machine: Machine) -> Verdict:
    """Whether the kernel forbids even administrators to write another user's lock file in a shared folder."""
    setting = machine.text_if_there(_PROTECTED).strip()
    if setting not in {"0", "1", "2"}:
        raise NotKnown(f"{_PROTECTED} cannot be read")
    seen = Evidence(_PROTECTED, setting)
    path, lock = _lock(machine)
    folder = _owned(machine, machine.folder_for_temporary_files)
    if folder is None:
        raise NotKnown("there is no folder for temporary files")
    foreign = lock is not None and lock.uid not in {machine.uid, folder.uid}
    if setting == "0" or not folder.is_sticky_and_shared or not foreign:
        return ok("the kernel lets ncu write its lock file", seen)
    message = "the kernel lets only its owner write the lock file of ncu, not even root"
    return warn(message, seen, Evidence(path, "of another user, in a folder that all share"), fix=_FIX)


def _lock(machine: Machine) -> tuple[str, Owned | None]:
    path = f"{machine.folder_for_temporary_files.rstrip('/')}/{_NAME}"
    return path, _owned(machine, path)


def _owned(machine: Machine, path: str) -> Owned | None:
    try:
        return machine.owned(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotKnown(f"{path} cannot be inspected: {error.strerror}") from error
