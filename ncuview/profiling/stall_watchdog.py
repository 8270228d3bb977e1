"""Track the time of one profiling run, and report when it exceeds its time limit or shows no progress for too long.

``Watch.overdue`` is ``time``, ``silence`` or empty; ``NO_PROGRESS_S`` is the default limit without progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

NO_PROGRESS_S = 1800.0
"""Without a sign of progress for so long, a run is taken to hang: fifteen times what a launch of the catalogue
may take (``live.SECONDS_PER_LAUNCH``), and less than the hour after which pipelines often end a job without a word."""

Overdue = Literal["", "time", "silence"]
"""Not overdue, over the whole time, or without progress for too long."""


class Watch:
    """The time of one run, from when this is made."""

    def __init__(self, timeout_s: float, no_progress_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._moved = self._started
        self._timeout_s = timeout_s
        self._no_progress_s = no_progress_s

    def moved(self) -> None:
        """There was progress."""
        self._moved = self._clock()

    @property
    def elapsed_s(self) -> float:
        """Since the run began."""
        return self._clock() - self._started

    @property
    def overdue(self) -> Overdue:
        """Whether the run must be stopped, and why."""
        now = self._clock()
        if now - self._started >= self._timeout_s:
            return "time"
        return "silence" if now - self._moved >= self._no_progress_s else ""
