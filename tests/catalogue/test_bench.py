"""Jobs of variants run in a process whose lines stay, however it ends."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from ncuview.base.at_once import Together
from ncuview.base.errors import LauncherNotFound
from ncuview.catalogue import bench as module
from ncuview.catalogue.bench import Bench, Done

PYTHON = sys.executable
JOB = {"mode": "compare", "cases": [1, 2]}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tmp_path, 20.0)


def process(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """A process that does what a test says with ``job`` and ``result``, in place of the one with PyCUDA."""
    interpreter = folder / "python"
    head = f"#!{PYTHON}\nimport json, os, sys, time\nassert sys.argv[1:4] == WORDS, sys.argv\n"
    words = ["-P", "-m", "ncuview.catalogue.launcher.variants"]
    body = head.replace("WORDS", repr(words)) + f"job, result = json.load(open(sys.argv[4])), sys.argv[5]\n{code}"
    interpreter.write_text(body, encoding="utf-8")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))


def test_a_job_is_given_and_its_lines_come_back(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(monkeypatch, tmp_path, "open(result, 'w').write(json.dumps(job) + '\\n' + '{\"ended\": true}\\n')")
    done = bench.run(JOB)
    assert (done.lines, done.failure) == ((JOB, {"ended": True}), "")
    assert bench.run(JOB).lines == done.lines, "each job has files of its own"


def test_a_process_that_fails_leaves_its_complete_lines(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(monkeypatch, tmp_path, "open(result, 'w').write('{\"run\": 1}\\n{\"ru')\nsys.exit('no GPU')")
    done = bench.run(JOB)
    assert (done.lines, done.failure) == (({"run": 1},), "it failed: no GPU")
    process(monkeypatch, tmp_path, "os.kill(os.getpid(), 9)")
    assert bench.run(JOB).failure == "it failed: exit code -9"
    assert bench.run(JOB).lines == ()


def test_a_process_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(monkeypatch, tmp_path, "open(result, 'w').write('{\"begins\": true}\\n')\ntime.sleep(60)")
    done = Bench(tmp_path, tmp_path, 1.5).run(JOB)
    assert done.failure == "it did not end within 1.5 s"
    assert done.lines == ({"begins": True},)


def test_the_tool_stands_before_the_process(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(monkeypatch, tmp_path, "open(result, 'w').write('{\"ended\": true}\\n')")
    tool = tmp_path / "compute-sanitizer"
    tool.write_text('#!/bin/sh\necho "========= COMPUTE-SANITIZER $1 $2 $3"; shift 3; exec "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    done = bench.sanitize("racecheck", ["--xyz"], JOB)
    assert done.output == "========= COMPUTE-SANITIZER --tool racecheck --xyz\n"
    assert done.lines == ({"ended": True},)


def test_no_process_is_left_under_a_tool_that_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(monkeypatch, tmp_path, "open(result, 'w').write(f'{os.getpid()}\\n')\ntime.sleep(60)")
    tool = tmp_path / "compute-sanitizer"
    tool.write_text('#!/bin/sh\nshift 2; "$@"; echo\n', encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    done = Bench(tmp_path, tmp_path, 3).sanitize("memcheck", [], JOB)
    assert done.failure == "it did not end within 3 s"
    (child,) = done.lines
    assert ended(int(str(child)))


def ended(pid: int) -> bool:
    """Whether a process ends within a second."""
    for _ in range(20):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_without_the_tool_it_is_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_sanitizer", lambda: None)
    with pytest.raises(LauncherNotFound, match="no compute-sanitizer"):
        bench.sanitize("memcheck", [], JOB)


def test_the_job_file_is_complete(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(monkeypatch, tmp_path, "open(result, 'w').write('{\"ended\": true}\\n')")
    bench.run(JOB)
    assert json.loads((tmp_path / "job0" / "job.json").read_text(encoding="utf-8")) == JOB


def test_jobs_may_be_done_at_once(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each waits until the other has begun.
    wait = "while len([each for each in os.listdir(FOLDER) if each.startswith('begun')]) < 2: time.sleep(0.01)\n"
    begin = "open(FOLDER + f'/begun{os.getpid()}', 'w')\n"
    end = "open(result, 'w').write('{\"ended\": true}\\n')"
    process(monkeypatch, tmp_path, f"FOLDER = {str(tmp_path)!r}\n{begin}{wait}{end}")
    done: list[Done] = []
    Together(2, bench.end)([lambda: done.append(bench.run(JOB))] * 2)
    assert [each.lines for each in done] == [({"ended": True},)] * 2


def test_an_interruption_ends_the_jobs_that_run(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "open(result, 'w').write(f'{os.getpid()}\\n')\nopen(FOLDER + '/begun', 'w')\ntime.sleep(60)"
    process(monkeypatch, tmp_path, f"FOLDER = {str(tmp_path)!r}\n{code}")
    done: list[Done] = []

    def interrupt() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Together(2, bench.end)([interrupt, *([lambda: done.append(bench.run(JOB))] * 2)])
    children = [int(str(child)) for each in done for child in each.lines]
    assert children
    assert all(map(ended, children))
