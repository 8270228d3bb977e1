"""The guard process that runs a profiler as its child and ends all processes of the run, even if ncuview is killed.

``runner.supervise`` starts it, with its settings as JSON and the profiler's command line; its stdin takes commands.
On stdin, ``stop`` asks for the end of the run, ``kill`` for its immediate end, and the end of the stream means that
ncuview has ended. It exits with the profiler's exit status, or by the signal that ended the profiler.

It is a process of its own for three reasons. Processes that lose their parent become its children, so that it finds
those that left the profiler's process group; in ncuview's own process that would claim children of other parts of a
program. It has one thread, so that it may prepare the profiler between fork and exec. And it outlives ncuview.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LAST_S = 3.0
"""How long killed processes, and the command that frees the clocks, may take."""
_POLL_S = 0.05
_NOT_STARTED = 127
_SHELLS_SIGNAL = 128
"""A shell adds it to the number of the signal that ended a command."""
_TRACKERS = "NVIDIA-treetracker-*"
"""Files that ncu leaves in the folder for temporary files when it is killed."""
_ASKED_BY_SIGNAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Guard:
    """One run of a profiler."""

    def __init__(self, argv: list[str], *, graces: list[list[float]], heard: list[int], remove: list[str]) -> None:
        self._graces = graces
        self._heard = heard
        self._remove = remove
        self._trackers = _trackers()
        self._ncuview_is_gone = False
        self._kill_now = False
        self._asked = False
        self._status: int | None = None
        self._libc = ctypes.CDLL(None)
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._wake, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_ASKED_BY_SIGNAL):
            signal.signal(number, lambda *_: None)
        self._profiler = self._start(argv)

    def watch(self, frees_clocks: list[str]) -> int:
        """Wait for the end of the run or of ncuview; return the profiler's wait status, SIGKILL's if it has none."""
        while self._status is None and not self._asked:
            self._hear(None)
        if self._asked or (self._status is not None and _by_signal(self._status)):
            self._stop()
            self._clean_up(frees_clocks)
        return signal.SIGKILL if self._status is None else self._status

    def _start(self, argv: list[str]) -> int:
        """Start the profiler as the leader of a session; it gets SIGTERM if this process is killed."""
        own = os.getpid()
        profiler = os.fork()
        if profiler:
            return profiler
        os.setsid()
        self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != own:
            os._exit(_NOT_STARTED)
        # A shell's background job ignores SIGINT, Python ignores SIGPIPE and SIGXFSZ, and exec would inherit that.
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *_ASKED_BY_SIGNAL):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor in self._heard:
            os.close(descriptor)
        try:
            os.execv(argv[0], argv)  # noqa: S606  (without a shell on purpose)
        except OSError as error:
            os.write(2, f"{argv[0]} cannot be started: {error.strerror}\n".encode(errors="replace"))
            os._exit(_NOT_STARTED)

    def _hear(self, seconds: float | None) -> None:
        """Handle signals, commands and ends of processes; wait at most this long for the first."""
        waits_for = [self._wake, *(self._heard if self._ncuview_is_gone else [0])]
        for ready in select.select(waits_for, [], [], seconds)[0]:
            if ready == self._wake:
                self._asked |= any(number in _ASKED_BY_SIGNAL for number in os.read(self._wake, 1 << 12))
            elif ready == 0:
                said = os.read(0, 1 << 12)
                self._asked = True
                self._ncuview_is_gone = not said
                self._kill_now |= b"kill" in said
            elif not os.read(ready, 1 << 16):  # discarded: with ncuview gone, a full pipe would block the profiler
                self._heard.remove(ready)
        self._reap()

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._profiler:
                    self._status = ended[1]

    def _stop(self) -> None:
        """Signal all processes that are left of the run to end, signal them again, and kill them."""
        for number, grace_s in self._graces:
            if self._kill_now or self._all_end(int(number), grace_s):
                break
        self._all_end(signal.SIGKILL, _LAST_S)

    def _all_end(self, number: int, grace_s: float) -> bool:
        """Signal each process that is left of the run, and those it starts meanwhile, once; whether all end in time."""
        deadline = time.monotonic() + grace_s
        asked: set[int] = set()
        while left := descendants(os.getpid()):
            remaining = deadline - time.monotonic()
            if remaining <= 0 or (self._kill_now and number != signal.SIGKILL):
                return False
            self._signal([process for process in left if process not in asked], number)
            asked.update(left)
            self._hear(min(remaining, _POLL_S))
        self._reap()
        return True

    def _signal(self, processes: list[int], number: int) -> None:
        group_signalled = False
        for process in processes:
            with suppress(OSError):
                if os.getpgid(process) != self._profiler:
                    os.kill(process, number)
                elif not group_signalled:
                    os.killpg(self._profiler, number)  # all at once, so that none can start another in between
                    group_signalled = True

    def _clean_up(self, frees_clocks: list[str]) -> None:
        """Free the clocks and delete files where the killed profiler could not, and folders where ncuview cannot."""
        if self._status is None or _by_signal(self._status):
            if frees_clocks:
                with suppress(OSError, subprocess.SubprocessError):
                    subprocess.run(
                        frees_clocks,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        timeout=_LAST_S,
                        check=False,
                    )
            for tracker in _trackers() - self._trackers:
                with suppress(OSError):
                    if tracker.lstat().st_uid == os.getuid() and not _is_open(tracker):
                        tracker.unlink()
        if self._ncuview_is_gone:
            for folder in self._remove:
                shutil.rmtree(folder, ignore_errors=True)


def descendants(ancestor: int) -> list[int]:
    """The running processes that a process started, directly or not, without zombies; empty if ``/proc`` is empty."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                # The name, in parentheses, may hold anything.
                state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state not in b"ZX":
                    children.setdefault(int(parent), []).append(int(entry.name))
    found: list[int] = []
    next_of_kin = [ancestor]
    while next_of_kin:
        born = children.get(next_of_kin.pop(), [])
        found += born
        next_of_kin += born
    return found


def _by_signal(status: int) -> bool:
    """Whether a signal ended the profiler, or the program that a shell script ran as the profiler: ncu is such one."""
    return not 0 <= os.waitstatus_to_exitcode(status) < _SHELLS_SIGNAL


def _trackers() -> set[Path]:
    # The folder that ncu uses. tempfile would write a file to find it.
    return set(Path(os.environ.get("TMPDIR") or "/tmp").glob(_TRACKERS))  # noqa: S108  # nosec B108


def _is_open(file: Path) -> bool:
    """Whether a process, of those that this one may inspect, uses a file."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if link.samefile(file):
                return True
    return False


def _leave(status: int) -> NoReturn:
    """Exit as the profiler ended."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


def main() -> None:
    """Guard the run that the command line describes."""
    settings: dict[str, Any] = json.loads(sys.argv[1])
    guard = Guard(sys.argv[2:], graces=settings["graces"], heard=settings["heard"], remove=settings["remove"])
    _leave(guard.watch(settings["frees_clocks"]))


if __name__ == "__main__":
    main()
