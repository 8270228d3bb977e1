"""Runs that add to a store are killed: nothing is lost or doubled."""

from __future__ import annotations

import pytest

from fuzz.kill_store import Commanded, Forked, counted

pytestmark = pytest.mark.checkout


def test_killed_runs_lose_and_double_nothing() -> None:
    counts = counted(Forked, 8, 3)
    assert (counts["kills"], counts["wrong"]) == (8, 0), counts


def test_killed_commands_lose_and_double_nothing() -> None:
    counts = counted(Commanded, 2, 3)
    assert (counts["kills"], counts["wrong"]) == (2, 0), counts
