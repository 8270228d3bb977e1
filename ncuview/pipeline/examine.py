"""Profile or read the user's target and diagnose it: reports, catalogue kernels, a program or a .cu file.

``examine`` and ``examine_*`` return an ``Examined``: the ``Diagnosis``, with edits of local sources, and ``Profile``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import GpuNotFound, Incomplete, LauncherNotFound, NcuNotFound, ReportEmpty, UsageError
from ncuview.base.files import is_file
from ncuview.base.log import LOG
from ncuview.base.paths import shipped
from ncuview.base.report_files import CSV_ENDING, REPORT_ENDINGS, are_reports
from ncuview.pipeline.without_gpu import with_ways_on, with_ways_on_for_source
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, TextbookMetric
from ncuview.records.profile import Profile

if TYPE_CHECKING:
    from ncuview.base.patterns import Pattern
    from ncuview.catalogue.kernels import Launch
    from ncuview.catalogue.user_kernel import LaunchOptions
    from ncuview.engine.rule_file import Rule
    from ncuview.profiling.job import Profiled
    from ncuview.profiling.ncu_output import Progress
    from ncuview.profiling.options import NcuOptions
    from ncuview.reader.child import PrestartedChildren
    from ncuview.reader.settings import Settings

ProgressCallback = Callable[["Progress"], object]

_ENDINGS = (*REPORT_ENDINGS, CSV_ENDING)


@dataclass(frozen=True)
class Examined:
    """A diagnosis with its profile: the input of a gate."""

    diagnosis: Diagnosis
    profile: Profile
    settings: Settings | None = None
    """The settings of ncu where the profile was made here; None where its reports have them."""
    shipped_sources: Path | None = None
    """The folder with the sources of catalogue kernels, where the launches are of the catalogue."""


def require_complete(profile: Profile) -> Profile:
    """The profile, for callers that need all of its launches.

    Raises:
        Incomplete: Launches are missing.
    """
    if profile.failure:
        why = profile.failure
        raise Incomplete(why.message, hint=why.hint, id=why.id, exit_code=why.exit_code)
    return profile


def with_source_edits(diagnosis: Diagnosis, folders: Sequence[Path]) -> Diagnosis:
    """The diagnosis with its first advice as edits of the user's source, where the source is on this machine."""
    from ncuview.patch import with_edits

    return with_edits(diagnosis, folders)


def examine(
    *targets: str | Path,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    kernel_name: str = "",
    source_folders: Sequence[Path] = (),
    mine: Sequence[Pattern] = (),
    progress: ProgressCallback | None = None,
) -> Examined:
    """Diagnose reports, or one kernel or family of the catalogue, and return the profile too.

    See ``analyze`` for the arguments.

    Raises:
        NcuviewError: See errors.py.
    """
    from ncuview.pipeline.profiled import early_reader, prepare, read_with_sources

    if are_reports(targets):
        if live is not None:
            raise UsageError("--live and --recorded are for catalogue kernels, not for reports")
        if (program := _program_among(targets)) is not None:
            runnable = program if os.sep in str(program) else f"./{program}"
            raise UsageError(
                f"{program} is a program, not a report", hint=f"ncuview analyze -- {runnable} profiles it."
            )
        with early_reader(kernel_name) as ahead:
            found = read_with_sources(targets, kernel_name, source_folders, ahead, meanwhile=prepare)
        from ncuview.engine.rank import diagnose
        from ncuview.engine.rule_file import load_rules

        judged = diagnose(found, load_rules() if rules is None else rules, mine=mine)
        judged = judged.without_program() if kernel_name else judged
        return Examined(with_source_edits(judged, source_folders), found)
    if kernel_name:
        raise UsageError("--kernel-name chooses among the launches of reports and programs")
    if len(targets) > 1:
        raise UsageError("give either reports or the name of one kernel or family")
    from ncuview.profiling.machine import surely_missing_for_live

    recorded = live is False or (live is None and surely_missing_for_live())
    with early_reader() if recorded else nullcontext() as ahead:
        from ncuview.catalogue.kernels import family, find_kernel, is_family, launch_of

        name = str(targets[0])
        kernels = family(name) if is_family(name) else [find_kernel(name)]
        made = examine_launches([launch_of(kernel) for kernel in kernels], rules, live, progress, ahead)
    compares = f"`ncuview ladder {name}` compares the steps" if is_family(name) else ""
    remark = "; ".join(filter(None, [compares, made.diagnosis.remark]))
    edited = with_source_edits(replace(made.diagnosis, remark=remark), [shipped("kernels")])
    return replace(made, diagnosis=edited)


