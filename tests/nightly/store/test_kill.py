"""Runs that add to a store are killed: nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.kill_store import Kind, counted

pytestmark = pytest.mark.checkout


@pytest.mark.parametrize(("kind", "kills"), [("fork", 8), ("command", 2), ("dask", 1), ("dask-worker", 1)])
def test_kills_lose_and_double_nothing(kind: Kind, kills: int) -> None:
    counts = counted(kind, kills, 3)
    assert (counts["kills"], counts["wrong"]) == (kills, 0), counts


def test_a_log_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "trials.jsonl"
    first = counted("fork", 1, 4, log)
    both = counted("fork", 2, 4, log)
    assert (first["kills"], both["kills"]) == (1, 2)
    assert len(log.read_text().splitlines()) == both["kills"] + both["ended"]
