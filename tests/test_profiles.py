"""The tests' own store of profiles: it holds what would be read, and old data is never used for new code."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from ncuview.catalogue.kernels import recorded_report
from ncuview.reader.reader import read
from tests.profiles import PACKAGE, READER_FILES, once, profile_of, recorded_diagnosis, version_of

ROOT = Path(__file__).resolve().parents[1]


def test_a_stored_profile_is_the_profile_that_is_read() -> None:
    report = recorded_report("divergence")
    stored, now = profile_of(report), read([report])
    pd.testing.assert_frame_equal(stored.launches, now.launches)
    pd.testing.assert_frame_equal(stored.metrics, now.metrics)
    pd.testing.assert_frame_equal(stored.instructions, now.instructions)
    assert (stored.reports, stored.units, stored.sources) == (now.reports, now.units, now.sources)


def test_a_stored_diagnosis_has_every_launch() -> None:
    assert len(recorded_diagnosis("divergence").launches) == len(profile_of(recorded_report("divergence")).launches)


def test_it_is_made_once_for_each_name_and_version(tmp_path: Path) -> None:
    made: list[str] = []

    def make(what: str) -> str:
        made.append(what)
        return what

    assert once(tmp_path / "old", "a", lambda: make("old a")) == "old a"
    assert once(tmp_path / "old", "a", lambda: make("again")) == "old a"
    assert once(tmp_path / "old", "b", lambda: make("old b")) == "old b"
    assert once(tmp_path / "new", "a", lambda: make("new a")) == "new a"
    assert made == ["old a", "old b", "new a"]
    assert [folder.name for folder in tmp_path.iterdir()] == ["new"]


def test_what_fails_is_not_stored(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        once(tmp_path / "v", "a", lambda: 1 // 0)
    assert once(tmp_path / "v", "a", lambda: 1) == 1


PROCESS = """
import sys, time
from pathlib import Path
from tests.profiles import once
def make():
    with open(sys.argv[2], "a") as file:
        file.write("made ")
    time.sleep(0.5)
    return 7
assert once(Path(sys.argv[1]), "a", make) == 7
"""


def test_of_processes_that_need_it_at_once_one_makes_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(tmp_path / "v"), str(tmp_path / "log")]
    running = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert (tmp_path / "log").read_text() == "made "


def test_a_process_that_is_killed_leaves_no_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESS.replace("0.5", "600"), str(tmp_path / "v"), str(tmp_path / "log")]
    process = subprocess.Popen(command, cwd=ROOT)
    while not (tmp_path / "log").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert once(tmp_path / "v", "a", lambda: 8) == 8


def test_the_version_changes_with_any_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    before = version_of([file])
    assert version_of([file]) == before
    file.write_text("2")
    assert version_of([file]) != before


def test_the_reader_and_all_that_it_imports_of_ours_are_in_its_version() -> None:
    """Else a changed reader would be tested on what the old one read."""
    program = "import ncuview.reader.reader, ncuview.reader.frames, sys\n"
    program += "print(*(each.__file__ for name, each in sys.modules.items() if name.startswith('ncuview.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {Path(file) for file in done.stdout.split()}
    assert {file for file in loaded - set(READER_FILES) if file.name != "__init__.py"} == set()
    assert PACKAGE / "reader" / "native.py" in READER_FILES
