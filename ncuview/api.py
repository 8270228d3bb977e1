"""The pipeline on one screen: collect a report, read it, diagnose it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import Incomplete, NcuviewError, ReportEmpty, UsageError
from ncuview.base.masking import masked
from ncuview.base.paths import shipped
from ncuview.records.calibration import Calibration
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, TextbookMetric
from ncuview.records.gate import Gate, Level
from ncuview.records.ladder import Ladder, Rung, TextbookStep
from ncuview.records.profile import Failure, Profile

if TYPE_CHECKING:
    from ncuview.catalogue.kernel_file import Kernel, Step
    from ncuview.catalogue.kernels import Launch
    from ncuview.catalogue.launch_spec import LaunchWords
    from ncuview.comparison.compare import Comparison
    from ncuview.engine.rule_file import Rule
    from ncuview.gate.baseline import Baseline
    from ncuview.gate.budget import Budget
    from ncuview.gate.spread import Spreads
    from ncuview.profiling.callable import Target
    from ncuview.profiling.job import Profiled
    from ncuview.profiling.ncu_output import Progress
    from ncuview.profiling.options import NcuOptions
    from ncuview.reader.settings import Settings

Progressed = Callable[["Progress"], object]

REPORT_ENDINGS = (".ncu-rep", ".ncu-repz", ".csv")
"""How the names of reports end."""


@dataclass(frozen=True)
class Examined:
    """A diagnosis with the profile that it is of: what a gate needs to see."""

    diagnosis: Diagnosis
    profile: Profile
    told: Settings | None = None
    """What ncu was told, where the profile was made here; else its reports say it."""


def load_rules(folders: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """The shipped rules and those below further folders.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    from ncuview.engine import rule_file

    further = tuple(folders)
    return rule_file.load_rules([shipped("rules"), *further]) if further else rule_file.shipped_rules()


def read(
    *reports: str | Path, kernel_name: str = "", source_folders: Sequence[Path] = (), instructions: bool = True
) -> Profile:
    """The launches of one or more reports, as DataFrames.

    Args:
        reports: Report files, folders of them, or Nsight's raw CSV exports.
        kernel_name: Only launches of this kernel, or of those that match ``regex:`` and a pattern; empty for all.
        source_folders: Where to look for sources that the reports do not hold.
        instructions: Whether to read machine code, what was counted in it, and sources too. Without them many launches
            are read in less than half of the time, and rules that look at code are skipped, as for a CSV export.

    Raises:
        UsageError: A name is empty, or the kernel's no pattern.
        ReportError: A report is unreadable, damaged or empty.
    """
    from ncuview.pipeline.profiled import read_with_sources

    return read_with_sources(reports, kernel_name, source_folders, instructions=instructions)


def profile(
    target: Target,
    rules: Sequence[Rule] | None = None,
    options: NcuOptions | None = None,
    *,
    export: str | Path | None = None,
    timeout_s: float = math.inf,
    progress: Progressed | None = None,
) -> Profile:
    """Run a command or a Python function under ncu; its launches, as ``read`` gives them.

    Where the program failed, or the time was over, after some launches, these are returned, and their ``failure`` says
    what is missing.

    A function is called once, in a new Python, and only what that call launches is profiled. It takes no arguments
    (``functools.partial`` gives it some), and what it returns or changes here is lost. One that can be imported by its
    name travels as that; a lambda, or a function of a script or a notebook cell, needs cloudpickle, the extra
    ``ncuview[notebook]``. What lives on the GPU cannot travel: make it inside the function. See docs/library.md.

    Args:
        target: A command as one string, as in a shell, or as its words, of which a first one that ends in .py is run by
            this Python; or the function.
        rules: The rules whose metrics are collected; the shipped ones by default.
        options: Which launches are profiled, and how, in ncu's own terms.
        export: Where the report is to stay; None keeps no file. See ``profiling.program.run_program``.
        timeout_s: How long the program may take under ncu, in seconds.
        progress: Told about every kernel that ncu starts and finishes.

    Raises:
        UsageError: There is no such program, or the function cannot be sent.
        ToolError: GPU or ncu is missing, or ncu was refused.
        ProgramFailed: The program or the function failed before a launch was profiled.
        NothingProfiled: No launch was profiled.
    """
    from ncuview.reader.inputs import named_path

    metrics = _planned(rules)
    kept = None if export is None else named_path(export)
    return _profiled_program(target, metrics, options, kept, timeout_s, None, progress)[0]


