"""The pipeline on one screen: collect a report, read it, diagnose it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.errors import ReportEmpty, UsageError
from ncuview.model import Diagnosis, Ladder, LaunchDiagnosis, Profile, Rung, TextbookMetric
from ncuview.paths import shipped

if TYPE_CHECKING:
    from ncuview.collect.catalogue import Launch
    from ncuview.collect.ncu_output import Progress
    from ncuview.ruleset.kernel_file import Kernel
    from ncuview.ruleset.spec import Rule

Progressed = Callable[["Progress"], object]


def load_rules(folders: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """The shipped rules and those below further folders.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    from ncuview.ruleset import spec

    return spec.load_rules([shipped("rules"), *folders])


def read(*reports: str | Path, kernel_name: str = "") -> Profile:
    """The launches of one or more reports, as DataFrames.

    Args:
        reports: The report files.
        kernel_name: Only launches of this kernel, or of those that match ``regex:`` and a pattern; empty for all.

    Raises:
        ReportError: A report is unreadable, damaged or empty.
    """
    from ncuview.report.reader import read as read_reports

    return read_reports(reports, kernel_name)


def diagnose(profile: Profile, rules: Sequence[Rule] | None = None) -> Diagnosis:
    """Judge every launch of a profile and rank what to do."""
    from ncuview.diagnose.rank import diagnose as rank

    return rank(profile, load_rules() if rules is None else rules)


def analyze(
    *targets: str | Path,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    kernel_name: str = "",
    progress: Progressed | None = None,
) -> Diagnosis:
    """Diagnose reports, or one kernel of the catalogue.

    Args:
        targets: Report files, or the name of one catalogue kernel.
        rules: The rules to judge by; the shipped ones by default.
        live: For a catalogue kernel: True profiles it here, False uses the recorded profile, None profiles it here when
            GPU, ncu, nvcc and PyCUDA are all there.
        kernel_name: For reports: only launches of this kernel, or of those that match ``regex:`` and a pattern.
        progress: Told about every kernel that ncu starts and finishes.

    Raises:
        NcuviewError: See errors.py.
    """
    rules = load_rules() if rules is None else rules
    if all(Path(target).exists() or str(target).endswith(".ncu-rep") for target in targets):
        if live is not None:
            raise UsageError("--live and --recorded are for catalogue kernels, not for reports")
        return diagnose(read(*targets, kernel_name=kernel_name), rules)
    if kernel_name:
        raise UsageError("--kernel-name chooses among the launches of reports")
    if len(targets) > 1:
        raise UsageError("give either reports or the name of one kernel", hint="`ncuview ladder` takes a whole family.")
    from ncuview.collect.catalogue import find_kernel, launch_of

    launch = launch_of(find_kernel(str(targets[0])))
    return _diagnose_launches([launch], rules, live, progress)


def ladder(
    family: str,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    progress: Progressed | None = None,
) -> Ladder:
    """Diagnose a whole family and set each promise beside what the better kernel measured.

    Raises:
        UnknownFamily: There is no such family.
        NcuviewError: See ``analyze``.
    """
    from ncuview.collect.catalogue import family as kernels_of
    from ncuview.collect.catalogue import launches_of

    kernels = kernels_of(family)
    launches = launches_of(kernels)
    diagnosis = _diagnose_launches(launches, load_rules() if rules is None else rules, live, progress)
    judged = list(zip(launches, diagnosis.launches, strict=True))
    rungs = tuple(_rung(kernel, judged) for kernel in kernels)
    return Ladder(family, rungs, diagnosis.reports, diagnosis.remark)


def _diagnose_launches(
    launches: Sequence[Launch], rules: Sequence[Rule], live: bool | None, progress: Progressed | None
) -> Diagnosis:
    """Profile catalogue launches here or look them up in the recorded profile; one diagnosis each, in order."""
    from ncuview.collect.machine import missing_for_live
    from ncuview.diagnose.rank import diagnose as rank

    missing = missing_for_live() if live is None else None
    if live is False or missing:
        remark = f"{missing}; --live insists" if missing else "as asked for with --recorded"
        diagnosis = rank(_recorded(launches), rules, "recorded")
    else:
        remark = ""
        diagnosis = rank(_profiled(launches, rules, progress), rules, "live")
    ordered = tuple(_with_bandwidth(_matching(launch, diagnosis), launch) for launch in launches)
    return Diagnosis(ordered, diagnosis.reports, remark)


def _profiled(launches: Sequence[Launch], rules: Sequence[Rule], progress: Progressed | None) -> Profile:
    from ncuview.collect.live import profile_live
    from ncuview.collect.plan import metrics_for

    with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        return read(profile_live(launches, metrics_for(rules), Path(folder), progress))


def _recorded(launches: Sequence[Launch]) -> Profile:
    from ncuview.collect.recorded import recorded_report
    from ncuview.report.reader import read as read_reports

    report = recorded_report(launches[0].kernel.text.family)
    return read_reports([report], kernel=launches[0].kernel.name if len(launches) == 1 else "")


def _matching(launch: Launch, diagnosis: Diagnosis) -> LaunchDiagnosis:
    wanted = (launch.kernel.name, launch.grid, launch.block)
    for found in diagnosis.launches:
        if (found.kernel, found.grid, found.block) == wanted:
            return found
    raise ReportEmpty(
        f"the profile holds no launch of {launch.kernel.name} with grid {launch.grid} and block {launch.block}",
        hint="The recorded profile is older than the kernel file; use --live.",
    )


def _with_bandwidth(found: LaunchDiagnosis, launch: Launch) -> LaunchDiagnosis:
    """Add the effective bandwidth, which only the kernel file knows the bytes for."""
    if not launch.useful_bytes:
        return found
    value = launch.useful_bytes / (found.duration_ns * 1e-9)
    metric = TextbookMetric(value, "byte/s", f"{launch.useful_bytes} useful bytes / gpu__time_duration.sum")
    return replace(found, metrics={**found.metrics, "effective_bandwidth": metric})


def _rung(kernel: Kernel, judged: Sequence[tuple[Launch, LaunchDiagnosis]]) -> Rung:
    """A kernel at its own sizes, compared with its better rung at the same sizes where that was launched."""
    own = next((launch, found) for launch, found in judged if launch.kernel.name == kernel.name)
    candidates = [pair for pair in judged if pair[0].kernel.name == kernel.text.better]
    same = [pair for pair in candidates if pair[0].sizes == own[0].sizes]
    better = next(iter(same or candidates), None)
    return Rung(
        kernel=kernel.name,
        rung=kernel.text.rung,
        diagnosis=own[1],
        useful_bandwidth=_bandwidth(own) / 1e9,
        better=better[0].kernel.name if better else "",
        better_sizes=better[0].sizes if better else {},
        measured_speedup=_bandwidth(better) / _bandwidth(own) if better else None,
    )


def _bandwidth(judged: tuple[Launch, LaunchDiagnosis]) -> float:
    launch, found = judged
    return launch.useful_bytes / (found.duration_ns * 1e-9)
