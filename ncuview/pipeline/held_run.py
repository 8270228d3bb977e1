"""``HeldRun``: a run of a program beside another one, which waits as PyTorch initialises CUDA until that has ended.

The imports of a program are then paid once for both. The hook of ``profiling.hook`` waits in the program.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from ncuview.profiling.python_hook import gate_variables

if TYPE_CHECKING:
    from ncuview.profiling.ncu_output import Progress
    from ncuview.records.profile import Profile

Start = Callable[[Mapping[str, str], Callable[["Progress"], None]], "Profile"]
"""Runs the program with these variables, calls a function at every kernel, and gives the profile."""


class Left(Exception):
    """The run was stopped: it was not needed, or launched a kernel while the other one used the GPU."""


class HeldRun:
    """The run; it begins at once, in a thread."""

    def __init__(self, folder: Path, start: Start) -> None:
        """``folder`` is a private one, for the file at which the program waits."""
        self._start, self._gate, self._leaving = start, folder / "gate", Event()
        self._began = math.nan
        self._found: Future[Profile] = Future()
        # Of an interrupted process no thread is waited for: the guard of its run ends that.
        Thread(target=self._run, daemon=True).start()

    def begin(self) -> None:
        """Let the program go on: no other run of it uses the GPU."""
        self._began = time.monotonic()
        self._open("go on")

    @property
    def seconds(self) -> float:
        """The time since it went on."""
        return time.monotonic() - self._began

    def leave(self) -> None:
        """Stop the run, which is not needed."""
        self._leaving.set()
        self._open("leave")

    def gone(self) -> None:
        """Stop the run, and wait until it has ended."""
        self.leave()
        wait([self._found])

    def result(self) -> Profile:
        """What was profiled, once the run has ended.

        Raises:
            Left: It launched a kernel without the wait.
            NcuviewError: It failed.
        """
        try:
            return self._found.result()
        finally:
            self._leaving.set()  # where the user interrupts the wait

    def _run(self) -> None:
        try:
            self._found.set_result(self._start(gate_variables(self._gate), self._progress))
        except Exception as failed:  # noqa: BLE001  (it is raised where the result is asked for)
            self._found.set_exception(failed)

    def _progress(self, _: Progress) -> None:
        if self._leaving.is_set() or math.isnan(self._began):
            raise Left

    def _open(self, text: str) -> None:
        written = self._gate.with_suffix(".new")
        written.write_text(text, encoding="utf-8")
        written.replace(self._gate)