def whole(profile: Profile) -> Profile:
    """The same profile, for who can do nothing with some of its launches.

    Raises:
        Incomplete: Launches are missing.
    """
    if profile.failure:
        why = profile.failure
        raise Incomplete(why.message, hint=why.hint, id=why.id, exit_code=why.exit_code)
    return profile


def _profiled_program(
    target: Target,
    metrics: Sequence[str],
    options: NcuOptions | None,
    export: Path | None,
    timeout_s: float,
    no_progress_s: float | None,
    progress: Progressed | None,
) -> tuple[Profile, Profiled]:
    """What was read of a run under ncu, and how it ended."""
    from ncuview.pipeline.profiled import profiled_program

    found, made = profiled_program(
        target,
        metrics,
        options,
        export=export,
        timeout_s=timeout_s,
        no_progress_s=no_progress_s,
        progress=progress,
    )
    return replace(found, failure=failure_of(made.failure)) if made.failure else found, made


def _planned(rules: Sequence[Rule] | None) -> Sequence[str]:
    """The metrics to collect; for the shipped rules without loading them, which is done while ncu runs."""
    if rules is None:
        from ncuview.engine.shipped_plan import shipped_plan

        return shipped_plan()
    from ncuview.engine.plan import metrics_for

    return metrics_for(rules)


def diagnose(profile: Profile, rules: Sequence[Rule] | None = None) -> Diagnosis:
    """Judge every launch of a profile and rank what to do."""
    from ncuview.engine.rank import diagnose as rank

    return rank(profile, load_rules() if rules is None else rules)


def analyze(
    *targets: str | Path,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    kernel_name: str = "",
    source_folders: Sequence[Path] = (),
    progress: Progressed | None = None,
) -> Diagnosis:
    """Diagnose reports, or one kernel of the catalogue.

    Args:
        targets: Report files, folders of them or CSV exports, or the name of one catalogue kernel.
        rules: The rules to judge by; the shipped ones by default.
        live: For a catalogue kernel: True profiles it here, False uses the recorded profile, None profiles it here when
            GPU, ncu, nvcc and PyCUDA are all there.
        kernel_name: For reports: only launches of this kernel, or of those that match ``regex:`` and a pattern.
        source_folders: For reports: where to look for sources that they do not hold.
        progress: Told about every kernel that ncu starts and finishes.

    Raises:
        NcuviewError: See errors.py.
    """
    return examine(
        *targets, rules=rules, live=live, kernel_name=kernel_name, source_folders=source_folders, progress=progress
    ).diagnosis


def examine(
    *targets: str | Path,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    kernel_name: str = "",
    source_folders: Sequence[Path] = (),
    progress: Progressed | None = None,
) -> Examined:
    """Diagnose reports, or one kernel of the catalogue, and keep the profile.

    See ``analyze`` for the arguments.

    Raises:
        NcuviewError: See errors.py.
    """
    rules = load_rules() if rules is None else rules
    if all(Path(target).exists() or str(target).endswith(REPORT_ENDINGS) for target in targets):
        if live is not None:
            raise UsageError("--live and --recorded are for catalogue kernels, not for reports")
        if (program := _program_among(targets)) is not None:
            raise UsageError(f"{program} is a program, not a report", hint=f"ncuview analyze -- {program} profiles it.")
        found = read(*targets, kernel_name=kernel_name, source_folders=source_folders)
        return Examined(edited(diagnose(found, rules), source_folders), found)
    if kernel_name:
        raise UsageError("--kernel-name chooses among the launches of reports and programs")
    if len(targets) > 1:
        raise UsageError("give either reports or the name of one kernel", hint="`ncuview ladder` takes a whole family.")
    from ncuview.catalogue.kernels import find_kernel, launch_of

    launch = launch_of(find_kernel(str(targets[0])))
    return _examine_launches([launch], rules, live, progress)


