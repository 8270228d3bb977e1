"""Write validation/predicted-and-measured.md: predicted and measured gains of all ladders, from one profile.

python -m validation.predicted_and_measured validation/predicted-and-measured.md           from the recorded profiles
python -m validation.predicted_and_measured validation/predicted-and-measured.md --live    from a run on this GPU
"""

from __future__ import annotations

import statistics
from pathlib import Path

import typer

from ncuview.api import ladder
from ncuview.catalogue.kernels import all_kernels, find_kernel
from ncuview.records.ladder import Ladder, LadderStep

FAMILIES = tuple(sorted({kernel.text.family for kernel in all_kernels()} - {"calibration"}))

_HEAD = """# Predicted and measured gains

Made by `python -m validation.predicted_and_measured validation/predicted-and-measured.md` from {origin}.
All launches of a family are from one run on one GPU. *Predicted* is the gain of the first advice with its bounds.
*Measured* is the gain of the kernel that applies it: a ratio of launch durations, or of useful bandwidth where the two
kernels run at other sizes (marked *). Where there is no advice, the launch is near its peak.
"""

_COLUMNS = (
    *("#", "kernel", "time us", "rate", "bottleneck", "first advice"),
    *("predicted", "low to high", "measured", "by", "predicted / measured"),
)


def main(target: Path, live: bool = False) -> None:
    """Write the document."""
    ladders = [ladder(family, live=live) for family in FAMILIES]
    origin = _origin(ladders[0], live)
    parts = [_HEAD.format(origin=origin), _summary(ladders), *(_section(climbed) for climbed in ladders)]
    target.write_text("\n".join(parts), encoding="utf-8")


def _origin(climbed: Ladder, live: bool) -> str:
    report, device = climbed.reports[0], climbed.steps[0].diagnosis.device.name
    when = f"{report.created:%Y-%m-%d}" if report.created else "an unknown day"
    return f"{'a live run' if live else 'the recorded profiles'}: {device}, {when}, ncu {report.ncu_version}"


def _judged(climbed: Ladder) -> list[tuple[LadderStep, float]]:
    """Steps with advice and a measured gain, with predicted over measured."""
    return [
        (step, step.diagnosis.findings[0].predicted_speedup.best / step.measured_speedup)
        for step in climbed.steps
        if step.diagnosis.findings and step.measured_speedup
    ]


def _summary(ladders: list[Ladder]) -> str:
    ratios = [max(ratio, 1 / ratio) for climbed in ladders for _, ratio in _judged(climbed)]
    within = {share: sum(ratio <= 1 + share for ratio in ratios) for share in (0.05, 0.10, 0.15, 0.25)}
    counts = ", ".join(f"{count} within {share:.0%}" for share, count in within.items())
    covered = sum(
        step.diagnosis.findings[0].predicted_speedup.low
        <= (step.measured_speedup or 0)
        <= step.diagnosis.findings[0].predicted_speedup.high
        for climbed in ladders
        for step, _ in _judged(climbed)
    )
    return (
        f"**{len(ratios)} steps: median factor {statistics.median(ratios):.3f}, worst {max(ratios):.2f}; {counts}. "
        f"The measured gain lies between low and high in {covered}.**\n\n"
        "The model was built on these kernels: held-out.md says how it holds on others.\n"
    )


def _section(climbed: Ladder) -> str:
    rows = [
        f"## {climbed.family}",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        "| ---: | --- | ---: | ---: | --- | --- | ---: | --- | ---: | --- | ---: |",
        *(_row(step) for step in climbed.steps),
        "",
    ]
    return "\n".join(rows)


def _row(step: LadderStep) -> str:
    launch = step.diagnosis
    bottleneck = (
        f"{launch.bottleneck} {launch.units[launch.bottleneck]:.0%}"
        if launch.bottleneck in launch.units
        else launch.bottleneck
    )
    cells = [str(step.number), step.kernel, f"{launch.whole_ns / 1e3:,.1f}", f"{step.useful_rate:,.3g}", bottleneck]
    if not launch.findings:
        return "| " + " | ".join([*cells, launch.verdict, "", "", "", "", ""]) + " |"
    gain = launch.findings[0].predicted_speedup
    cells += [launch.findings[0].optimization, f"{gain.best:,.2f}", f"{gain.low:,.2f} to {gain.high:,.2f}"]
    if step.measured_speedup:
        mark = "" if dict(step.better_sizes) == _sizes(step) else "*"
        ratio = gain.best / step.measured_speedup
        cells += [f"{step.measured_speedup:,.2f}{mark}", step.better, f"{ratio:.2f}"]
    else:
        cells += ["", "", ""]
    return "| " + " | ".join(cells) + " |"


def _sizes(step: LadderStep) -> dict[str, int]:
    return dict(find_kernel(step.kernel).text.sizes)


if __name__ == "__main__":
    typer.run(main)
