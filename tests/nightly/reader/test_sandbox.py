"""A process that has given up its rights cannot get them back, nor write, nor take all memory and time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ncuview.reader import sandbox as module

ROOT = Path(__file__).parents[3]
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
STATE = """
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
kinds = [name for name in dir(resource) if name.startswith("RLIMIT_")]
print(json.dumps({
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in kinds},
    "users": os.getresuid(), "groups": [*os.getresgid(), *os.getgroups()],
    "rights": int(status["CapEff"], 16) | int(status["CapPrm"], 16), "no new": status["NoNewPrivs"].strip()}))
"""
Done = subprocess.CompletedProcess[str]


def confined(program: str, before: str = "", *, memory: int = 2**31, cpu_s: int = 5) -> Done:
    """Run a program in a process that was confined; modules that it needs must be there before."""
    imports = "import json, os, resource\nfrom ncuview.reader.sandbox import confine"
    command = [sys.executable, "-c", f"{imports}\n{before}\nconfine({memory}, {cpu_s})\n{program}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def state(before: str = "", **limits: int) -> Mapping[str, Any]:
    done = confined(STATE, before, **limits)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def test_limits_stand_and_cannot_be_raised() -> None:
    limits = state(memory=2**31, cpu_s=5)["limits"]
    assert limits["RLIMIT_CORE"] == limits["RLIMIT_FSIZE"] == [0, 0]
    assert limits["RLIMIT_AS"] == [2**31, 2**31]
    assert limits["RLIMIT_CPU"][0] in range(5, 9)
    assert limits["RLIMIT_CPU"][1] == limits["RLIMIT_CPU"][0] + 1
    assert limits["RLIMIT_NOFILE"] == [64, 64]


def test_a_limit_that_is_lower_already_stays() -> None:
    before = "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))"
    assert state(before, memory=2**31)["limits"]["RLIMIT_AS"] == [2**30, 2**30]


def test_no_rights_are_left_and_none_can_be_had() -> None:
    found = state()
    assert found["no new"] == "1"
    assert found["rights"] == 0


@AS_ROOT
def test_root_becomes_user_nobody() -> None:
    found = state()
    assert found["users"] == [65534] * 3
    assert found["groups"] == [65534] * 3


@AS_ROOT
def test_root_that_cannot_change_its_user_is_confined_by_the_other_limits() -> None:
    # Without CAP_SETUID and CAP_SETGID, as in a container that has none.
    before = "for name in ('setgroups', 'setresgid', 'setresuid'): setattr(os, name, forbid)"
    forbid = "def forbid(*_): raise PermissionError(1, 'Operation not permitted')\n"
    found = state(forbid + before)
    assert found["users"] == [0] * 3
    assert found["no new"] == "1"


@AS_ROOT
def test_another_failure_to_give_up_rights_is_no_reason_to_go_on() -> None:
    done = confined("print('went on')", "def fail(*_): raise OSError(11, 'try again')\nos.setresuid = fail")
    assert "try again" in done.stderr
    assert done.stdout == ""


def test_where_the_system_refuses_it_is_an_error() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        module._prctl(-1, 0)


def test_a_file_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    done = confined(f"open({str(tmp_path / 'x')!r}, 'w').write('text')")
    assert done.returncode != 0
    assert [path.stat().st_size for path in tmp_path.iterdir()] in ([], [0])


def test_more_memory_is_not_given() -> None:
    done = confined("bytes(2**31)", memory=2**29)
    assert "MemoryError" in done.stderr


def test_more_time_is_not_given() -> None:
    done = confined("while True: pass", cpu_s=1)
    assert -done.returncode == signal.SIGXCPU, "the signal says that it was the time, not the memory"


def test_more_time_is_not_given_to_a_process_that_ignores_the_first_signal() -> None:
    done = confined("while True: pass", "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)", cpu_s=1)
    assert -done.returncode == signal.SIGKILL


def test_a_limit_of_time_that_is_lower_already_stays() -> None:
    before = "resource.setrlimit(resource.RLIMIT_CPU, (3, 3))"
    assert state(before, cpu_s=20)["limits"]["RLIMIT_CPU"] == [3, 3]


CHILD = """
from ncuview.reader.sandbox import confine
confine(2**31, 20)
print('on', flush=True)
input()
"""
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}], stdout=open(sys.argv[1], 'w'))"


def test_it_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", PARENT, str(pipe)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT) as process, pipe.open() as said:
        assert said.readline() == "on\n"
        process.kill()
        assert said.read() == ""  # its end is closed only once the child, which waits for a line, is gone too