def examine_program(
    program: Sequence[str],
    rules: Sequence[Rule] | None = None,
    options: NcuOptions | None = None,
    *,
    export: Path | None = None,
    timeout_s: float = math.inf,
    no_progress_s: float | None = None,
    progress: Progressed | None = None,
) -> Examined:
    """Profile any program under ncu and diagnose every launch that was profiled.

    Where the program failed, or was stopped, after some launches, these are diagnosed, and ``failure`` of the diagnosis
    says what is missing.

    Args:
        program: The program and its arguments; a first word that ends in .py is run by this Python.
        rules: The rules to judge by; the shipped ones by default.
        options: Which launches are profiled, and how.
        export: Where the report is to stay; see ``profiling.program.run_program``.
        timeout_s: How long the program may take under ncu, in seconds.
        no_progress_s: How long it may show no progress, in seconds; None for the default.
        progress: Told about every kernel that ncu starts and finishes.

    Raises:
        NcuviewError: See errors.py.
    """
    metrics = _planned(rules)
    found, made = _profiled_program(program, metrics, options, export, timeout_s, no_progress_s, progress)
    from ncuview.engine.rank import diagnose as rank
    from ncuview.profiling.missing_metrics import without_values

    judged = rank(found, load_rules() if rules is None else rules, "live")
    diagnosis = edited(judged, options.source_folders if options else ())
    missing = without_values(metrics, found)
    notes = [diagnosis.remark, *(note.what for note in made.notes), str(missing) if missing else ""]
    return Examined(replace(diagnosis, remark="; ".join(filter(None, notes))), found, _told(made.options))


def examine_source(
    source: Path,
    words: LaunchWords,
    rules: Sequence[Rule] | None = None,
    options: NcuOptions | None = None,
    *,
    progress: Progressed | None = None,
) -> Examined:
    """Compile a .cu file of the user's, launch its kernel once under ncu and diagnose the launch.

    Raises:
        NcuviewError: See errors.py.
    """
    from ncuview.catalogue.user_kernel import not_checked, user_launch
    from ncuview.engine.rank import diagnose as rank

    launch = user_launch(source, words)
    rules = load_rules() if rules is None else rules
    made = _profiled([launch], rules, progress, options)
    diagnosis = rank(made, rules, "live")
    found = _with_catalogue(_matching(launch, diagnosis.launches[0]), launch)
    remark = "; ".join(filter(None, [not_checked(launch), diagnosis.remark]))
    known = edited(replace(diagnosis, launches=(found,), remark=remark), [source.parent])
    return Examined(known, made, _told(options))


def failure_of(error: NcuviewError) -> Failure:
    """An error as part of an answer."""
    return Failure(error.id, masked(str(error)), masked(error.hint), error.exit_code)


def _told(options: NcuOptions | None) -> Settings:
    """What ncu is told when it profiles here."""
    from ncuview.profiling.options import NcuOptions
    from ncuview.reader.settings import Settings

    chosen = options or NcuOptions()
    return Settings(chosen.clock_control.value, chosen.cache_control.value, chosen.replay_mode.value)


def _program_among(targets: Iterable[str | Path]) -> str | Path | None:
    """The first target that can be started and is named as no report is."""
    others = (each for each in targets if Path(each).suffix not in REPORT_ENDINGS)
    return next((each for each in others if Path(each).is_file() and os.access(each, os.X_OK)), None)


def compare(
    before: str | Path,
    after: str | Path,
    rules: Sequence[Rule] | None = None,
    kernel_name: str = "",
    renamed: Mapping[str, str] | None = None,
    *,
    force: bool = False,
) -> Comparison:
    """Diagnose two reports and say what changed from one to the other, and whether the first advice kept its promise.

    Args:
        before: A report, a folder of them or a CSV export.
        after: The same, of the changed program.
        rules: The rules to judge by; the shipped ones by default.
        kernel_name: Only launches of this kernel, or of those that match ``regex:`` and a pattern.
        renamed: Old name -> new name of kernels that are called differently in ``after``.
        force: Compare what was profiled on different GPUs or with different settings.

    Raises:
        NotComparable: GPU, ncu, clock or cache control differ.
        NcuviewError: See errors.py.
    """
    from ncuview.comparison.compare import compare as set_beside
    from ncuview.reader.settings import settings_of

    rules = load_rules() if rules is None else rules
    sides = [diagnose(read(path, kernel_name=kernel_name), rules) for path in (before, after)]
    told = {report.path: settings_of(Path(report.path)) for side in sides for report in side.reports}
    return set_beside(*sides, settings=told, renamed=renamed, force=force)


def check(
    examined: Examined,
    budget: Budget | None = None,
    baseline: tuple[str, Baseline] | None = None,
    *,
    fail_on: Level = "error",
    force: bool = False,
) -> Gate:
    """Hold what was examined against a budget and a baseline.

    Args:
        examined: From ``examine`` and its like.
        budget: What is allowed; see ``gate.budget.read_budget``.
        baseline: The name of a baseline and what it says; see ``gate.baseline.read_baseline``.
        fail_on: Failures of this level or above close the gate.
        force: Compare also with a baseline of another GPU or other settings.

    Raises:
        BudgetError: The budget names a rule that was not judged by.
        NotComparable: GPU, ncu, clock or cache control differ from the baseline's, or no kernel is in both.
        NcuviewError: See errors.py.
    """
    from ncuview.base.paths import users_spreads
    from ncuview.gate.budget import Budget
    from ncuview.gate.judge import judge
    from ncuview.gate.spread import read_spreads

    return judge(
        examined.diagnosis,
        examined.profile,
        budget or Budget(),
        baseline,
        settings=_settings_of(examined) if baseline else {},
        spreads=read_spreads(users_spreads()),
        fail_on=fail_on,
        force=force,
    )


