"""The seconds that each stage of a trial takes: ``Stages.timed`` wraps what does the work, ``seconds`` has the sums."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import Lock
from typing import ParamSpec, TypeVar

from ncuview.records.trial import Stage

P = ParamSpec("P")
T = TypeVar("T")


class Stages:
    """A clock for each stage. It runs while the stage does anything, however much of it at once."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        turn: Callable[[Stage], AbstractContextManager[object]] = lambda _: nullcontext(),
    ) -> None:
        """Nothing has begun yet.

        Args:
            clock: Gives seconds.
            turn: Waits until a stage may begin, for trials that share a GPU. The wait does not count.
        """
        self._clock, self._turn, self._lock = clock, turn, Lock()
        self._began = clock()
        self._spent: dict[Stage | None, float] = {}  # None: waits
        self._running: dict[Stage | None, tuple[int, float]] = {}

    @property
    def seconds(self) -> Mapping[Stage, float]:
        """The seconds of each stage that has begun and ended, and of all since this object was made."""
        return {**{name: spent for name, spent in self._spent.items() if name}, "all": self.elapsed()}

    def elapsed(self) -> float:
        """The seconds since this object was made, without those that waited for a turn."""
        return self._clock() - self._began - self._spent.get(None, 0.0)

    @contextmanager
    def stage(self, name: Stage) -> Iterator[None]:
        """Count the time of the body; several threads may be in one stage."""
        with ExitStack() as turn:
            with self._counted(None):
                turn.enter_context(self._turn(name))
            with self._counted(name):
                yield

    @contextmanager
    def _counted(self, name: Stage | None) -> Iterator[None]:
        with self._lock:
            count, since = self._running.get(name, (0, self._clock()))
            self._running[name] = count + 1, since
        try:
            yield
        finally:
            with self._lock:
                count, since = self._running.pop(name)
                if count > 1:
                    self._running[name] = count - 1, since
                else:
                    self._spent[name] = self._spent.get(name, 0.0) + self._clock() - since

    def timed(self, name: Stage, done: Callable[P, T]) -> Callable[P, T]:
        """The same function, whose time is counted."""

        def counted(*args: P.args, **named: P.kwargs) -> T:
            with self.stage(name):
                return done(*args, **named)

        return counted
