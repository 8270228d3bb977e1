"""When a run has taken too long, or shown no progress for too long."""

from __future__ import annotations

import math

import pytest

from ncuview.profiling.ncu_output import ProgressReader, plain_lines
from ncuview.profiling.runner import Overdue, Watch
from tests.profiling.played import BEGUN, CONNECTED, DONE


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("timeout_s", "no_progress_s", "moved_at", "now", "overdue"),
    [
        (math.inf, math.inf, 0.0, 1e9, ""),
        (60.0, 10.0, 55.0, 59.5, ""),
        (60.0, 10.0, 55.0, 60.0, "time"),
        (60.0, 10.0, 40.0, 50.0, "silence"),
        (60.0, 10.0, 40.0, 49.5, ""),
    ],
)
def test_what_is_overdue(timeout_s: float, no_progress_s: float, moved_at: float, now: float, overdue: Overdue) -> None:
    clock = Clock()
    watch = Watch(timeout_s, no_progress_s, clock)
    clock.now += moved_at
    watch.progressed()
    clock.now = 100.0 + now
    assert watch.overdue == overdue
    assert watch.elapsed_s == now


def test_what_counts_as_progress() -> None:
    reader = ProgressReader(clock=lambda: 0.0)
    signs = []
    for said in (
        CONNECTED,
        "loading\n",
        BEGUN,
        "still waiting\n",
        "....50%",
        "still waiting\n",
        "....100% - 2 passes\n",
        "x\n",
    ):
        before = reader.signs
        reader.feed(said.encode())
        signs.append(reader.signs > before)
    assert signs == [True, True, True, False, True, False, True, True]


def test_what_is_heard_while_a_launch_is_profiled_is_no_sign() -> None:
    reader = ProgressReader(clock=lambda: 0.0)
    signs = []
    for said in (CONNECTED, BEGUN, DONE):
        reader.feed(said.encode())
        before = reader.signs
        reader.heard()
        signs.append(reader.signs > before)
    assert signs == [True, False, True]


def test_half_of_a_launch_is_seen_when_its_bytes_come_one_by_one() -> None:
    reader = ProgressReader(clock=lambda: 0.0)
    for byte in (BEGUN + DONE).encode():
        reader.feed(bytes([byte]))
    assert reader.passes == [8]
    assert reader.unfinished is None


def test_lines_without_what_is_for_terminals() -> None:
    log = "\x1b[1;31m==ERROR== x\x1b[0m\r\n\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\u2028c\x0cd"
    assert plain_lines(log) == ["==ERROR== x", "ab\u2028c\x0cd"]
