"""Plot with matplotlib: ``plot_ladder`` a ``Ladder``'s predicted and measured gains, ``plot_units`` the use of units.

``plot_units`` shows the units of each launch of a ``Diagnosis``; both return matplotlib axes.

matplotlib is the extra ``ncuview[plot]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from ncuview.base.errors import ToolError, UsageError
from ncuview.base.figures import duration, factor
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.ladder import Ladder, LadderStep
from ncuview.render.text import safe_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's blue and vermilion, which differ for all forms of colour blindness; the markers differ as well.
_PREDICTED, _MEASURED, _QUIET = "#0072B2", "#D55E00", "#767676"
_USE_COLORS = "cividis"
_ROW_IN, _FRAME_IN = 0.36, 2.4
_CELL_IN = 0.08
_APART = 0.14
"""As a share of a row's height: the prediction is this much above its middle, the measurement as much below."""
_BEYOND, _SHORTEST_AXIS, _ONLY_TENS_FROM = 3, 2.2, 100
_SMALL: Any = {"textcoords": "offset points", "fontsize": "small"}
_BLACK_FROM = 50
_LAUNCHES = 40
_UNITS_FROM = 0.05
_NAME, _NAME_END = 40, 16


def plot_ladder(ladder: Ladder, axes: Axes | None = None) -> Axes:
    """Plot the predicted gain of the first advice for each kernel of a family, with bounds, and the measured gain.

    Args:
        ladder: The result of ``ncuview.ladder``.
        axes: Where to draw; None for a new figure of pyplot that is high enough for all steps.

    Returns:
        The axes: a row per kernel, naive on top; the speedup in times, on a logarithmic scale. ``axes.figure`` is the
        figure, which the caller saves or closes.

    Raises:
        ToolError: matplotlib is not installed.
    """
    steps = ladder.steps
    kernels = [f"{_name(step.kernel)}  #{step.number}" for step in steps]
    axes = _axes_or_new(axes, width=7 + _width(kernels), rows=len(steps))
    from matplotlib.ticker import LogLocator

    axes.axvline(1.0, color=_QUIET, linewidth=0.8, zorder=0)
    predicted = [(at, step.diagnosis.findings[0].predicted_speedup) for at, step in _advised(steps)]
    axes.errorbar(
        [gain.best for _, gain in predicted],
        [at - _APART for at, _ in predicted],
        xerr=[[gain.best - gain.low for _, gain in predicted], [gain.high - gain.best for _, gain in predicted]],
        fmt="o",
        markersize=5,
        color=_PREDICTED,
        capsize=3,
        label="predicted (best, low to high)",
    )
    measured = [(at, step.measured_speedup) for at, step in _advised(steps) if step.measured_speedup]
    axes.plot(
        [speedup for _, speedup in measured],
        [at + _APART for at, _ in measured],
        "D",
        markersize=5,
        color=_MEASURED,
        label="measured",
    )
    # A bound may be far above all other values; its bar then leaves the frame, so that the others stay readable.
    farthest = max([_SHORTEST_AXIS, *(gain.best for _, gain in predicted), *(speedup for _, speedup in measured)])
    axes.set_xscale("log", subs=[])
    axes.set_xlim(right=max(farthest, min(axes.get_xlim()[1], _BEYOND * farthest)))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if farthest > _ONLY_TENS_FROM else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(lambda speedup, _: f"{speedup:,.10g}x")
    axes.xaxis.set_minor_formatter(lambda *_: "")
    axes.set_xlabel("speedup by the first advice (times faster, logarithmic)")
    axes.set_ylabel("kernel and its step, from naive to best")
    axes.set_yticks(range(len(steps)), kernels)
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_title(
        f"{_name(ladder.family)} on {_devices([step.diagnosis for step in steps])}: gain by the first advice",
        pad=22,
    )
    _annotate_advice(axes, steps)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        labels[::-1],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.55 / _height(len(steps))),
        ncols=2,
        frameon=False,
    )
    return axes


