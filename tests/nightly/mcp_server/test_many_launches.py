"""10,000 launches through ``ncuview mcp``: an export of different kernels, and a report with machine code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.load import write_report
from tests.mcp_server.client import served
from tests.mcp_server.test_tools import METRICS, row
from tests.reader.exports import raw_page

LAUNCHES = 10_000


def export(folder: Path) -> str:
    text = raw_page([row(at, f"kernel_{at}") for at in range(LAUNCHES)], METRICS)
    (folder / "many.csv").write_text(text)
    return "many.csv"


def report(folder: Path) -> str:
    write_report(folder / "many.ncu-rep", LAUNCHES)
    return "many.ncu-rep"


@pytest.mark.parametrize(("made", "groups"), [(export, LAUNCHES), (report, None)])
def test_ten_thousand_launches_are_answered_within_the_limit(
    tmp_path: Path, made: Callable[[Path], str], groups: int | None
) -> None:
    name = made(tmp_path)
    with served(tmp_path) as client:
        for most in (6_000, 32_768):
            first = client.ask("diagnose", reports=[name], max_bytes=most)
            listed = first.document["skeleton"]["groups"]
            assert first.size <= most
            assert first.document["not_judged"]["launches"] == LAUNCHES
            assert groups in {None, listed["total"]}
            if listed["cursor"] is None:  # all launches are one group
                continue
            following = client.ask("diagnose", reports=[name], cursor=listed["cursor"], max_bytes=most)
            assert following.size <= most
            more = following.document["skeleton"]["groups"]
            assert not {each["key"] for each in listed["items"]} & {each["key"] for each in more["items"]}
