"""Public functions: reports, programs or catalogue kernels in; profile, diagnosis, comparison, gate or ladder out.

``read``, ``run``, ``diagnose``, ``analyze``, ``compare``, ``check``, ``ladder``; ``load_rules`` returns rules, ``view``
a part of a diagnosis that is never larger than a limit.

``profile`` is the old name of ``run``. Each function calls ``pipeline`` or ``engine``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison
    from ncuview.engine.rule_file import Rule
    from ncuview.pipeline.examine import ProgressCallback
    from ncuview.profiling.callable import Target
    from ncuview.profiling.options import NcuOptions
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.documents.view import ViewName
    from ncuview.records.gate import Gate, Level
    from ncuview.records.ladder import Ladder
    from ncuview.records.profile import Profile


def load_rules(folders: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """Load the shipped rules and those in further folders.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    from ncuview.engine import rule_file

    return rule_file.load_rules(folders)


def read(
    *reports: str | Path, kernel_name: str = "", source_folders: Sequence[Path] = (), instructions: bool = True
) -> Profile:
    """Read the launches of one or more reports into DataFrames.

    Args:
        reports: Report files, folders of them, or Nsight's raw CSV exports.
        kernel_name: Only launches of this kernel, or of those that match ``regex:`` and a pattern; empty for all.
        source_folders: Where to look for sources that the reports do not hold.
        instructions: Whether to read machine code, its counters and sources too. Without them many launches are read
            in less than half of the time, and rules that need code are skipped, as for a CSV export.

    Raises:
        UsageError: A name is empty, or the pattern is not valid.
        ReportError: A report is unreadable, damaged or empty.
    """
    from ncuview.pipeline.profiled import read_with_sources

    return read_with_sources(reports, kernel_name, source_folders, instructions=instructions)


def run(
    target: Target,
    rules: Sequence[Rule] | None = None,
    options: NcuOptions | None = None,
    *,
    export: str | Path | None = None,
    timeout_s: float = math.inf,
    progress: ProgressCallback | None = None,
) -> Profile:
    """Run a command or a Python function under ncu and return its launches, as ``read`` does.

    Call stacks are recorded: ``calls_frame(diagnose(run(step)))`` has a row for each line that led to launches.

    Where the program failed, or its time limit was reached, after some launches, these are returned, and ``failure`` of
    the profile names what is missing.

    A function is called once, in a new Python process, and only the launches of that call are profiled. It takes no
    arguments (bind them with ``functools.partial``), and its result and side effects are lost. A function that can be
    imported is sent by its name; a lambda, or a function of a script or notebook cell, needs cloudpickle, the extra
    ``ncuview[notebook]``. Objects on the GPU cannot be sent: create them inside the function.
    See docs/how-to/library.md.

    Args:
        target: A command as one string, as in a shell, or as a list of words; a first word that ends in .py is run by
            this Python. Or the function.
        rules: The rules whose metrics are collected; None for the shipped ones.
        options: Which launches are profiled, and how, under ncu's option names.
        export: Where to keep the report; None keeps no file. See ``profiling.program.run_program``.
        timeout_s: The time limit of the program under ncu, in seconds.
        progress: Called for every kernel that ncu starts and finishes.

    Raises:
        UsageError: There is no such program, or the function cannot be sent.
        ToolError: GPU or ncu is missing, or ncu was refused.
        ProgramFailed: The program or the function failed before a launch was profiled.
        NothingProfiled: No launch was profiled.
    """
    from ncuview.base.report_files import named_path
    from ncuview.pipeline.profiled import planned_metrics, profile_program

    path = None if export is None else named_path(export)
    metrics = planned_metrics(rules)
    found, _ = profile_program(target, metrics, options, export=path, timeout_s=timeout_s, progress=progress)
    return found


profile = run
"""The name of ``run`` in 0.1."""


def diagnose(profile: Profile, rules: Sequence[Rule] | None = None, *, mine: Iterable[str] | None = None) -> Diagnosis:
    """Evaluate the rules on every launch of a profile and rank the findings.

    Args:
        profile: The launches.
        rules: The rules to evaluate; None for the shipped ones.
        mine: Kernels and callers are yours where their name or source file matches one of these patterns, as with
            ``--mine``; None for those alone that ncuview takes for yours.

    Raises:
        UsageError: A pattern is empty or no regular expression of RE2.
    """
    from ncuview.base.patterns import patterns_of
    from ncuview.engine.rank import diagnose as rank

    return rank(profile, load_rules() if rules is None else rules, mine=patterns_of(mine, "mine="))


