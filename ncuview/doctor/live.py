"""Two checks of ``ncuview doctor --live``: profile a tiny kernel under ncu with one metric, then in several passes.

``live_checks`` returns two ``Checked``: a failure of ncu is a FAIL with its fix, a missing compiler is UNKNOWN.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ncuview.base.errors import CompilerNotFound, LauncherNotFound, NcuviewError
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.catalogue.live import profile_live
from ncuview.doctor.verdict import Checked, Evidence, Verdict, fail, ok, unknown
from ncuview.profiling.ncu_output import Progress
from ncuview.reader.reader import read

KERNEL = "emptyKernel"
ONE_PASS = ("gpu__time_duration.sum",)
SEVERAL_PASSES = ("gpu__time_duration.sum", "inst_executed")
"""A hardware counter and a counter of instructions: they never share a pass; three passes on an H200."""


def live_checks(progress: Callable[[Progress], object] | None = None) -> tuple[Checked, ...]:
    """Profile twice; a failure is a FAIL with its id, message and fix; UNKNOWN if a kernel cannot be built."""
    return (
        _tried("live-one-metric", "Live, one metric", ONE_PASS, 1, progress),
        _tried("live-several-passes", "Live, several passes", SEVERAL_PASSES, 2, progress),
    )


def _tried(
    name: str,
    title: str,
    metrics: Sequence[str],
    least_passes: int,
    progress: Callable[[Progress], object] | None,
) -> Checked:
    run = f"ncu --metrics={','.join(metrics)} on {KERNEL}"
    try:
        passes, missing = _profile(metrics, progress)
    except (CompilerNotFound, LauncherNotFound) as error:
        # A user's own program needs neither nvcc nor PyCUDA.
        return Checked(name, title, (error.id,), unknown(f"it could not be tried: {error}", fix=error.hint))
    except NcuviewError as error:
        seen = Evidence(run, f"{error.id}, exit code {error.exit_code}")
        return Checked(name, title, (error.id,), fail(str(error), seen, fix=error.hint))
    except Exception as error:  # noqa: BLE001  (the results of the other checks must be shown)
        return Checked(name, title, (), unknown(f"the check itself failed: {type(error).__name__}: {error}"))
    return Checked(name, title, (), _judged(Evidence(run, f"passes: {passes}"), passes, missing, least_passes))


def _judged(seen: Evidence, passes: int, missing: Sequence[str], least_passes: int) -> Verdict:
    if missing:
        fix = "Compare with `ncu --query-metrics`; look at the other checks that are not OK."
        return fail(f"ncu gave no value of {', '.join(missing)}", seen, fix=fix)
    if passes < least_passes:
        return unknown(f"ncu took {passes} pass, so more were not tried", seen)
    return ok(f"profiled in {passes} {'passes' if passes > 1 else 'pass'}", seen)


def _profile(metrics: Sequence[str], progress: Callable[[Progress], object] | None) -> tuple[int, list[str]]:
    """The passes that ncu took, and the metrics without a value."""
    passes = 0

    def hear(news: Progress) -> None:
        nonlocal passes
        passes = news.passes or passes
        if progress is not None:
            progress(news)

    with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        report = profile_live([launch_of(find_kernel(KERNEL))], metrics, Path(folder), hear)
        found = read([report], instructions=False).metrics
    return passes, [name for name in metrics if name not in found or found[name].isna().any()]
