"""All properties that hypothesis tests, on more examples each than in every run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


PARTS = [
    "profiling nightly/profiling catalogue nightly/catalogue",
    "engine nightly/engine speedup metrics sass",
    "patch nightly/patch",
    "gate nightly/gate comparison trends",
    "reader",
    "nightly/reader",
    "render nightly/render",
    "base nightly/test_files.py nightly/hostility",
]


@pytest.mark.parametrize("part", PARTS)
def test_properties_hold_for_more_examples(part: str) -> None:
    folders = [f"tests/{name}" for name in part.split()]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "--hypothesis-profile=more", *folders]
    done = subprocess.run(
        [*command, "-p", "no:xdist", "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
