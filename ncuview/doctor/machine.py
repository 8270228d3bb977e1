"""``Machine``: the files, permissions, environment, user and programs that doctor's checks read, real or of a test.

``this_machine`` takes ``Commands``, which run programs, and describes the machine of this process.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from ncuview.base.system import user_id
from ncuview.catalogue.machine_code import find_disassembler
from ncuview.doctor.commands import Answer, Commands
from ncuview.doctor.verdict import NotKnown
from ncuview.profiling.machine import find_ncu

_MOST_CHARACTERS = 1 << 16


@dataclass(frozen=True)
class Owned:
    """The owner and the permissions of a file or folder."""

    uid: int
    gid: int
    mode: int

    @property
    def is_sticky_and_shared(self) -> bool:
        """Whether all users may create files in it and only their owners may remove them, as in /tmp."""
        return bool(self.mode & stat.S_ISVTX and self.mode & stat.S_IWOTH)


@dataclass(frozen=True)
class Machine:
    """One machine, real or made for a test."""

    root: Path
    """The folder that absolute paths start from; the file system's root on a real machine."""
    environment: Mapping[str, str]
    uid: int | None
    """Of this user; None on Windows."""
    groups: frozenset[int]
    pid: int
    """Of this process."""
    folder: str
    """The working folder; empty when it has been removed."""
    homes: tuple[str, ...]
    """Home folders, which are shown as ``~``, since their names identify users."""
    run: Callable[..., Answer]
    """Called with the words of a command line; see ``Commands``."""
    find_ncu: Callable[[], Path | None]
    """The Nsight Compute that ncuview would use."""
    find_disassembler: Callable[[str], Path | None]
    """The cuobjdump or nvdisasm that ncuview would use."""

    def answer(self, refused: str, *argv: str) -> Answer:
        """The answer of a program; ``refused`` says what cannot be started where the system refuses it.

        Raises:
            NotKnown: It cannot be started, or did not end in time.
        """
        try:
            return self.run(*argv)
        except OSError as error:
            raise NotKnown(f"{refused}: {error.strerror}") from error

    def at(self, path: str | PurePath) -> Path:
        """The real path of an absolute path of this machine."""
        return self.root / str(path).lstrip("/")

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder that this user may see."""
        return os.path.exists(self.at(path))  # noqa: PTH110  (pathlib raises where a folder may not be entered)

    def text(self, path: str) -> str:
        """The beginning of a file.

        Raises:
            OSError: It cannot be read.
        """
        with self.at(path).open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_CHARACTERS)

    def text_if_there(self, path: str) -> str:
        """The beginning of a file; empty when there is none or it may not be read."""
        try:
            return self.text(path)
        except OSError:
            return ""

    def owned(self, path: str) -> Owned:
        """The owner and the permissions of a file or folder.

        Raises:
            OSError: It is missing, or may not be inspected.
        """
        found = self.at(path).stat()
        return Owned(found.st_uid, found.st_gid, found.st_mode)

    def may_write(self, file: Owned) -> bool:
        """Whether the permissions of a file let this user write it."""
        if file.uid == self.uid:
            return bool(self.uid == 0 or file.mode & stat.S_IWUSR)
        bit = stat.S_IWGRP if file.gid in self.groups else stat.S_IWOTH
        return bool(self.uid == 0 or file.mode & bit)

    def try_to_write(self, folder: str) -> None:
        """Write a file into a folder and remove it: permissions alone do not show file systems and quotas.

        Raises:
            OSError: The folder cannot be written.
        """
        with tempfile.TemporaryFile(dir=self.at(folder)) as file:
            file.write(b"ncuview")

    def free_bytes(self, folder: str) -> int:
        """The free bytes for this user's files.

        Raises:
            OSError: The folder cannot be inspected.
        """
        return shutil.disk_usage(self.at(folder)).free

    def which(self, program: str) -> str | None:
        """A program on PATH."""
        for folder in self.environment.get("PATH", os.defpath).split(os.pathsep):
            if folder and self.is_program(f"{folder.rstrip('/')}/{program}"):
                return f"{folder.rstrip('/')}/{program}"
        return None

    def is_program(self, path: str) -> bool:
        """Whether there is a file that can be started."""
        found = self.at(path)
        # pathlib raises where a folder may not be entered.
        return os.path.isfile(found) and os.access(found, os.X_OK)  # noqa: PTH113

    @property
    def folder_for_temporary_files(self) -> str:
        """The folder that ncu uses: TMPDIR, else /tmp."""
        return self.environment.get("TMPDIR") or "/tmp"  # noqa: S108  (the default of ncu)  # nosec B108

    def shown(self, text: str) -> str:
        """The text without the names of home folders."""
        for home in self.homes:
            text = re.sub(rf"(?<![\w/.-]){re.escape(home)}(?![\w.-])", "~", text)
        return text


def this_machine(commands: Commands) -> Machine:
    """The machine that this process runs on."""
    return Machine(
        root=Path("/"),
        environment=os.environ,
        uid=user_id(),
        groups=frozenset({os.getegid(), *os.getgroups()}) if hasattr(os, "getgroups") else frozenset(),
        pid=os.getpid(),
        folder=_working_folder(),
        homes=_homes(),
        run=commands,
        find_ncu=find_ncu,
        find_disassembler=find_disassembler,
    )


def _working_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _homes() -> tuple[str, ...]:
    homes = {os.environ.get(name, "").rstrip("/\\") for name in ("HOME", "USERPROFILE")}
    with suppress(ImportError, KeyError):  # Windows keeps no list of users, or this user is not in it
        import pwd

        homes.add(pwd.getpwuid(os.geteuid()).pw_dir.rstrip("/"))
    return tuple(sorted(homes - {""}, key=len, reverse=True))
