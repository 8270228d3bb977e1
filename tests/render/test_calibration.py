"""The page of a calibration: every unit with where its figures are from, at any width."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from ncuview.records.profile import Attained, Calibration, Figure
from ncuview.render.calibration import calibration_page
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