def hook_remark(made: Profiled, profile: Profile) -> list[str]:
    """What the hook did to the program; empty where it did nothing."""
    from ncuview.programs.forward import has_operators

    said = "NVTX ranges of PyTorch were switched on to name forward lines; --no-hook leaves them out"
    return [said] if made.hooked and has_operators(profile) else []


def examine_program(
    program: Sequence[str],
    rules: Sequence[Rule] | None = None,
    options: NcuOptions | None = None,
    *,
    export: Path | None = None,
    timeout_s: float = math.inf,
    no_progress_s: float | None = None,
    mine: Sequence[Pattern] = (),
    progress: ProgressCallback | None = None,
) -> Examined:
    """Profile a program under ncu and diagnose every launch that was profiled.

    Where the program failed, or was stopped, after some launches, these are diagnosed, and ``failure`` of the diagnosis
    names what is missing.

    Args:
        program: The program and its arguments; a first word that ends in .py is run by this Python.
        rules: The rules to evaluate; None for the shipped ones.
        options: Which launches are profiled, and how.
        export: Where to keep the report; see ``profiling.program.run_program``.
        timeout_s: The time limit of the program under ncu, in seconds.
        no_progress_s: The time limit without progress, in seconds; None for the default.
        mine: Kernels whose name or source file matches one of these patterns are the user's.
        progress: Called for every kernel that ncu starts and finishes.

    Raises:
        NcuviewError: See errors.py.
    """
    from ncuview.pipeline.profiled import planned_metrics, profile_program

    metrics = planned_metrics(rules)
    try:
        found, made = profile_program(
            program,
            metrics,
            options,
            export=export,
            timeout_s=timeout_s,
            no_progress_s=no_progress_s,
            progress=progress,
        )
    except (GpuNotFound, NcuNotFound) as absent:
        raise with_ways_on(absent, program) from absent
    from ncuview.engine.rank import diagnose as rank
    from ncuview.engine.rule_file import load_rules
    from ncuview.profiling.ncu_failures import without_values

    judged = rank(found, load_rules() if rules is None else rules, "live", mine=mine)
    judged = judged.without_program() if options and (options.kernel_name or options.kernel_id) else judged
    diagnosis = with_source_edits(judged, options.source_folders if options else ())
    missing = without_values(metrics, found)
    notes = [diagnosis.remark, *(note.what for note in made.notes), str(missing) if missing else ""]
    notes += hook_remark(made, found)
    return Examined(replace(diagnosis, remark="; ".join(filter(None, notes))), found, settings_for(made.options))


def examine_source(
    source: Path,
    words: LaunchOptions,
    rules: Sequence[Rule] | None = None,
    options: NcuOptions | None = None,
    *,
    mine: Sequence[Pattern] = (),
    progress: ProgressCallback | None = None,
) -> Examined:
    """Compile the user's .cu file, launch its kernel once under ncu and diagnose the launch.

    Raises:
        NcuviewError: See errors.py.
    """
    from ncuview.catalogue.user_kernel import not_checked, user_launch
    from ncuview.engine.rank import diagnose as rank
    from ncuview.engine.rule_file import load_rules

    launch = user_launch(source, words)
    rules = load_rules() if rules is None else rules
    try:
        made = profile_here([launch], rules, progress, options)
    except (GpuNotFound, NcuNotFound, LauncherNotFound) as missing:
        raise with_ways_on_for_source(missing, source) from missing
    diagnosis = rank(made, rules, "live", mine=mine)
    found = _with_catalogue(_matching(launch, diagnosis.launches[0]), launch)
    remark = "; ".join(filter(None, [not_checked(launch), diagnosis.remark]))
    known = with_source_edits(replace(diagnosis, launches=(found,), remark=remark), [source.parent])
    return Examined(known, made, settings_for(options))


def settings_for(options: NcuOptions | None) -> Settings:
    """The settings of ncu when it profiles with these options."""
    from ncuview.profiling.options import NcuOptions
    from ncuview.reader.settings import Settings

    chosen = options or NcuOptions()
    return Settings(chosen.clock_control.value, chosen.cache_control.value, chosen.replay_mode.value)


def _program_among(targets: Iterable[str | Path]) -> str | Path | None:
    """The first target that is executable and has no ending of a report."""
    others = (each for each in targets if Path(each).suffix not in _ENDINGS)
    return next((each for each in others if is_file(Path(each)) and os.access(each, os.X_OK)), None)


