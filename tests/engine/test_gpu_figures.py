"""Rules read the figures of the launch's own GPU, and report an unknown one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ncuview.base.errors import UnsafeExpression
from ncuview.base.expression import compile_expression
from ncuview.base.paths import shipped
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import shipped_rules
from ncuview.gpus import FIGURE_NAMES
from ncuview.pipeline.profiled import read_with_sources
from ncuview.reader.host_times import with_host_times_of
from ncuview.records.diagnosis import Finding, LaunchDiagnosis, Skipped
from ncuview.speedup.attainable import figure_columns
from tests.builders import H200

OTHER = "NVIDIA Unheard-of"


def on(device: str, family: str, kernel: str) -> LaunchDiagnosis:
    """The recorded launch of a kernel, as if this GPU had run it."""
    report = shipped("kernels") / family / "h200.ncu-repz"
    profile = with_host_times_of(read_with_sources([report], kernel), report)
    there = replace(profile, launches=profile.launches.assign(device=device))
    return diagnose(there, shipped_rules()).launches[0]


def predicted(launch: LaunchDiagnosis, code: str) -> float:
    found = [each for each in launch.outcomes if isinstance(each, Finding) and each.rule.code == code]
    return found[0].predicted_speedup.best if found else 1.0


def test_pageable_copies_are_held_against_the_bus_of_the_launch_s_gpu() -> None:
    fast, slow = (on(device, "transfers", "pageableCopies") for device in (H200, OTHER))
    assert predicted(fast, "HOST001") > 3.0
    assert predicted(slow, "HOST001") < 1.6


def test_a_gpu_whose_figure_is_unknown_skips_the_rule_and_says_how_to_get_it() -> None:
    outcomes = {outcome.rule.code: outcome for outcome in on(OTHER, "transpose", "transposeCoalesced").outcomes}
    skipped = outcomes["OCC004"]
    assert isinstance(skipped, Skipped)
    assert skipped.message == (
        f"it cannot be judged: blocks_per_ns of {OTHER} is not known: run `ncuview calibrate` on it"
    )


def test_bytes_in_flight_are_those_that_the_gpu_needs() -> None:
    columns = figure_columns([H200, "NVIDIA H100 80GB HBM3", OTHER])
    assert columns["gpu.bytes_in_flight"].tolist() == [16.0, 11.0, 8.0]
    assert np.isnan(columns["gpu.blocks_per_ns"]).tolist() == [False, False, True]


def test_expressions_may_name_figures_and_no_other_attribute() -> None:
    expression = compile_expression("x * gpu.blocks_per_ns", {"x", *FIGURE_NAMES})
    assert expression.evaluate({"x": np.array([2.0]), "gpu.blocks_per_ns": np.array([1.5])}).tolist() == [3.0]
    with pytest.raises(UnsafeExpression):
        compile_expression("x.blocks_per_ns", {"x", *FIGURE_NAMES})
    with pytest.raises(UnsafeExpression):
        compile_expression("gpu.unheard_of", {"x", *FIGURE_NAMES})
