"""Profile a Python program in several cheap runs instead of an expensive one -> ``Examined``, with the program's calls.

1. Without ncu, for the time between kernels; ``--no-bare-run`` leaves it out.
2. Under ncu with the time of each launch and its calls.
3. One pass of counters, for one launch of each configuration, which stand for its other launches. A program of few
   launches has these counters from its second run, where another start of the program would take longer. Otherwise the
   third run starts with the second one, and the hook holds it before its first kernel until the second has ended.
4. All metrics, for configurations of the user's own kernels whose time is worth it; most programs have none.

ncu takes 0.02 s for a launch of which only the time is asked, three times as long with counters, and twenty times with
all metrics, so that a program of a thousand launches takes minutes in one run.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ncuview.base.errors import GpuNotFound, NcuNotFound, NcuviewError
from ncuview.base.figures import duration
from ncuview.base.log import LOG
from ncuview.engine.first_look import SecondLook, joined, second_look
from ncuview.engine.plan import metrics_for
from ncuview.engine.rank import diagnose as rank
from ncuview.engine.rule_file import load_rules
from ncuview.pipeline.examine import Examined, ProgressCallback, hook_remark, settings_for, with_source_edits
from ncuview.pipeline.held_run import HeldRun, Left
from ncuview.pipeline.profiled import profile_program
from ncuview.pipeline.without_gpu import with_ways_on
from ncuview.profiling.bare_run import run_bare
from ncuview.profiling.callable import program_of
from ncuview.profiling.job import Profiled, uses_hook
from ncuview.profiling.machine import find_ncu, missing_for_ncu
from ncuview.profiling.ncu import ncu_command
from ncuview.profiling.options import CallStacks, FilterMode, KernelNameBase, NcuOptions
from ncuview.profiling.passes import COUNTERS_S, LAUNCH_S, TIME_ALONE, Forecast, forecast, program_metrics
from ncuview.profiling.privileges import invoking_user
from ncuview.profiling.runner import NO_PROGRESS_S
from ncuview.profiling.sampling import (
    ExecutionConfiguration,
    Sample,
    configurations_of,
    launches_of_second_run,
    representatives,
    second_run,
)
from ncuview.programs.advise import is_of
from ncuview.programs.forward import has_operators
from ncuview.programs.owners import Owner, files_of, owners_of

if TYPE_CHECKING:
    from ncuview.base.patterns import Pattern
    from ncuview.engine.rule_file import Rule
    from ncuview.profiling.ncu_output import Progress
    from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
    from ncuview.records.profile import Profile
    from ncuview.records.program import BareRun, KernelTrace

LEAST_SAVING = 0.02
"""Own kernels that together could save less than this share of the program's time are not profiled again: another
start of the program costs more than such a saving is worth."""
FEW = 100
"""Launches whose machine code is read one by one at most; assumed: one launch of each configuration is read faster."""
ONE_OF_EACH: Mapping[str, Any] = {
    "kernel_name": "regex:.",
    "kernel_name_base": KernelNameBase.DEMANGLED,
    "filter_mode": FilterMode.PER_LAUNCH_CONFIG,
    "launch_count": 1,
    "call_stack": CallStacks.NONE,
}
"""The options of ncu for the first launch of each configuration: without the names, those of a template are one."""


_WITH_COUNTERS = "counters of {} configurations"
_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
"""What torchrun, MPI and SLURM name the number of processes."""


class Seen(NamedTuple):
    """All launches of a program, with their counters and owners."""

    profile: Profile
    owners: Sequence[Owner]
    """Whose code each is."""


@dataclass(frozen=True)
class _Program:
    """A program that is run several times."""

    words: Sequence[str]
    options: NcuOptions
    variables: Mapping[str, str]
    timeout_s: float
    no_progress_s: float | None
    progress: ProgressCallback | None
    say: Callable[[str], object]

    def without_ncu(self) -> BareRun | None:
        """Its time, and that between its kernels; None where that is unknown."""
        limit_s = min(self.timeout_s, self.no_progress_s or NO_PROGRESS_S)
        bare = run_bare(self.words, self.options, self.variables, Path.cwd(), limit_s)
        if bare:
            launches = f", {bare.trace.launches:,} launches" if bare.trace else ""
            self.say(f"without ncu{launches}: {_seconds(bare.wall_s)}")
        return bare

    def profiled(
        self,
        what: str,
        metrics: Sequence[str],
        *,
        instructions: bool = True,
        ended: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> tuple[Profile, Profiled]:
        """Its launches with these metrics, and how the run ended.

        Args:
            what: What the run is for, with ``{}`` for the number of launches.
            metrics: What to collect.
            instructions: Whether machine code is read.
            ended: Called once the program has ended without error.
            options: What differs from the options of the program.
        """
        started = time.monotonic()
        found, made = profile_program(
            self.words,
            metrics,
            replace(self.options, **options),
            timeout_s=self.timeout_s,
            no_progress_s=self.no_progress_s,
            progress=self.progress,
            variables=self.variables,
            instructions=instructions,
            ended=ended,
        )
        self.say(f"{what.format(f'{len(found.launches):,}')}: {_seconds(time.monotonic() - started)}")
        return found, made


def compile_variables(folder: Path) -> Mapping[str, str]:
    """The environment with which JAX compiles in its first run only, and the other runs use what it wrote to a folder.

    XLA times its candidates on the GPU. Under ncu that takes minutes, chooses others, and crashed ncu 2025.3.1. A
    folder that the user has set stays.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _seconds(seconds: float) -> str:
    return duration(1e9 * seconds, digits=2)


