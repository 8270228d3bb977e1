"""What needs all launches of a profile refuses one with missing launches, and names what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ncuview import api
from ncuview.base.errors import Incomplete
from ncuview.base.paths import shipped
from ncuview.catalogue import kernels
from ncuview.pipeline import calibration, examine, gates
from ncuview.reader.precheck import read_report


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """The recorded transposes without the last byte, that is without the last launch."""
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(read_report(shipped("kernels") / "transpose" / "h200.ncu-repz")[:-1])
    return path


def kept(report: Path) -> None:
    gates.save_as_baseline(examine.examine(report), report.with_name("main.json"))


@pytest.mark.parametrize(
    "asks",
    [calibration.calibrate, lambda report: calibration.measure_spreads(reports=[report]), kept],
    ids=["shares", "spread", "baseline"],
)
def test_launches_are_missing(cut: Path, asks: Callable[[Path], object]) -> None:
    with pytest.raises(Incomplete, match=r"launches 0 to \d+ were read; block \d+ is damaged") as refused:
        asks(cut)
    assert (refused.value.id, refused.value.exit_code) == ("NCU-CORRUPT", 3)
    assert list(cut.parent.iterdir()) == [cut]


@pytest.mark.parametrize(
    "asks", [lambda: api.ladder("transpose", live=False), lambda: api.analyze("transposeNaive", live=False)]
)
def test_a_recorded_profile_is_damaged(cut: Path, monkeypatch: pytest.MonkeyPatch, asks: Callable[[], object]) -> None:
    monkeypatch.setattr(kernels, "recorded_report", lambda _: cut)
    with pytest.raises(Incomplete, match="is damaged"):
        asks()
