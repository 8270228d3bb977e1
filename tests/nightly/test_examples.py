"""Every example runs and prints something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ncuview.base.paths import shipped

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_on_the_recorded_profile(example: Path) -> None:
    report = shipped("kernels") / "transpose" / "h200.ncu-repz"
    done = subprocess.run(
        [sys.executable, str(example), str(report)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 5


def test_there_are_examples() -> None:
    assert EXAMPLES