def examine_in_runs(
    program: Sequence[str],
    rules: Sequence[Rule] | None = None,
    options: NcuOptions | None = None,
    *,
    timeout_s: float = math.inf,
    no_progress_s: float | None = None,
    mine: Sequence[Pattern] = (),
    progress: ProgressCallback | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Examined:
    """Profile a Python program in up to four runs, and diagnose the program and each of its launches.

    Where the second run fails after some launches, these are diagnosed. Where a later one fails, or launches something
    else, the remark of the diagnosis says so, and what that run would have shown is missing.

    Args:
        program: The program and its arguments; a first word that ends in .py is run by this Python.
        rules: The rules of kernels to evaluate; None for the shipped ones.
        options: How the launches are profiled; none may be left out.
        timeout_s: The time limit of each run, in seconds.
        no_progress_s: The time limit without progress, in seconds; None for the default.
        mine: Kernels whose name or source file matches one of these patterns are the user's.
        progress: Called for every kernel that ncu starts and finishes.
        say: Called with a line about each run that has ended.

    Raises:
        NcuviewError: The program cannot be profiled at all.
    """
    words, asked = _of_runs(program, options or NcuOptions())
    if absent := missing_for_ncu():  # before the program runs without ncu
        raise with_ways_on(absent, program) if isinstance(absent, GpuNotFound | NcuNotFound) else absent
    with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        if user := invoking_user():
            user.hand_over([Path(folder)])
        runs = _Program(words, asked, compile_variables(Path(folder)), timeout_s, no_progress_s, progress, say)
        return _examined(runs, load_rules() if rules is None else rules, mine, Path(folder))


def forecasts_of_runs(program: Sequence[str], options: NcuOptions | None = None) -> tuple[Forecast, Forecast]:
    """The commands and costs of the second and the third run; the program is not run.

    Raises:
        UsageError: There is no such program on this machine.
    """
    words, asked = _of_runs(program, options or NcuOptions())
    ncu, report = find_ncu() or Path("ncu"), Path("profile")
    times = replace(asked, import_source=False, nvtx=asked.nvtx or uses_hook(asked, words))
    planned = ((TIME_ALONE, times), (program_metrics(), replace(asked, **ONE_OF_EACH)))
    commands = [(ncu_command(ncu, metrics, report, words, chosen), metrics) for metrics, chosen in planned]
    first, second = (forecast(command, metrics) for command, metrics in commands)
    return first, second


def _of_runs(program: Sequence[str], options: NcuOptions) -> tuple[Sequence[str], NcuOptions]:
    """The command, and ncu's options for its second run: PyTorch's ranges name what native calls would."""
    words, asked = program_of(program, options, Path())
    python_only = asked.call_stack is CallStacks.ALL and uses_hook(asked, words)
    return words, replace(asked, call_stack=CallStacks.PYTHON) if python_only else asked


def _examined(runs: _Program, rules: Sequence[Rule], mine: Sequence[Pattern], folder: Path) -> Examined:
    bare = runs.without_ncu()
    trace = bare.trace if bare else None
    few, held = False, None
    if bare and trace:
        few = trace.launches <= FEW and trace.launches * COUNTERS_S <= bare.wall_s
        under_ncu_s = trace.launches * (LAUNCH_S + (COUNTERS_S if few else 0.0))
        runs.say(f"next: {trace.launches:,} launches under ncu, about {_seconds(bare.wall_s + under_ncu_s)}")
    if few:
        first, made = runs.profiled("time, calls and counters of {} launches", program_metrics())
    else:
        # PyTorch takes seconds to import, and the hook knows a place in it before which nothing is launched.
        waits = trace and trace.pytorch and not runs.options.no_hook and not _is_a_rank()
        first, made, held = _times(runs, _held_counters(runs, folder) if waits else None)
    seen = Seen(first, owners_of(first, mine))
    remarks = [note.what for note in made.notes] + hook_remark(made, first) + _missing_ranges(made, seen)
    remarks += _missing_gaps(trace, len(first.launches), runs.options) + _unexplained_waits(trace)
    if not few and not first.failure:
        try:
            counted = _counters(runs, held)
            seen = with_counters_of(first, counted, mine)
            remarks.append(f"counters are of one launch of each of {len(counted.launches):,} configurations")
        except NcuviewError as failed:
            remarks.append(f"counters are missing: {_first_line(failed)}")
    diagnosis = rank(seen.profile, rules, "live", from_counters=False, mine=mine, owners=seen.owners, trace=trace)
    if not first.failure:
        diagnosis, left_out = _with_own_kernels(diagnosis, seen, rules, mine, runs)
        remarks.append(left_out)
    remark = "; ".join(filter(None, [diagnosis.remark, *remarks]))
    edited = with_source_edits(replace(diagnosis, remark=remark), runs.options.source_folders)
    return Examined(edited, seen.profile, settings_for(made.options))


def _times(runs: _Program, held: HeldRun | None) -> tuple[Profile, Profiled, HeldRun | None]:
    """The times and calls of all launches, and the run that waits for that.

    Two runs may want the same port or file: where that of times fails, the other is stopped, and it is made again.
    """
    timed = partial(runs.profiled, "time and calls of {} launches", TIME_ALONE, instructions=False, import_source=False)
    if held is None:
        return *timed(), None
    try:
        first, made = timed(ended=held.begin)
        if not first.failure:
            return first, made, held
    except NcuviewError as failed:
        LOG.info("the run of times is made again, alone: %s", failed)
    except BaseException:
        held.leave()
        raise
    held.gone()
    return *timed(), None


def _held_counters(runs: _Program, folder: Path) -> HeldRun:
    def start(variables: Mapping[str, str], progress: Callable[[Progress], None]) -> Profile:
        def also_shown(done: Progress) -> None:
            progress(done)
            if runs.progress:
                runs.progress(done)

        # The wait, at most as long as the other run may take, counts to the limits of this one.
        return _one_of_each(
            replace(
                runs,
                variables={**runs.variables, **variables},
                timeout_s=2 * runs.timeout_s,
                no_progress_s=None,
                progress=also_shown,
                say=lambda _: None,
            )
        )

    return HeldRun(folder, start)


def _counters(runs: _Program, held: HeldRun | None) -> Profile:
    """One launch of each configuration with its counters, from the held run unless that failed.

    Raises:
        NcuviewError: The run failed.
    """
    if held:
        try:
            found = held.result()
        except (Left, NcuviewError) as failed:
            LOG.info("the run of counters is made again, alone: %s", failed)
        else:
            runs.say(f"{_WITH_COUNTERS.format(f'{len(found.launches):,}')}: {_seconds(held.seconds)}")
            return found
    return _one_of_each(runs)


def _is_a_rank() -> bool:
    """Whether a launcher of several processes started this one: two runs of a rank would join the same group."""
    return any(os.environ.get(name, "1") not in {"", "0", "1"} for name in _SIZES)


def _missing_gaps(trace: KernelTrace | None, launches: int, options: NcuOptions) -> list[str]:
    """Why the time between kernels is missing; empty where it is known, or was not asked for."""
    if options.no_bare_run or (trace and is_of(trace, launches)):
        return []
    why = f"without ncu {trace.launches:,} kernels ran" if trace else "the run without ncu was not traced"
    return [f"the time between kernels is missing: {why}"]


def _unexplained_waits(trace: KernelTrace | None) -> list[str]:
    """That the GPU waits as long as it works, and not for copies; empty where it does not, or nothing was traced."""
    waits_ns = trace.waits_ns - trace.copied_ns if trace else 0
    if not trace or not waits_ns or waits_ns < trace.busy_ns:
        return []
    return [f"no rule is about {duration(waits_ns)} in which the GPU waits for the host, but not for copies"]


def _missing_ranges(made: Profiled, seen: Seen) -> list[str]:
    """That PyTorch wrote no ranges, without which nothing names its operators; empty where it did or is not there."""
    of_pytorch = any(owner.name == "PyTorch" for owner in seen.owners)
    if not made.hooked or not of_pytorch or has_operators(seen.profile):
        return []
    return ["PyTorch's ranges are missing, so that operators and backward passes have no names: --no-hook names them"]


def _one_of_each(runs: _Program) -> Profile:
    """One launch of each configuration, with one pass of counters."""
    return runs.profiled(_WITH_COUNTERS, program_metrics(), **ONE_OF_EACH)[0]


def with_counters_of(times: Profile, counted: Profile, mine: Sequence[Pattern] = ()) -> Seen:
    """The launches of one profile with the counters and source files of launches of the same configuration in another.

    A launch whose configuration is missing there has no counters. What both measured, such as the time, stays.
    """
    places: dict[tuple[str, ExecutionConfiguration], int] = {}
    for place, key in enumerate(_configurations(counted)):
        places.setdefault(key, place)
    found = [places.get(key, -1) for key in _configurations(times)]
    added = counted.metrics.drop(columns=[name for name in counted.metrics if name in times.metrics])
    added = added.reindex(found).set_axis(times.metrics.index)
    files = files_of(counted)
    profile = replace(
        times,
        metrics=pd.concat([times.metrics, added], axis=1),
        units={**counted.units, **times.units},
        instructions=times.instructions.iloc[:0],
    )
    of_launches = {launch: files.get(place, frozenset()) for launch, place in enumerate(found)}
    return Seen(profile, owners_of(times, mine, of_launches))


def _configurations(profile: Profile) -> list[tuple[str, ExecutionConfiguration]]:
    return list(zip(profile.launches["demangled"].tolist(), configurations_of(profile), strict=True))


def _with_own_kernels(
    diagnosis: Diagnosis, seen: Seen, rules: Sequence[Rule], mine: Sequence[Pattern], runs: _Program
) -> tuple[Diagnosis, str]:
    """The diagnosis with all rules judged on the user's own kernels whose time is worth another run; and a remark."""
    look = second_look(seen.profile, rules, least_saving=LEAST_SAVING, mine=mine, owners=seen.owners)
    if not look.launches:
        settled = joined(diagnosis, None, look, {})
        return settled, _left_out(settled)
    samples = _samples(configurations_of(seen.profile))
    try:
        judged, again = _all_rules(look, seen, samples, mine, runs)
    except NcuviewError as failed:
        remark = f"your own kernels are judged from one pass of counters: {_first_line(failed)}"
        return joined(diagnosis, None, look, {}), remark
    both = joined(diagnosis, judged, look, again)
    placed = zip(both.launches, diagnosis.launches, strict=True)
    both = replace(both, launches=tuple(_at_its_place(launch, first) for launch, first in placed))
    return both, _left_out(both)


def _left_out(diagnosis: Diagnosis) -> str:
    """Which launches of own kernels were not judged for their little time; empty where all were."""
    left = sum(launch.verdict == "not-judged" and not launch.not_judged for launch in diagnosis.launches)
    own = "launch of your own kernels takes" if left == 1 else "launches of your own kernels take"
    return f"{left:,} {own} too little time for a run with all metrics: --look full judges them" if left else ""


def _all_rules(
    look: SecondLook, seen: Seen, samples: Sequence[Sample], mine: Sequence[Pattern], runs: _Program
) -> tuple[Diagnosis, Mapping[int, int]]:
    """The diagnosis of one launch of each chosen configuration, and where in it each launch of these is.

    Raises:
        NcuviewError: The run failed, or launched something else.
    """
    durations = seen.profile.launches["duration_ns"].tolist()
    chosen = representatives(samples, durations, look.launches)
    expected = launches_of_second_run([samples[at] for at in chosen], samples)
    kernel_id = second_run([samples[at] for at in chosen])
    close, _ = runs.profiled(
        "all metrics of {} launches", metrics_for(look.rules), kernel_id=kernel_id, call_stack=CallStacks.NONE
    )
    if configurations_of(close) != [samples[at].configuration for at in expected]:
        raise NcuviewError("the program launched something else in another run")
    at = {samples[place].configuration: number for number, place in enumerate(expected) if place in chosen}
    again = {place: at[each.configuration] for place, each in enumerate(samples) if each.configuration in at}
    return rank(close, look.rules, "live", look.rules, mine=mine), again


def _first_line(error: NcuviewError) -> str:
    return str(error).partition("\n")[0].rstrip(":")


def _samples(launches: Sequence[ExecutionConfiguration]) -> list[Sample]:
    """Each launch with its number among those of its kernel, from 1."""
    counted: Counter[str] = Counter()
    found = []
    for configuration in launches:
        counted[configuration.kernel] += 1
        found.append(Sample(configuration, counted[configuration.kernel], 1.0))
    return found


def _at_its_place(launch: LaunchDiagnosis, first: LaunchDiagnosis) -> LaunchDiagnosis:
    """A launch that was judged by another one of its configuration, with its own place, time and call."""
    return replace(
        launch,
        report=first.report,
        index=first.index,
        duration_ns=first.duration_ns,
        call=first.call,
        time_share=first.time_share,
        changed_by=first.changed_by,
    )
