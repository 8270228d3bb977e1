"""Processes that parse launches give what this process would give, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ncuview.base.paths import shipped
from ncuview.reader import outliners as module
from ncuview.reader import wire
from ncuview.reader.child import Child
from ncuview.reader.framing import framing
from ncuview.reader.launch_outline import launch_outline
from ncuview.reader.outliners import Outliners
from ncuview.reader.precheck import read_report
from ncuview.reader.snapshot import Snapshot
from tests.reader import builder

TRANSPOSE = shipped("kernels") / "transpose" / "h200.ncu-repz"
LAUNCH = builder.kernel(dict.fromkeys(builder.METRICS, 1.0))
DENSE = b"\x08\x01" * 4_000


@pytest.fixture
def report() -> Iterator[Snapshot]:
    with closing(Snapshot.of([read_report(TRANSPOSE)])) as taken:
        yield taken


def outlines(report: Snapshot, count: int = 2) -> dict[int, object]:
    with closing(Outliners(count)) as helpers:
        return dict(helpers.outlines_of(report))


def test_each_launch_is_outlined_as_here(report: Snapshot) -> None:
    items = [
        (item, place < block.sources + block.kernels)
        for block in wire.blocks(report.data)
        for place, item in enumerate(wire.items(report.data, block))
        if place >= block.sources
    ]
    here = {item.start: launch_outline(report.data, item, is_kernel=is_kernel) for item, is_kernel in items}
    assert len(here) > 20
    for count in (1, 3, len(here) + 5):
        assert outlines(report, count) == here


def test_the_framing_is_the_same_with_and_without_them(report: Snapshot) -> None:
    with closing(Outliners(2)) as helpers:
        known = helpers.outlines_of(report)
    assert framing(report.data, known) == framing(report.data)
    assert framing(report.data, known).header.launches == framing(report.data).header.launches


@pytest.mark.parametrize("broken", [b"\xff" * 40, DENSE], ids=["no message", "more fields than a launch has"])
def test_what_is_no_launch_is_left_out_and_found_again_here(broken: bytes) -> None:
    data = wire.encode_report([builder.block(kernels=[LAUNCH, LAUNCH]), builder.block(kernels=[LAUNCH, broken])])
    with closing(Snapshot.of([data])) as report, closing(Outliners(2)) as helpers:
        known = helpers.outlines_of(report)
        assert len(known) == 3
        assert framing(report.data, known) == framing(report.data)
        assert framing(report.data, known).damage


def test_a_report_that_breaks_is_outlined_up_to_there() -> None:
    data = wire.encode_report([builder.block(kernels=[LAUNCH, LAUNCH]), builder.block(kernels=[LAUNCH])])
    with closing(Snapshot.of([data[:-3]])) as report:
        assert len(outlines(report)) == 2


def test_a_report_without_launches_asks_for_nothing() -> None:
    with closing(Snapshot.of([wire.encode_report([builder.block(sources=[builder.source()])])])) as report:
        assert outlines(report) == {}


@pytest.mark.parametrize(
    "program",
    ["raise SystemExit(3)", "print('[[1, 2]]')", "print('no JSON')", "import time; time.sleep(60)", "print('[')"],
)
def test_where_one_fails_nothing_is_known(
    report: Snapshot, program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "child"
    script.write_text(f"#!{sys.executable}\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(module, "_LEAST_S", 1)
    assert outlines(report, 1) == {}


def test_where_none_can_start_nothing_is_known(report: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/missing")
    assert outlines(report) == {}


def test_whatever_interrupts_them_they_end(report: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(Child, "answer", interrupted)
    with closing(Outliners(3)) as helpers:
        processes = [child.process for child in helpers._children]
        with pytest.raises(KeyboardInterrupt):
            helpers.outlines_of(report)
    assert all(process.poll() is not None for process in processes)


def test_each_serves_one_report_and_ends(report: Snapshot) -> None:
    with closing(Outliners(3)) as helpers:
        processes = [child.process for child in helpers._children]
        assert helpers.outlines_of(report)
        assert helpers.outlines_of(report) == {}
    assert all(process.poll() is not None for process in processes)