def plot_units(diagnosis: Diagnosis, axes: Axes | None = None) -> Axes:
    """Plot the use of each hardware unit in each launch, with the bottleneck framed.

    Of more than 40 launches, the longest are shown. A unit that no launch uses to 5 % is left out.

    Args:
        diagnosis: The result of ``analyze`` or ``diagnose``.
        axes: Where to draw; None for a new figure of pyplot that is high enough for all launches.

    Returns:
        The axes: a row per launch, in the order of the reports, and a column per unit; the use in % of the unit's peak,
        as a number and as a colour. ``axes.figure`` is the figure, which the caller saves or closes.

    Raises:
        UsageError: No launch uses any unit to 5 %.
        ToolError: matplotlib is not installed.
    """
    longest = sorted(diagnosis.launches, key=lambda launch: -launch.duration_ns)[:_LAUNCHES]
    launches = [launch for launch in diagnosis.launches if any(launch is shown for shown in longest)]
    units = _busy_units(launches)
    if not units:
        raise UsageError(
            "no launch uses a unit to 5 % of its peak", hint="Look at findings_frame: latency is the bottleneck."
        )
    names = [_launch_name(launch) for launch in launches]
    axes = _axes_or_new(axes, width=2.5 + 0.65 * max(len(units), 4) + _width(names), rows=len(launches))
    use = [[100 * launch.units.get(unit, float("nan")) for unit in units] for launch in launches]
    image = axes.imshow(use, cmap=_USE_COLORS, vmin=0, vmax=100, aspect="auto")
    for row, launch in enumerate(launches):
        for column, unit in enumerate(units):
            _annotate_use(axes, row, column, use[row][column], is_bottleneck=launch.bottleneck == unit)
    axes.set_xticks(range(len(units)), list(map(_literal, units)), rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(launches)), names)
    axes.set_xlabel("hardware unit")
    axes.set_ylabel("launch and its duration")
    axes.set_title(f"Use of each unit on {_devices(launches)}\n(the bottleneck of a launch is framed)")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02, fraction=0.05)
    bar.set_label("use, % of the unit's peak")
    bar.outline.set_visible(False)
    return axes


def _plt() -> ModuleType:
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ToolError("plots need matplotlib, which is not installed", hint="pip install 'ncuview[plot]'") from error
    return plt


def _axes_or_new(axes: Axes | None, *, width: float, rows: int) -> Axes:
    plt = _plt()
    if axes is None:
        _, axes = plt.subplots(figsize=(width, _height(rows)), layout="constrained")
    return axes


def _height(rows: int) -> float:
    return _FRAME_IN + _ROW_IN * max(rows, 1)


def _width(labels: Sequence[str]) -> float:
    """The approximate width of the longest label in inches; the layout gives the rest to the plot."""
    return max((_CELL_IN * max(len(label), cell_len(label)) for label in labels), default=0.0)


def _advised(steps: Sequence[LadderStep]) -> list[tuple[int, LadderStep]]:
    return [(at, step) for at, step in enumerate(steps) if step.diagnosis.findings]


def _annotate_advice(axes: Axes, steps: Sequence[LadderStep]) -> None:
    """Write right of each row the advice and both gains, or the verdict."""
    axes.annotate("advice: predicted, measured", (1.0, 1.0), xycoords="axes fraction", xytext=(6, 5), **_SMALL)
    for at, step in enumerate(steps):
        words: str = step.diagnosis.verdict
        if step.diagnosis.findings:
            first = step.diagnosis.findings[0]
            measured = factor(step.measured_speedup) if step.measured_speedup else "not measured"
            words = f"{_literal(first.optimization)}: {factor(first.predicted_speedup.best)}, {measured}"
        axes.annotate(
            words,
            (1.0, at),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            va="center",
            **_SMALL,
            color="black" if step.diagnosis.findings else _QUIET,
        )


def _busy_units(launches: Sequence[LaunchDiagnosis]) -> list[str]:
    """Units that a launch uses, or that limit one, in the order of the model."""
    units = dict.fromkeys(unit for launch in launches for unit in launch.units)
    bottlenecks = {launch.bottleneck for launch in launches}
    return [
        unit
        for unit in units
        if unit in bottlenecks or any(launch.units.get(unit, 0.0) >= _UNITS_FROM for launch in launches)
    ]


def _annotate_use(axes: Axes, row: int, column: int, use: float, *, is_bottleneck: bool) -> None:
    known = use == use  # noqa: PLR0124  (NaN)
    color = "black" if known and use > _BLACK_FROM else "white"
    axes.text(
        column,
        row,
        f"{use:.0f}" if known else "?",
        ha="center",
        va="center",
        fontsize="small",
        fontweight="bold" if is_bottleneck else "normal",
        color=color if known else "black",
    )
    if is_bottleneck:
        from matplotlib.patches import Rectangle

        frame = Rectangle((column - 0.46, row - 0.44), 0.92, 0.88, fill=False, edgecolor=_MEASURED, linewidth=2.2)
        axes.add_patch(frame)


def _launch_name(launch: LaunchDiagnosis) -> str:
    limit = "" if launch.bottleneck in launch.units else f", bottleneck: {_literal(launch.bottleneck)}"
    return f"{_name(launch.kernel)}, {duration(launch.duration_ns)}{limit}"


def _name(kernel: str) -> str:
    """A kernel's name, shortened in its middle; its end, with template arguments and sizes, identifies the kernel."""
    if len(kernel) > _NAME:
        kernel = f"{kernel[: _NAME - _NAME_END - 3]}...{kernel[-_NAME_END:]}"
    return _literal(kernel)


def _literal(text: str) -> str:
    """Untrusted text for matplotlib, which would read text between two dollars as a formula."""
    return safe_text(text).replace("$", r"\$")


def _devices(launches: Sequence[LaunchDiagnosis]) -> str:
    return ", ".join(dict.fromkeys(_name(launch.device.name) for launch in launches)) or "unknown GPU"
