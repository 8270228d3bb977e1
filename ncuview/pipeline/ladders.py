"""Diagnose all kernels of a catalogue family, from naive to best, and compare predicted with measured speedups.

``ladder`` takes the family's name, profiles its kernels here or reads the recorded profile, and returns a ``Ladder``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ncuview.pipeline.examine import ProgressCallback, examine_launches
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.ladder import Ladder, LadderStep, TextbookStep

if TYPE_CHECKING:
    from ncuview.catalogue.kernel_file import Kernel, Step
    from ncuview.catalogue.kernels import Launch
    from ncuview.engine.rule_file import Rule

Judged = tuple["Launch", LaunchDiagnosis]


def ladder(
    family: str, rules: Sequence[Rule] | None = None, live: bool | None = None, progress: ProgressCallback | None = None
) -> Ladder:
    """Diagnose all kernels of a family and compare each prediction with the measured speedup of the better kernel.

    Raises:
        UnknownFamily: There is no such family.
        NcuviewError: See base/errors.py.
    """
    from ncuview.catalogue.kernels import family as kernels_of
    from ncuview.catalogue.kernels import launches_of
    from ncuview.engine.rule_file import load_rules

    kernels = kernels_of(family)
    launches = launches_of(kernels)
    diagnosis = examine_launches(launches, load_rules() if rules is None else rules, live, progress).diagnosis
    judged = list(zip(launches, diagnosis.launches, strict=True))
    steps = tuple(_ladder_step(kernel, judged) for kernel in kernels)
    return Ladder(family, steps, diagnosis.reports, diagnosis.remark)


def _ladder_step(kernel: Kernel, judged: Sequence[Judged]) -> LadderStep:
    """A kernel at its own sizes, compared with its better kernel at the same sizes where that was launched."""
    from ncuview.catalogue.kernels import next_in_textbook

    own = _at(judged, kernel.name, kernel.text.sizes)
    better = _at(judged, kernel.text.better, kernel.text.sizes) if kernel.text.better else None
    reported = kernel.text.reported
    flops = bool(own[0].useful_flops)
    return LadderStep(
        kernel=kernel.name,
        number=kernel.text.step_number,
        diagnosis=own[1],
        useful_rate=_rate(own) / 1e9,
        rate_unit="GFLOP/s" if flops else "GB/s",
        reported=f"{reported.rate:g} {reported.unit}, {reported.gpu}" if reported else "",
        better=better[0].kernel.name if better else "",
        better_sizes=better[0].sizes if better else {},
        measured_speedup=_rate(better) / _rate(own) if better else None,
        textbook_steps=tuple(_step(*following, own, judged) for following in next_in_textbook(kernel)),
    )


def _at(judged: Sequence[Judged], name: str, sizes: Mapping[str, int]) -> Judged:
    """A kernel's launch at these sizes; if there is none, at its own sizes."""
    of_kernel = [pair for pair in judged if pair[0].kernel.name == name]
    return next((pair for pair in of_kernel if pair[0].sizes == sizes), of_kernel[0])


def _step(kernel: Kernel, step: Step, own: Judged, judged: Sequence[Judged]) -> TextbookStep:
    measured = _rate(_at(judged, kernel.name, own[0].sizes)) / _rate(own)
    return TextbookStep(kernel.name, step.applies, measured, step.not_first or "")


def _rate(judged: Judged) -> float:
    """Useful work per second: floating-point operations where the kernel counts them, else bytes."""
    launch, found = judged
    return (launch.useful_flops or launch.useful_bytes) / (found.whole_ns * 1e-9)