def examine_launches(
    launches: Sequence[Launch],
    rules: Sequence[Rule] | None,
    live: bool | None,
    progress: ProgressCallback | None,
    ahead: PrestartedChildren | None = None,
) -> Examined:
    """Profile catalogue launches here or look them up in the recorded profile; one diagnosis each, in order."""
    from ncuview.profiling.machine import missing_for_live

    missing = missing_for_live() if live is None else None
    if live is False or missing:
        remark = f"{missing}; --live insists" if missing else "as asked for with --recorded"
        LOG.info("the recorded profile is used: %s", remark)
        made, settings = _recorded(launches, ahead), None
    else:
        remark = ""
        made, settings = profile_here(launches, rules, progress), settings_for(None)
    from ncuview.engine.rank import diagnose as rank
    from ncuview.engine.rule_file import load_rules

    diagnosis = rank(made, load_rules() if rules is None else rules, "live" if settings else "recorded")
    positions = _recorded_positions(launches) if diagnosis.launches[0].origin == "recorded" else range(len(launches))
    found = {launch.index: launch for launch in diagnosis.launches}
    ordered = (_matching(launch, found.get(at)) for launch, at in zip(launches, positions, strict=True))
    known = tuple(_with_catalogue(each, launch) for each, launch in zip(ordered, launches, strict=True))
    remark = "; ".join(filter(None, [remark, diagnosis.remark]))
    return Examined(replace(diagnosis, launches=known, remark=remark), made, settings, shipped("kernels"))


def profile_here(
    launches: Sequence[Launch],
    rules: Sequence[Rule] | None,
    progress: ProgressCallback | None,
    options: NcuOptions | None = None,
) -> Profile:
    """Profile catalogue launches on this machine's GPU.

    Raises:
        NcuviewError: A launch failed, or is missing from the report.
    """
    from ncuview.pipeline.profiled import planned_metrics, profile_launches

    return require_complete(profile_launches(launches, planned_metrics(rules), options, progress))


def _recorded(launches: Sequence[Launch], ahead: PrestartedChildren | None) -> Profile:
    from ncuview.catalogue.kernels import recorded_report
    from ncuview.pipeline.profiled import prepare, read_with_sources

    report = recorded_report(launches[0].kernel.text.family)
    only = launches[0].kernel.function if len(launches) == 1 else ""
    found = read_with_sources([report], only, ahead=ahead, meanwhile=prepare)
    from ncuview.reader.host_times import with_host_times_of

    return with_host_times_of(require_complete(found), report)


def _recorded_positions(launches: Sequence[Launch]) -> list[int]:
    """The launches' places in the family's recorded profile, which has the order of ``launches_of``."""
    from ncuview.catalogue.kernels import family as kernels_of
    from ncuview.catalogue.kernels import launches_of

    made = launches_of(kernels_of(launches[0].kernel.text.family))
    at = {(launch.kernel.function, *launch.sizes.items()): index for index, launch in enumerate(made)}
    return [at.get((launch.kernel.function, *launch.sizes.items()), -1) for launch in launches]


def _matching(launch: Launch, found: LaunchDiagnosis | None) -> LaunchDiagnosis:
    wanted = (launch.kernel.function, launch.grid, launch.block)
    if found and (found.kernel, found.grid, found.block) == wanted:
        return found
    raise ReportEmpty(
        f"the profile holds no launch of {launch.kernel.name} with grid {launch.grid} and block {launch.block}",
        hint="The recorded profile is older than the kernel file; use --live.",
    )


def _with_catalogue(found: LaunchDiagnosis, launch: Launch) -> LaunchDiagnosis:
    """Add data of the kernel files: rates of useful work, and textbook steps that are not the first advice."""
    from ncuview.catalogue.kernels import next_in_textbook

    work = {
        "effective_bandwidth": (launch.useful_bytes, "byte/s", "useful bytes"),
        "useful_flops": (launch.useful_flops, "FLOP/s", "useful operations"),
    }
    rates = {
        name: TextbookMetric(amount / (found.duration_ns * 1e-9), unit, f"{amount} {what} / gpu__time_duration.sum")
        for name, (amount, unit, what) in work.items()
        if amount
    }
    seen = f"Measured: see `ncuview ladder {launch.kernel.text.family}`."
    notes = tuple(
        f"{step.applies} ({following.name}): {step.not_first} {seen}"
        for following, step in next_in_textbook(launch.kernel)
        if step.not_first
    )
    return replace(found, metrics={**found.metrics, **rates}, textbook=notes)
