"""The plots: what is drawn where, what labels say, and that names are drawn as they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest

import ncuview
from ncuview.base.errors import ToolError, UsageError
from ncuview.records.diagnosis import Diagnosis, Gain
from ncuview.records.ladder import Ladder
from ncuview.render.plots import plot_ladder, plot_units
from tests.hostile import HOSTILE
from tests.render.sample import advice_finding, diagnosis, ladder, launch_near_peak, launch_with_advice

matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib, the extra ncuview[plot]")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _no_figure_stays() -> Iterator[None]:
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


def drawn(axes: Any) -> None:
    """Lay out and draw everything, as saving does."""
    axes.figure.savefig(BytesIO(), format="png", dpi=30)


def words(axes: Any) -> str:
    """All text of the axes."""
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels(), *axes.texts]
    return "\n".join([axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *(each.get_text() for each in labels)])


def test_a_ladder_draws_prediction_and_measurement_at_their_values() -> None:
    axes: Any = plot_ladder(ladder())
    drawn(axes)
    (bars,) = axes.containers
    best, _, (ranges,) = bars
    assert best.get_xdata().tolist() == [2.18]
    (bar,) = ranges.get_segments()
    assert bar[:, 0].tolist() == pytest.approx([1.94, 2.29])
    (measured,) = [line for line in axes.lines if line.get_label() == "measured"]
    assert list(measured.get_xdata()) == [2.32]
    assert best.get_ydata()[0] < 0 < measured.get_ydata()[0], "beside each other, not one over the other"
    left, right = axes.get_xlim()
    assert left < 1.0
    assert right >= 2.32


def test_a_ladder_names_its_kernels_gpu_and_scale() -> None:
    axes: Any = plot_ladder(ladder())
    text = words(axes)
    for expected in (
        "transpose on NVIDIA H200",
        "times faster",
        "transposeCoalesced  #4",
        "shared_memory_padding: 2.18x, 2.32x",
        "near-peak",
    ):
        assert expected in text
    assert axes.yaxis_inverted(), "naive is on top"
    legend = axes.get_legend()
    assert legend is not None
    assert [each.get_text() for each in legend.get_texts()] == ["predicted (best, low to high)", "measured"]


def test_a_ladder_without_advice_or_measurement_can_be_drawn() -> None:
    first, last = ladder().steps
    drawn(plot_ladder(Ladder("finished", (last,), ())))
    axes: Any = plot_ladder(Ladder("unmeasured", (replace(first, measured_speedup=None),), ()))
    drawn(axes)
    assert "2.18x, not measured" in words(axes)


def test_a_bound_far_above_the_rest_does_not_squeeze_it() -> None:
    vague = replace(advice_finding(), predicted_speedup=Gain(1.94, 2.18, 1e6))
    step = replace(ladder().steps[0], diagnosis=replace(launch_with_advice(), outcomes=(vague,)))
    axes: Any = plot_ladder(Ladder("vague", (step,), ()))
    drawn(axes)
    assert 2.32 < axes.get_xlim()[1] < 10


def test_units_are_numbers_in_per_cent_with_the_bottleneck_framed() -> None:
    axes: Any = plot_units(diagnosis())
    drawn(axes)
    assert axes.images[0].get_array().tolist()[0] == pytest.approx([33.0, 22.0, 88.0])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["dram", "l2", "l1_data"]
    assert [text.get_text() for text in axes.texts] == ["33", "22", "88", "76", "45", "31", "2", "?", "?"]
    framed = {(round(p.get_x() + 0.46), round(p.get_y() + 0.44)) for p in axes.patches}
    assert framed == {(2, 0), (0, 1)}
    assert "latencyBound, 2.5 us, bottleneck: latency" in words(axes)
    bar = axes.figure.axes[-1]
    assert bar.get_ylabel() == "use, % of the unit's peak"


def test_of_many_launches_the_longest_are_drawn_in_their_order() -> None:
    launches = tuple(replace(launch_near_peak(), kernel=f"k{at}", duration_ns=100.0 + at % 50) for at in range(100))
    labels = [label.get_text() for label in plot_units(Diagnosis(launches, ())).get_yticklabels()]
    assert [label.split(",")[0] for label in labels] == [f"k{at}" for at in (*range(30, 50), *range(80, 100))]


def test_units_without_use_in_any_launch_are_refused_with_a_hint() -> None:
    idle = replace(launch_near_peak(), units={"dram": 0.01}, bottleneck="latency")
    with pytest.raises(UsageError, match="no launch uses a unit") as refusal:
        plot_units(Diagnosis((idle,), ()))
    assert refusal.value.hint


def test_given_axes_are_drawn_into() -> None:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    assert plot_ladder(ladder(), left) is left
    assert plot_units(diagnosis(), right) is right
    assert plt.get_fignums() == [figure.number]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("text", [*HOSTILE.values(), r"$\frac{ $ x_1$", "$$"], ids=[*HOSTILE, "formula", "dollars"])
def test_a_name_is_drawn_as_it_is(text: str) -> None:
    launch = replace(launch_with_advice(), kernel=text, device=replace(launch_with_advice().device, name=text))
    drawn(plot_units(Diagnosis((launch,), ())))
    step = replace(ladder().steps[0], kernel=text, diagnosis=launch)
    drawn(plot_ladder(Ladder(text, (step,), ())))


def test_a_long_name_is_not_cut_at_its_end() -> None:
    launches = tuple(replace(launch_near_peak(), kernel=f"{'a' * 60}<{size}>") for size in (16, 32))
    labels = [label.get_text() for label in plot_units(Diagnosis(launches, ())).get_yticklabels()]
    assert [label.split(",")[0][-4:] for label in labels] == ["<16>", "<32>"]
    assert max(map(len, labels)) < 60


def test_a_recorded_ladder_can_be_drawn() -> None:
    recorded = ncuview.ladder("bank_patterns", live=False)
    axes: Any = plot_ladder(recorded)
    drawn(axes)
    assert len(axes.get_yticklabels()) == len(recorded.steps)


@pytest.mark.parametrize(("plot", "answer"), [(plot_ladder, ladder()), (plot_units, diagnosis())])
def test_without_matplotlib_the_error_says_what_to_install(
    plot: Any, answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ToolError, match="matplotlib") as missing:
        plot(answer)
    assert "ncuview[plot]" in missing.value.hint
