"""Track the time of one profiling run, and report when it exceeds its time limit or shows no progress for too long.

``Watch.overdue()`` is ``time``, ``silence`` or empty; ``progressed()`` notes progress; ``NO_PROGRESS_S`` is a default.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

NO_PROGRESS_S = 1800.0
"""The default for how long a run may show no progress: fifteen times the limit of a launch of the catalogue
(``live.SECONDS_PER_LAUNCH``), and less than the hour after which pipelines often end a job without output."""

Overdue = Literal["", "time", "silence"]
"""Not overdue, over the total time, or without progress for too long."""


class Watch:
    """The time of one run, from the construction of this object."""

    def __init__(self, timeout_s: float, no_progress_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._moved = self._started
        self._timeout_s = timeout_s
        self._no_progress_s = no_progress_s

    def progressed(self) -> None:
        """Note progress."""
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