def analyze(
    *targets: str | Path,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    kernel_name: str = "",
    source_folders: Sequence[Path] = (),
    mine: Iterable[str] | None = None,
    progress: ProgressCallback | None = None,
) -> Diagnosis:
    """Diagnose reports, or one kernel or family of the catalogue.

    Args:
        targets: Report files, folders of them or CSV exports, or the name of one catalogue kernel or family.
        rules: The rules to evaluate; None for the shipped ones.
        live: For a catalogue kernel: True profiles it here, False uses the recorded profile, None profiles it here when
            GPU, ncu, nvcc and PyCUDA are all there.
        kernel_name: For reports: only launches of this kernel, or of those that match ``regex:`` and a pattern.
        source_folders: For reports: where to look for sources that they do not hold.
        mine: For reports: as for ``diagnose``.
        progress: Called for every kernel that ncu starts and finishes.

    Raises:
        NcuviewError: See errors.py.
    """
    from ncuview.base.patterns import patterns_of
    from ncuview.pipeline.examine import examine

    return examine(
        *targets,
        rules=rules,
        live=live,
        kernel_name=kernel_name,
        source_folders=source_folders,
        mine=patterns_of(mine, "mine="),
        progress=progress,
    ).diagnosis


def view(
    diagnosis: Diagnosis, name: ViewName | None = None, *, key: str = "", cursor: str = "", max_bytes: int = 6_000
) -> dict[str, Any]:
    """A part of a diagnosis for a program or agent: a JSON document of at most ``max_bytes``, whatever the report.

    Args:
        diagnosis: The diagnosis.
        name: ``skeleton``, a line for each group of equal launches; ``launch``, one launch; ``finding``, one finding in
            full. None for that of the cursor or key, or the skeleton.
        key: Of ``launch`` and ``finding``: which one, as other views name it; empty for the one that saves most.
        cursor: Of a list in an earlier answer: what comes after it. It names its view and key too.
        max_bytes: The most bytes of the document as JSON in UTF-8: 5,000 to 32,768.

    Raises:
        UsageError: There is no such view, key or cursor, the cursor is of another document, or ``max_bytes`` is out of
            its range.
    """
    from ncuview.render import views

    return views.view(diagnosis, name, key=key, cursor=cursor, max_bytes=max_bytes)


def compare(
    before: str | Path,
    after: str | Path,
    rules: Sequence[Rule] | None = None,
    kernel_name: str = "",
    renamed: Mapping[str, str] | None = None,
    *,
    kernel_after: str = "",
    force: bool = False,
) -> Comparison:
    """Diagnose two reports and compare them: changed times and counters, and whether the first prediction held.

    Args:
        before: A report, a folder of them or a CSV export.
        after: The same, of the changed program.
        rules: The rules to evaluate; None for the shipped ones.
        kernel_name: Only launches of this kernel, or of those that match ``regex:`` and a pattern.
        renamed: Old name -> new name of kernels that have another name in ``after``.
        kernel_after: The kernel of ``after`` that ``kernel_name`` is compared with; both reports may be the same.
        force: Compare what was profiled on different GPUs or with different settings.

    Raises:
        NotComparable: GPU, ncu, clock or cache control differ.
        NcuviewError: See errors.py.
    """
    from ncuview.pipeline import comparisons

    return comparisons.compare(before, after, rules, kernel_name, renamed, kernel_after=kernel_after, force=force)


def check(
    *targets: str | Path,
    budget: str | Path | None = None,
    baseline: str | Path | None = None,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    kernel_name: str = "",
    mine: Iterable[str] | None = None,
    fail_on: Level = "error",
    force: bool = False,
) -> Gate:
    """Diagnose the same targets as ``analyze``, and check them against a budget, a baseline or both.

    Args:
        targets: As for ``analyze``.
        budget: The path of the file with the limits.
        baseline: The path of the file with an earlier measurement.
        rules: As for ``analyze``.
        live: As for ``analyze``.
        kernel_name: As for ``analyze``.
        mine: As for ``analyze``.
        fail_on: Failures of this level or above close the gate.
        force: Compare also with a baseline of another GPU or other settings.

    Raises:
        UsageError: There is neither budget nor baseline.
        BudgetError: The budget cannot be used.
        NotComparable: The baseline is missing, or of another GPU or other settings.
        NcuviewError: See ``analyze``.
    """
    from ncuview.base.errors import UsageError
    from ncuview.base.patterns import patterns_of
    from ncuview.base.report_files import named_path
    from ncuview.gate.baseline import read_baseline
    from ncuview.gate.budget import read_budget
    from ncuview.gate.chosen import Chosen
    from ncuview.pipeline import gates
    from ncuview.pipeline.examine import examine

    if budget is None and baseline is None:
        raise UsageError("there is nothing to check against", hint="Give budget= or baseline=.")
    allowed = None if budget is None else read_budget(named_path(budget))
    before = None if baseline is None else (str(baseline), read_baseline(named_path(baseline)))
    chosen = patterns_of(mine, "mine=")
    examined = examine(*targets, rules=rules, live=live, kernel_name=kernel_name, mine=chosen)
    return gates.check(examined, allowed, before, fail_on=fail_on, force=force, chosen=Chosen(kernel_name))


def ladder(
    family: str,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    progress: ProgressCallback | None = None,
) -> Ladder:
    """Diagnose a complete family and compare each prediction with the measured speedup of the better kernel.

    Raises:
        UnknownFamily: There is no such family.
        NcuviewError: See ``analyze``.
    """
    from ncuview.pipeline import ladders

    return ladders.ladder(family, rules, live, progress)
