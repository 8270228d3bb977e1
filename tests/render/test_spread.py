"""The table of how far runs differ."""

from __future__ import annotations

from ncuview.gate.spread import KernelSpread, Spreads
from ncuview.render.calibration import spread_page


def test_times_and_the_worst_counters_are_shown() -> None:
    counters = {f"counter_{number}": number / 100 for number in range(6)}
    known = {
        "copy(float *)": KernelSpread(repeats=6, time=0.0123),
        "race\x1b[2J(int)": KernelSpread(repeats=5, time=0.0, metrics=counters),
    }
    page = spread_page(Spreads({"NVIDIA H200": known}), 200)
    assert page.splitlines()[0] == "NVIDIA H200"
    assert "1.23%" in page
    assert "none" in page
    assert "counter_5 5.00%, counter_4 4.00%, counter_3 3.00%, counter_2 2.00% and 2 more" in page
    assert "\x1b" not in page