def keep_baseline(examined: Examined, path: Path) -> Baseline:
    """Save what was examined as a baseline.

    Raises:
        BaselineError: The file cannot be written.
        NothingProfiled: There is no launch.
        Incomplete: Launches are missing.
    """
    from ncuview import __version__
    from ncuview.base.paths import users_spreads
    from ncuview.gate.baseline import baseline_of, save_baseline
    from ncuview.gate.spread import read_spreads

    whole(examined.profile)
    settings = _settings_of(examined).values()
    made = baseline_of(examined.diagnosis, settings, read_spreads(users_spreads()), __version__)
    save_baseline(made, path)
    return made


def _settings_of(examined: Examined) -> dict[str, Settings]:
    """What ncu was told, by the path of the report."""
    from ncuview.reader.settings import settings_of

    reports = examined.diagnosis.reports
    return {report.path: examined.told or settings_of(Path(report.path)) for report in reports}


def edited(diagnosis: Diagnosis, folders: Sequence[Path]) -> Diagnosis:
    """The diagnosis with its first advice as changes of the user's source, where that is on this machine."""
    from ncuview.patch.advice import with_edits

    return with_edits(diagnosis, folders)


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
    from ncuview.catalogue.kernels import family as kernels_of
    from ncuview.catalogue.kernels import launches_of

    kernels = kernels_of(family)
    launches = launches_of(kernels)
    diagnosis = _examine_launches(launches, load_rules() if rules is None else rules, live, progress).diagnosis
    judged = list(zip(launches, diagnosis.launches, strict=True))
    rungs = tuple(_rung(kernel, judged) for kernel in kernels)
    return Ladder(family, rungs, diagnosis.reports, diagnosis.remark)


def calibrate(*reports: str | Path, progress: Progressed | None = None) -> Calibration:
    """Measure on this machine's GPU which share of each unit's peak good kernels attain.

    Args:
        reports: Reports of the calibration kernels to take instead, with the host's times of copies beside them.
        progress: Told about every kernel that ncu starts and finishes.

    Raises:
        NothingProfiled: The reports show nothing of what is attainable.
        Incomplete: Launches are missing from a report.
        NcuviewError: See ``analyze``.
    """
    from ncuview.reader.host_times import with_host_times_of
    from ncuview.speedup import calibrate as measure

    if reports:
        return measure.calibrate([with_host_times_of(whole(read(report)), Path(report)) for report in reports])
    from ncuview.catalogue.kernels import find_kernel, launch_of

    launches = [launch_of(find_kernel(name)) for name in measure.KERNELS]
    return measure.calibrate([_profiled(launches, load_rules(), progress)])


def measure_spreads(
    kernels: Sequence[str] = (),
    program: Sequence[str] = (),
    reports: Sequence[str | Path] = (),
    *,
    repeats: int = 6,
    progress: Progressed | None = None,
) -> Spreads:
    """Measure how far times and counters differ from run to run.

    Args:
        kernels: Kernels of the catalogue, profiled here so many times.
        program: A program, profiled here so many times.
        reports: Reports to take instead, in which kernels are launched several times.
        repeats: How often to profile, at least twice.
        progress: Told about every kernel that ncu starts and finishes.

    Raises:
        NothingProfiled: No kernel was launched twice with the same work.
        Incomplete: Launches are missing from a report, or from a run.
        NcuviewError: See errors.py.
    """
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
        found += [_examine_launches(launches, rules, live=True, progress=progress) for _ in range(repeats)]
    launched = tuple(launch for each in found for launch in each.diagnosis.launches)
    return measured_spreads(
        Diagnosis(launched, tuple(report for each in found for report in whole(each.profile).reports))
    )


