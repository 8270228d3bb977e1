"""Programs that are run for checks: once each, in time, and never left running."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ncuview.doctor import commands
from ncuview.doctor.commands import Answer, Commands
from ncuview.doctor.verdict import NotKnown

PYTHON = sys.executable


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def waited_for(path: Path) -> str:
    while not path.exists() or not path.read_text():
        time.sleep(0.01)
    return path.read_text()


def test_what_a_program_says() -> None:
    answer = Commands({"A": "b"})(PYTHON, "-c", "import os, sys; print(os.environ['A']); sys.exit('no')")
    assert answer == Answer(1, "b\n", "no\n")
    assert answer.last_words == "no"
    assert Answer(0, "", " \n").last_words == ""


def test_ncu_is_kept_out_of_the_home_folder() -> None:
    program = "import os; print(os.environ['NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT'])"
    assert Commands({})(PYTHON, "-c", program).stdout == "1\n"


def test_a_program_that_does_not_start() -> None:
    run = Commands({})
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            run("/none/ncu")


def test_a_program_runs_once(tmp_path: Path) -> None:
    run = Commands({})
    argv = (PYTHON, "-c", f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); print(1)")
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda: answers.append(run(*argv))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.stdout for answer in answers] == ["1\n"] * 5
    assert (tmp_path / "runs").read_text() == "x"


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)"
    )
    with pytest.raises(NotKnown, match=r"did not end within 1\.5 s"):
        Commands({}, limit_s=1.5)(PYTHON, "-c", program)
    for pid in map(int, waited_for(pids).split()):
        while alive(pid):
            time.sleep(0.01)


def test_stopping_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    run, pid = Commands({}), tmp_path / "pid"
    program = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(run(PYTHON, "-c", program)))
    thread.start()
    waited_for(pid)
    run.stop()
    thread.join()
    assert answers[0].status == -9
    with pytest.raises(NotKnown, match="no time left"):
        run(PYTHON, "-c", "pass")
    run.stop()


def test_a_program_that_has_ended_needs_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(pid: int, number: int) -> None:
        raise ProcessLookupError

    run = Commands({}, limit_s=0.1)
    monkeypatch.setattr(os, "killpg", gone)
    monkeypatch.setattr(commands, "_WAIT_FOR_KILLED_S", 60.0)
    with pytest.raises(NotKnown):
        run(PYTHON, "-c", "import time; time.sleep(0.5)")


def test_a_program_that_cannot_be_killed_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(commands, "_kill", left.append)
    monkeypatch.setattr(commands, "_WAIT_FOR_KILLED_S", 0.1)
    with pytest.raises(NotKnown):
        Commands({}, limit_s=0.1)(PYTHON, "-c", "import time; time.sleep(600)")
    left[0].kill()
    assert left[0].wait() == -9
