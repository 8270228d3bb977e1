"""All properties that hypothesis tests, on more examples each than in every run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "part", ["collect", "diagnose", "edit gate trend ruleset", "report", "render", "hostility test_masking.py"]
)
def test_properties_hold_for_more_examples(part: str) -> None:
    folders = [f"tests/{name}" for name in part.split()]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "--hypothesis-profile=more", *folders]
    done = subprocess.run(
        [*command, "-p", "no:xdist", "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
