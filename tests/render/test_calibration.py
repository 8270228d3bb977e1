"""The pages of ``ncuview calibrate``: every unit with where its figures are from, and how far runs differ."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from ncuview.gate.spread import KernelSpread, Spreads
from ncuview.records.profile import Attained, Calibration, Figure
from ncuview.render.calibration import calibration_page, spread_page
from tests.hostile import each_hostile_text
from tests.render.test_pages import ACTS_ON_A_TERMINAL


def calibration(device: str = "NVIDIA H200", kernel: str = "dramRead") -> Calibration:
    shares = {"dram": Attained(0.858, 0.921, 0.953, kernel), "tex": Attained(0.75, 0.9, 1.0, "", "no kernel does it")}
    return Calibration(device, "2026-11-21, ncu 2025.3.1", shares, {"launch_ns": Figure(1664.0, "emptyKernel")})


def test_each_figure_says_where_it_is_from() -> None:
    lines = [" ".join(line.split()) for line in calibration_page(calibration(), 100).splitlines()]
    assert lines == [
        "NVIDIA H200, measured 2026-11-21, ncu 2025.3.1",
        "",
        "unit low best high from",
        "dram 0.858 0.921 0.953 dramRead",
        "tex 0.750 0.900 1.000 not measured: no kernel does it",
        "",
        "figure value from",
        "launch_ns 1664 emptyKernel",
        "",
        "Values that were not measured are those that ncuview ships for this GPU, else its defaults.",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(cell_len, calibration_page(calibration(), width).splitlines())) <= width


@each_hostile_text
def test_names_from_reports_do_not_act_on_the_terminal(text: str) -> None:
    assert not ACTS_ON_A_TERMINAL.search(calibration_page(calibration(text, text), 100))


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
