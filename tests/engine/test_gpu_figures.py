"""Rules read the figures of the launch's own GPU, and report an unknown one."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest

from ncuview.base.errors import UnsafeExpression
from ncuview.base.expression import compile_expression
from ncuview.base.paths import shipped
from ncuview.engine.evaluate import judge
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import shipped_rules
from ncuview.gpus import FIGURE_NAMES
from ncuview.metrics.analysis import Analysis
from ncuview.pipeline.profiled import read_with_sources
from ncuview.reader.host_times import with_host_times_of
from ncuview.records.diagnosis import Finding, LaunchDiagnosis, Skipped
from ncuview.records.profile import Profile
from ncuview.speedup import attainable
from ncuview.speedup.attainable import figure_columns, of_gpu
from tests.builders import H200

OTHER = "NVIDIA Unheard-of"


def on(device: str, family: str, kernel: str, *, attributes: bool = True) -> LaunchDiagnosis:
    """The recorded launch of a kernel, as if this GPU had run it; without attributes, as of a report without them."""
    return diagnose(profile_on(device, family, kernel, attributes=attributes), shipped_rules()).launches[0]


def profile_on(device: str, family: str, kernel: str, *, attributes: bool = True) -> Profile:
    report = shipped("kernels") / family / "h200.ncu-repz"
    profile = with_host_times_of(read_with_sources([report], kernel), report)
    metrics = profile.metrics
    if not attributes:
        metrics = metrics.drop(columns=[name for name in metrics if str(name).startswith("device__attribute_")])
    return replace(profile, launches=profile.launches.assign(device=device), metrics=metrics)


def predicted(launch: LaunchDiagnosis, code: str) -> float:
    found = [each for each in launch.outcomes if isinstance(each, Finding) and each.rule.code == code]
    return found[0].predicted_speedup.best if found else 1.0


def test_pageable_copies_are_held_against_the_bus_of_the_launch_s_gpu() -> None:
    fast, slow = (on(device, "transfers", "pageableCopies") for device in (H200, OTHER))
    assert predicted(fast, "HOST001") > 3.0
    assert predicted(slow, "HOST001") < 1.6


def test_a_gpu_whose_figure_is_unknown_skips_the_rule_and_says_how_to_get_it() -> None:
    launch = on(OTHER, "transpose", "transposeCoalesced", attributes=False)
    outcomes = {outcome.rule.code: outcome for outcome in launch.outcomes}
    skipped = outcomes["OCC004"]
    assert isinstance(skipped, Skipped)
    assert skipped.message == (
        f"it cannot be judged: blocks_per_ns of {OTHER} is not known: run `ncuview calibrate` on it"
    )


def test_a_gpu_without_a_table_has_figures_by_its_clocks_and_sizes() -> None:
    made = profile_on(OTHER, "transpose", "transposeCoalesced")
    columns = figure_columns(Analysis(made))
    # the clocks of the recorded GPU, whose own table has 1.66 and 16
    assert columns["gpu.blocks_per_ns"].tolist() == pytest.approx([1.66], rel=0.01)
    assert columns["gpu.bytes_in_flight"].tolist() == pytest.approx([16.0], rel=0.03)
    half = made.metrics.assign(device__attribute_clock_rate=0.99e6, device__attribute_memory_clock_rate=0.8e6)
    columns = figure_columns(Analysis(replace(made, metrics=half)))
    assert columns["gpu.blocks_per_ns"].tolist() == pytest.approx([0.83], rel=0.01)
    assert columns["gpu.bytes_in_flight"].tolist() == pytest.approx([4.0], rel=0.03)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, 1e308])
def test_an_impossible_attribute_derives_nothing(wrong: float) -> None:
    made = profile_on(OTHER, "transpose", "transposeCoalesced")
    names = ("clock_rate", "multiprocessor_count", "max_threads_per_multiprocessor")
    broken = made.metrics.assign(**{f"device__attribute_{name}": wrong for name in names})
    columns = figure_columns(Analysis(replace(made, metrics=broken)))
    assert np.isnan(columns["gpu.blocks_per_ns"]).all()
    assert columns["gpu.bytes_in_flight"].tolist() == [8.0]


def test_a_table_of_the_gpu_comes_before_what_its_clocks_give() -> None:
    found = [
        figure_columns(Analysis(profile_on(device, "transpose", "transposeCoalesced")))["gpu.bytes_in_flight"][0]
        for device in (H200, "NVIDIA H100 80GB HBM3")
    ]
    assert found == [16.0, 11.0]


def test_expressions_may_name_figures_and_no_other_attribute() -> None:
    expression = compile_expression("x * gpu.blocks_per_ns", {"x", *FIGURE_NAMES})
    assert expression.evaluate({"x": np.array([2.0]), "gpu.blocks_per_ns": np.array([1.5])}).tolist() == [3.0]
    with pytest.raises(UnsafeExpression):
        compile_expression("x.blocks_per_ns", {"x", *FIGURE_NAMES})
    with pytest.raises(UnsafeExpression):
        compile_expression("gpu.unheard_of", {"x", *FIGURE_NAMES})


def test_the_figures_are_looked_up_once_for_an_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []

    def counted(device: str) -> attainable.Gpu:
        looked_up.append(device)
        return of_gpu(device)

    monkeypatch.setattr(attainable, "of_gpu", counted)
    analysis = Analysis(profile_on(H200, "transpose", "transposeCoalesced"))
    for rule in shipped_rules():
        judge(rule, analysis)
    assert looked_up == [H200]


def test_figures_are_forgotten_with_their_analysis() -> None:
    analysis = Analysis(profile_on(H200, "transpose", "transposeCoalesced"))
    gc.collect()
    before = len(attainable._COLUMNS)
    figure_columns(analysis)
    assert len(attainable._COLUMNS) == before + 1
    del analysis
    gc.collect()
    assert len(attainable._COLUMNS) == before
