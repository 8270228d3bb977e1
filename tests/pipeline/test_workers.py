"""Processes call functions; one that dies fails its own call, and none outlives its caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ncuview.pipeline.workers import WorkerDied, Workers


def doubled(number: int) -> int:
    sys.stdout.write("not an answer")
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise ValueError("seven")
    return 2 * number


def own_number(_: int) -> int:
    return os.getpid()


def test_each_argument_gets_its_result() -> None:
    with Workers(2) as workers:
        assert dict(workers.results(doubled, range(5))) == {each: 2 * each for each in range(5)}
        assert dict(workers.results(doubled, [20])) == {20: 40}


def test_calls_are_made_by_as_many_processes_as_allowed() -> None:
    with Workers(1) as workers:
        numbers = {result for _, result in workers.results(own_number, range(4))}
    assert len(numbers) == 1
    assert os.getpid() not in numbers


def test_a_process_that_dies_fails_its_own_call_only() -> None:
    with Workers(1) as workers:
        found = dict(workers.results(doubled, [1, 13, 2]))
    assert {1: found[1], 2: found[2]} == {1: 2, 2: 4}
    assert isinstance(found[13], WorkerDied)
    assert "signal 9" in str(found[13])


def test_an_error_is_raised_and_all_processes_end() -> None:
    workers = Workers(2)
    with pytest.raises(ValueError, match="seven"):
        list(workers.results(doubled, [1, 7, 2]))
    assert not workers._all


def test_a_process_ends_with_its_caller() -> None:
    program = (
        "import sys, time\nfrom ncuview.pipeline.workers import Workers\nfrom os import getpid\n"
        "from tests.pipeline.test_workers import own_number\n"
        "w = Workers(1)\nprint(*(r for _, r in w.results(own_number, [0])), flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout
        number = int(caller.stdout.readline())
        caller.kill()
    assert ends_soon(number)


def ends_soon(number: int) -> bool:
    """Whether a process ends; one that nobody waits for stays as a zombie."""
    for _ in range(100):
        try:
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
