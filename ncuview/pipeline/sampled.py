"""Profile a program in two runs, a one-pass sample and a full run of selected launches -> ``Examined``.

``examine_sample`` runs both; ``forecast_of`` computes passes and seconds of a run without starting it -> ``Forecast``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import NothingProfiled
from ncuview.base.figures import duration
from ncuview.engine.first_look import joined, second_look
from ncuview.engine.plan import metrics_for
from ncuview.engine.rank import diagnose as rank
from ncuview.engine.rule_file import load_rules
from ncuview.pipeline.examine import Examined, ProgressCallback, require_complete, settings_for, with_source_edits
from ncuview.pipeline.profiled import profile_program
from ncuview.profiling.callable import program_of
from ncuview.profiling.export import named_report
from ncuview.profiling.job import uses_hook
from ncuview.profiling.machine import find_ncu
from ncuview.profiling.ncu import ncu_command
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.passes import Forecast, forecast, sampling_metrics
from ncuview.profiling.sampling import (
    Sample,
    configurations_of,
    first_run,
    launches_of_second_run,
    representatives,
    samples,
    second_run,
)

if TYPE_CHECKING:
    from ncuview.base.patterns import Pattern
    from ncuview.engine.rule_file import Rule
    from ncuview.records.profile import Configuration, Profile


def examine_sample(
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
    """Profile a program in two runs and diagnose one launch of each kernel and configuration.

    The first run collects one pass of counters, for the first launches of each kernel and for fewer and fewer of the
    later ones. The second run collects the metrics that rules still need, for the configurations whose time is worth
    it. The diagnosis gives the number of launches of each configuration: exactly below ten launches of a kernel, and
    within a factor of 1.5 above.

    Args:
        program: The program and its arguments; a first word that ends in .py is run by this Python.
        rules: The rules to evaluate; None for the shipped ones.
        options: Which launches are profiled, and how; the sampling sets ``kernel_id``.
        timeout_s: The time limit of each run under ncu, in seconds.
        no_progress_s: The time limit without progress, in seconds; None for the default.
        mine: Kernels whose name or source file matches one of these patterns are the user's.
        progress: Called for every kernel that ncu starts and finishes.
        say: Called with a line about each run that has ended.

    Raises:
        NothingProfiled: The second run of the program made other launches.
        NcuviewError: See errors.py.
    """
    first_options = _sampling(options or NcuOptions())

    def profiled(metrics: Sequence[str], chosen: NcuOptions) -> Profile:
        found, made = profile_program(
            program, metrics, chosen, timeout_s=timeout_s, no_progress_s=no_progress_s, progress=progress
        )
        made.complete_reports()
        took = duration(1e9 * made.run.seconds, digits=2)
        say(f"{len(found.launches):,} launches with {len(metrics)} metrics: {took}")
        return require_complete(found)

    first = profiled(sampling_metrics(), first_options)
    rules = load_rules() if rules is None else rules
    seen = samples(configurations_of(first))
    look = second_look(first, rules, [sample.stands_for for sample in seen], mine=mine)
    sampled = rank(first, rules, "live", from_counters=False, mine=mine)  # the second look has the code
    durations = first.launches["duration_ns"].tolist()
    second, again = None, {}
    if look.launches:
        chosen = [seen[at] for at in representatives(seen, durations, look.launches)]
        close = profiled(metrics_for(look.rules), replace(first_options, kernel_id=second_run(chosen)))
        expected = launches_of_second_run(chosen, seen)
        if configurations_of(close) != [seen[at].configuration for at in expected]:
            raise NothingProfiled(
                "the program launched something else in its second run", hint="Leave out --look quick."
            )
        second = rank(close, look.rules, "live", look.rules, mine=mine)
        again = {launch: at for at, launch in enumerate(expected)}
    both = joined(sampled, second, look, again)
    shown = representatives(seen, durations, range(len(seen)))
    one_per_sample = replace(both, launches=tuple(both.launches[at] for at in shown), launched=_launched(seen))
    edited = with_source_edits(one_per_sample.without_program(), first_options.source_folders)
    return Examined(edited, first, settings_for(first_options))


def forecast_of(
    program: Sequence[str],
    rules: Sequence[Rule] | None,
    options: NcuOptions | None = None,
    *,
    quick: bool = False,
    export: Path | None = None,
) -> Forecast:
    """The command, passes and cost of a run of ncu for this program; the program is not run.

    ``export`` is the report's name; None for one of no meaning.

    Raises:
        UsageError: There is no such program on this machine.
    """
    words, options = program_of(program, options or NcuOptions(), Path())
    options = _sampling(options) if quick else options
    options = replace(options, nvtx=True) if uses_hook(options, words) else options
    metrics = sampling_metrics() if quick else metrics_for(load_rules() if rules is None else rules)
    command = ncu_command(find_ncu() or Path("ncu"), metrics, named_report(export or Path("profile")), words, options)
    return forecast(command, metrics)


def _sampling(options: NcuOptions) -> NcuOptions:
    return replace(options, kernel_id=first_run(options.kernel_name), kernel_name="")


def _launched(seen: Iterable[Sample]) -> dict[Configuration, int]:
    """The number of launches of each configuration, from the number that each sample represents."""
    counted: defaultdict[Configuration, float] = defaultdict(float)
    for sample in seen:
        where = sample.configuration
        counted[where.kernel, where.grid, where.block] += sample.stands_for
    return {configuration: round(count) for configuration, count in counted.items()}
