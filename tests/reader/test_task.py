"""The protocol between parent and child: tasks and progress lines arrive."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.reader.snapshot import Snapshot
from ncuview.reader.task import (
    MOST_REPORTS,
    Task,
    at_launch,
    hand_over,
    handed_over,
    has_begun,
    last_launch,
    last_words,
    reading,
)

launches = st.lists(st.tuples(st.text(), st.integers(-1, 2**40), st.none() | st.integers(0, 2**31)))


@given(st.text(), launches, st.booleans())
def test_a_task_is_read_as_it_was_written(kernel: str, headers: list[tuple[str, int, int | None]], code: bool) -> None:
    task = Task(kernel, [(3, headers), (0, [])], with_code=code, memory=2**34, cpu_s=12)
    again = Task.from_json(task.to_json())
    reports = [(start, [tuple(each) for each in launches]) for start, launches in again.reports]
    assert vars(again) | {"reports": reports} == vars(task)


@pytest.mark.parametrize("count", [1, MOST_REPORTS])
def test_a_task_comes_with_the_reports_that_it_is_about(count: int) -> None:
    task = Task("", [[0, [["x", 1, 2]]]] * count, with_code=True, memory=1, cpu_s=2)  # type: ignore[list-item]
    text, reports = Snapshot.of([task.to_json()]), [Snapshot.of([b"report %d" % place]) for place in range(count)]
    ours, its = socket.socketpair()
    with ours, its:
        hand_over(ours, text.descriptor, [report.descriptor for report in reports])
        given = handed_over(its)
    assert given
    assert Task.from_json(given[0]) == task
    assert [Path(path).read_bytes() for path in given[1]] == [b"report %d" % place for place in range(count)]
    for path in given[1]:
        os.close(int(Path(path).name))
    for snapshot in (text, *reports):
        snapshot.close()


def test_a_closed_socket_means_that_there_is_no_task() -> None:
    ours, its = socket.socketpair()
    ours.close()
    with its:
        assert handed_over(its) is None


def test_before_the_first_line_the_child_has_not_begun() -> None:
    assert not has_begun(b"ImportError: no\n")
    assert last_launch(reading().encode()) is None
    assert has_begun(f"warning\n{reading()}".encode())


def test_the_last_launch_counts() -> None:
    said = reading() + at_launch(3) + "some library's words\n" + at_launch(14)
    assert last_launch(said.encode()) == 14
    assert last_words(said.encode()) == "some library's words"


def test_a_line_that_is_not_complete_does_not_count() -> None:
    assert last_launch(b"ncuview: launch 3\nncuview: launch 41x") == 3
    assert last_words(reading().encode()) == ""
    assert last_words(b"\n  \xff \n\n") == "\\xff"


@given(st.binary(max_size=300))
def test_whatever_a_child_says_can_be_read(said: bytes) -> None:
    assert isinstance(last_words(said), str)
    assert last_launch(said) is None or b"ncuview: launch" in said
