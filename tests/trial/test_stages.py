"""The seconds of the stages of a trial."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import pytest

from ncuview.records.trial import Stage
from ncuview.trial.stages import Stages


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> float:
        self.now += seconds
        return seconds


def test_the_seconds_of_a_stage_are_summed_and_all_has_the_rest_too() -> None:
    clock = Clock()
    stages = Stages(clock)
    compiles, times = stages.timed("compile", clock.work), stages.timed("times", clock.work)
    assert compiles(2.0) == 2.0
    times(seconds=4.0)
    clock.work(1.0)
    compiles(3.0)
    assert stages.seconds == {"compile": 5.0, "times": 4.0, "all": 10.0}


def test_what_fails_took_time_too() -> None:
    clock = Clock()
    stages = Stages(clock)

    def failing() -> None:
        clock.work(2.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.timed("sanitizer", failing)()
    assert stages.seconds == {"sanitizer": 2.0, "all": 2.0}


def test_what_runs_at_once_is_counted_once() -> None:
    clock = Clock()
    stages = Stages(clock)
    together = Barrier(3, timeout=20)

    def run() -> None:
        with stages.stage("sanitizer"):
            together.wait()  # all three are in the stage
            together.wait()  # the clock has moved

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run) for _ in range(2)]
        together.wait()
        clock.work(5.0)
        together.wait()
        for each in runs:
            each.result()
    clock.work(1.0)
    assert stages.seconds == {"sanitizer": 5.0, "all": 6.0}


def test_a_wait_for_a_turn_does_not_count() -> None:
    clock = Clock()

    @contextmanager
    def waiting(stage: Stage) -> Iterator[None]:
        clock.work(5.0 if stage == "times" else 0.0)
        yield

    stages = Stages(clock, waiting)
    stages.timed("times", clock.work)(2.0)
    stages.timed("compile", clock.work)(3.0)
    assert stages.seconds == {"times": 2.0, "compile": 3.0, "all": 5.0}
