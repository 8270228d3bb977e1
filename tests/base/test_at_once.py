"""Calls made at once: as many as wanted, and none left after an interruption."""

from __future__ import annotations

from threading import Barrier, Event
from typing import NoReturn

import pytest

from ncuview.base.at_once import IN_TURN, Together


def end_nothing() -> NoReturn:
    raise AssertionError("nothing is interrupted")


def test_so_many_calls_are_made_at_once() -> None:
    meeting, places = Barrier(3, timeout=20), list[int]()
    Together(3, end_nothing)([lambda: places.append(meeting.wait())] * 6)
    assert sorted(places) == [0, 0, 1, 1, 2, 2]
    Together(3, end_nothing)([])


def test_calls_are_made_in_turn() -> None:
    made: list[int] = []
    IN_TURN([lambda: made.append(1), lambda: made.append(2)])
    assert made == [1, 2]


def test_after_an_interruption_no_call_is_running_and_none_begins() -> None:
    begun, ended, made = Event(), Event(), list[str]()

    def interrupt() -> None:
        begun.wait(20)
        raise KeyboardInterrupt

    def wait_for_the_end() -> None:
        begun.set()
        ended.wait(20)
        made.append("ended")

    with pytest.raises(KeyboardInterrupt):
        Together(2, ended.set)([interrupt, wait_for_the_end, lambda: made.append("begun"), lambda: None])
    assert made in (["ended"], ["begun", "ended"])
    assert ended.is_set()


def test_an_interruption_does_not_wait_for_calls_that_never_began() -> None:
    ended, looks = Event(), list[int]()

    def interrupt() -> None:
        raise KeyboardInterrupt

    def end() -> None:
        ended.set()
        looks.append(1)
        assert len(looks) < 50, "it waits for a call that was cancelled"

    def wait_for_the_end() -> None:
        ended.wait(20)

    def never() -> None:
        raise AssertionError("it began")

    with pytest.raises(KeyboardInterrupt):
        Together(1, end)([interrupt, wait_for_the_end, never])
