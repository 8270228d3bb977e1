"""More reports that are damaged, writers that are killed and runs that are interrupted, and the smallest shards."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.fuzz_reports import CHANGES, REFUSED_ALWAYS
from fuzz.kill_writers import writers
from tests.nightly.test_files import FAULTS, check_faults
from tests.profiles import profile_of
from tests.reader.test_reader import TRANSPOSE, check_shards

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "fuzz" / "fuzz_reports.py"
KILLS = 35
"""Of all who write files together; fuzz/kill_writers.py does 500."""


def test_each_of_many_damaged_reports_is_refused_named_or_read_as_it_is() -> None:
    files = 2 * len(CHANGES)
    command = [sys.executable, str(SCRIPT), "--count", str(files), "--seed", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr + done.stdout
    rows = {
        row.split(" | ")[0].removeprefix("| "): re.findall(r"\d+", row)[-6:] for row in done.stdout.splitlines()[2:]
    }
    assert rows.keys() >= CHANGES.keys()
    assert rows["all"][0] == str(files)
    assert rows["all"][-1] == "0"
    for kind in REFUSED_ALWAYS:
        made, refused, partial, *others = map(int, rows[kind])
        assert refused + partial == made > 0 == sum(others)


def test_killed_writers_leave_the_old_file_or_the_new_one_and_nothing_for_the_next() -> None:
    # In a process of its own, which holds little: a child that shares much memory takes long to write to its part.
    command = [sys.executable, "-m", "fuzz.kill_writers", str(KILLS), "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, old, new, mixed, _, left = done.stdout.splitlines()[-1].split()[1:]
    assert (int(kills), int(mixed), int(left)) == (KILLS, 0, 0)
    assert int(old) + int(new) == KILLS


@pytest.mark.parametrize("make", FAULTS[:-1], ids=["ENOSPC", "EIO", "EACCES"])
def test_whatever_fails_is_reported_and_leaves_the_old_file_or_the_new_one(
    make: Callable[[], BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_faults(writers(), make, tmp_path, monkeypatch)


def test_a_shard_for_each_launch_makes_the_same_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    check_shards(1, profile_of(TRANSPOSE), monkeypatch)
