"""Measure a GPU's attainable shares of peak, and the run-to-run spread of kernels, here or from given reports.

``calibrate`` returns a ``Calibration``; ``measure_spreads`` takes kernels, a program or reports -> ``Spreads``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.pipeline.examine import (
    Examined,
    ProgressCallback,
    examine,
    examine_launches,
    examine_program,
    profile_here,
    require_complete,
)
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import Calibration

if TYPE_CHECKING:
    from ncuview.gate.spread import Spreads


def calibrate(*reports: str | Path, progress: ProgressCallback | None = None) -> Calibration:
    """Measure on this machine's GPU which share of each unit's peak good kernels attain.

    Args:
        reports: Reports of the calibration kernels to use instead, each with its file of copy times by the host.
        progress: Called for every kernel that ncu starts and finishes.

    Raises:
        NothingProfiled: The reports contain no launch of a calibration kernel.
        Incomplete: Launches are missing from a report.
        NcuviewError: See ``analyze``.
    """
    from ncuview.engine.rule_file import load_rules
    from ncuview.pipeline.profiled import read_with_sources
    from ncuview.reader.host_times import with_host_times_of
    from ncuview.speedup import calibrate as measure

    if reports:
        return measure.calibrate(
            [with_host_times_of(require_complete(read_with_sources([report])), Path(report)) for report in reports]
        )
    from ncuview.catalogue.kernels import find_kernel, launch_of

    launches = [launch_of(find_kernel(name)) for name in measure.KERNELS]
    return measure.calibrate([profile_here(launches, load_rules(), progress)])


def measure_spreads(
    kernels: Sequence[str] = (),
    program: Sequence[str] = (),
    reports: Sequence[str | Path] = (),
    *,
    repeats: int = 6,
    progress: ProgressCallback | None = None,
) -> Spreads:
    """Measure how far times and counters differ from run to run.

    Args:
        kernels: Kernels of the catalogue to profile ``repeats`` times.
        program: A program to profile ``repeats`` times.
        reports: Reports to use instead, in which kernels are launched several times.
        repeats: How often to profile, at least twice.
        progress: Called for every kernel that ncu starts and finishes.

    Raises:
        NothingProfiled: No kernel was launched twice with the same work.
        Incomplete: Launches are missing from a report, or from a run.
        NcuviewError: See errors.py.
    """
    from ncuview.engine.rule_file import load_rules
    from ncuview.gate.spread import measured_spreads

    rules = load_rules()
    found: list[Examined] = []
    if reports:
        found.append(examine(*reports, rules=rules))
    elif program:
        found += [examine_program(program, rules, progress=progress) for _ in range(repeats)]
    else:
        from ncuview.catalogue.kernels import find_kernel, launch_of

        launches = [launch_of(find_kernel(name)) for name in kernels]
        found += [examine_launches(launches, rules, live=True, progress=progress) for _ in range(repeats)]
    launched = tuple(launch for each in found for launch in each.diagnosis.launches)
    return measured_spreads(
        Diagnosis(launched, tuple(report for each in found for report in require_complete(each.profile).reports))
    )
