"""More reports that are damaged, writers that are killed and runs that are interrupted, and the smallest shards."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fuzz_reports import CHANGES, REFUSED_ALWAYS
from tests.collect.test_interrupt import check_interrupted
from tests.profiles import profile_of
from tests.report.test_reader import TRANSPOSE, check_shards
from tests.test_files import check_killed

if TYPE_CHECKING:
    import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_reports.py"


def test_each_of_many_damaged_reports_is_refused_named_or_read_as_it_is() -> None:
    files = 2 * len(CHANGES)
    command = [sys.executable, str(SCRIPT), "--count", str(files), "--seed", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=SCRIPT.parents[1])
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
    check_killed(35)


def test_nothing_is_left_of_interrupted_runs() -> None:
    check_interrupted(12)


def test_a_shard_for_each_launch_makes_the_same_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    check_shards(1, profile_of(TRANSPOSE), monkeypatch)
