"""Scenarios for the played ncu, with reports whose framing is real."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.profiling.test_machine import Machine
from tests.reader.builder import report as made_report

if TYPE_CHECKING:
    import pytest

FAKE_NCU = Path(__file__).with_name("fake_ncu.py")
AS_NCU = f"exec '{sys.executable}' -I -S '{FAKE_NCU}' \"$@\""
"""A line of shell that plays ncu."""

CLOCKS = (
    "==WARNING== Note: Running with unmodified GPU clocks. "
    "If not controlled otherwise, profiling results may be inconsistent.\n"
)
CONNECTED = "==PROF== Connected to process 5395 (/usr/bin/python3.12)\n"
BEGUN = '==PROF== Profiling "copy" - 0: 0%'
DONE = "....50%....100% - 8 passes\n"
BROKEN_OFF = (
    "==PROF== Trying to shutdown target application\n"
    '==ERROR== Failed to profile "copy" in process 5395\n'
    "==ERROR== An error occurred while trying to profile.\n"
)
NOTHING = "==WARNING== No kernels were profiled.\n"
BACKING_UP = "==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n"

METRICS = ["sm__cycles_active.avg"]
PROGRAM = [sys.executable, "--its-own", "-k", "flags"]
SECOND = '==PROF== Profiling "void scale<float>(float *)" - 1: 0%....50%....100% - 1 pass\n'

Profile = Callable[..., tuple[Path, ...]]

"""The fixture ``profile``."""


def returned(code: int) -> str:
    """What ncu says when the program ends otherwise than with 0."""
    return f"==ERROR== The application returned an error code ({code}).\n"


def arrange(file: Path, *, launches: int | None = None, data: bytes | None = None, **scenario: Any) -> dict[str, str]:
    """Write a scenario of ``fake_ncu.py``; the variables that have it played.

    Args:
        file: Where.
        launches: How many a report holds; as many as were finished if None.
        data: The report itself.
        scenario: See ``fake_ncu.py``.
    """
    content = file.with_suffix(".report")
    if data is None:
        finished = sum(text.count("100% - ") for _, text in scenario.get("say") or [])
        data = made_report(max(1, finished) if launches is None else launches)
    content.write_bytes(data)
    file.write_text(json.dumps({"content": str(content), **scenario}))
    return {"FAKE_NCU": str(file)}


def play(here: Machine, monkeypatch: pytest.MonkeyPatch, **scenario: Any) -> None:
    variables = arrange(here.root / "scenario.json", words=str(here.root / "words"), **scenario)
    monkeypatch.setenv("FAKE_NCU", variables["FAKE_NCU"])


def words_of(here: Machine) -> list[list[str]]:
    return [json.loads(line) for line in (here.root / "words").read_text().splitlines()]