def _examine_launches(
    launches: Sequence[Launch], rules: Sequence[Rule], live: bool | None, progress: Progressed | None
) -> Examined:
    """Profile catalogue launches here or look them up in the recorded profile; one diagnosis each, in order."""
    from ncuview.engine.rank import diagnose as rank
    from ncuview.profiling.machine import missing_for_live

    missing = missing_for_live() if live is None else None
    if live is False or missing:
        remark = f"{missing}; --live insists" if missing else "as asked for with --recorded"
        made = _recorded(launches)
        diagnosis = rank(made, rules, "recorded")
        told = None
    else:
        remark = ""
        made = _profiled(launches, rules, progress)
        diagnosis = rank(made, rules, "live")
        told = _told(None)
    positions = _recorded_positions(launches) if diagnosis.launches[0].origin == "recorded" else range(len(launches))
    found = {launch.index: launch for launch in diagnosis.launches}
    ordered = (_matching(launch, found.get(at)) for launch, at in zip(launches, positions, strict=True))
    known = tuple(_with_catalogue(each, launch) for each, launch in zip(ordered, launches, strict=True))
    remark = "; ".join(filter(None, [remark, diagnosis.remark]))
    return Examined(replace(diagnosis, launches=known, remark=remark), made, told)


def _profiled(
    launches: Sequence[Launch],
    rules: Sequence[Rule],
    progress: Progressed | None,
    options: NcuOptions | None = None,
) -> Profile:
    from ncuview.engine.plan import metrics_for
    from ncuview.pipeline.profiled import profiled_launches

    return whole(profiled_launches(launches, metrics_for(rules), options, progress))


def _recorded(launches: Sequence[Launch]) -> Profile:
    from ncuview.catalogue.recorded import recorded_report
    from ncuview.pipeline.profiled import read_with_sources
    from ncuview.reader.host_times import with_host_times_of

    report = recorded_report(launches[0].kernel.text.family)
    only = launches[0].kernel.function if len(launches) == 1 else ""
    return with_host_times_of(whole(read_with_sources([report], only)), report)


def _recorded_positions(launches: Sequence[Launch]) -> list[int]:
    """Where in the family's recorded profile each launch is: it holds what ``launches_of`` gives, in that order."""
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
    """Add what only kernel files know: rates of useful work, and textbook steps that are not the first advice."""
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
    ladder_of_family = f"see `ncuview ladder {launch.kernel.text.family}`"
    notes = tuple(
        f"{step.applies} ({following.name}): {step.why_not_first(ladder_of_family)}"
        for following, step in next_in_textbook(launch.kernel)
        if step.not_first
    )
    return replace(found, metrics={**found.metrics, **rates}, textbook=notes)


Judged = tuple["Launch", LaunchDiagnosis]


def _rung(kernel: Kernel, judged: Sequence[Judged]) -> Rung:
    """A kernel at its own sizes, compared with its better rung at the same sizes where that was launched."""
    from ncuview.catalogue.kernels import next_in_textbook

    own = _at(judged, kernel.name, kernel.text.sizes)
    better = _at(judged, kernel.text.better, kernel.text.sizes) if kernel.text.better else None
    reported = kernel.text.reported
    flops = bool(own[0].useful_flops)
    return Rung(
        kernel=kernel.name,
        rung=kernel.text.rung,
        diagnosis=own[1],
        useful_rate=_rate(own) / 1e9,
        rate_unit="GFLOP/s" if flops else "GB/s",
        reported=f"{reported.rate:g} {reported.unit}, {reported.gpu}" if reported else "",
        better=better[0].kernel.name if better else "",
        better_sizes=better[0].sizes if better else {},
        measured_speedup=_rate(better) / _rate(own) if better else None,
        steps=tuple(_step(*following, own, judged) for following in next_in_textbook(kernel)),
    )


def _at(judged: Sequence[Judged], name: str, sizes: Mapping[str, int]) -> Judged:
    """A kernel's launch at these sizes; where there is none, at its own."""
    of_kernel = [pair for pair in judged if pair[0].kernel.name == name]
    return next((pair for pair in of_kernel if pair[0].sizes == sizes), of_kernel[0])


def _step(kernel: Kernel, step: Step, own: Judged, judged: Sequence[Judged]) -> TextbookStep:
    from ncuview.render.words import factor

    measured = _rate(_at(judged, kernel.name, own[0].sizes)) / _rate(own)
    return TextbookStep(kernel.name, step.applies, measured, step.why_not_first(factor(measured)))


def _rate(judged: Judged) -> float:
    """Useful work per second: floating-point operations where the kernel counts them, else bytes."""
    launch, found = judged
    return (launch.useful_flops or launch.useful_bytes) / (found.whole_ns * 1e-9)
