"""Python functions of ncuview: read, run and diagnose; analyze, compare, check and ladder, which are made of these.

From reports, programs or catalogue kernels to a ``Profile``, ``Diagnosis``, ``Comparison``, ``Gate`` or ``Ladder``.
Each hands over to ``pipeline`` or ``engine``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison
    from ncuview.engine.rule_file import Rule
    from ncuview.pipeline.examine import Progressed
    from ncuview.profiling.callable import Target
    from ncuview.profiling.options import NcuOptions
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.gate import Gate, Level
    from ncuview.records.ladder import Ladder
    from ncuview.records.profile import Profile


def load_rules(folders: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """The shipped rules and those below further folders.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    from ncuview.engine import rule_file

    return rule_file.load_rules(folders)


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


def run(
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
    ``ncuview[notebook]``. What lives on the GPU cannot travel: make it inside the function. See docs/how-to/library.md.

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
    from ncuview.base.report_files import named_path
    from ncuview.pipeline.profiled import planned, profiled_program

    kept = None if export is None else named_path(export)
    found, _ = profiled_program(target, planned(rules), options, export=kept, timeout_s=timeout_s, progress=progress)
    return found


profile = run
"""The name of ``run`` in 0.1."""


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
    from ncuview.pipeline.examine import examine

    return examine(
        *targets, rules=rules, live=live, kernel_name=kernel_name, source_folders=source_folders, progress=progress
    ).diagnosis


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
    from ncuview.pipeline import comparisons

    return comparisons.compare(before, after, rules, kernel_name, renamed, force=force)


def check(
    *targets: str | Path,
    budget: str | Path | None = None,
    baseline: str | Path | None = None,
    rules: Sequence[Rule] | None = None,
    live: bool | None = None,
    kernel_name: str = "",
    fail_on: Level = "error",
    force: bool = False,
) -> Gate:
    """Diagnose what ``analyze`` takes, and hold it against a budget, a baseline or both.

    Args:
        targets: As for ``analyze``.
        budget: The file that says what kernels are allowed.
        baseline: The file of what they took before.
        rules: As for ``analyze``.
        live: As for ``analyze``.
        kernel_name: As for ``analyze``.
        fail_on: Failures of this level or above close the gate.
        force: Compare also with a baseline of another GPU or other settings.

    Raises:
        UsageError: There is neither budget nor baseline.
        BudgetError: The budget cannot be used.
        NotComparable: The baseline is missing, or of another GPU or other settings.
        NcuviewError: See ``analyze``.
    """
    from ncuview.base.errors import UsageError
    from ncuview.base.report_files import named_path
    from ncuview.gate.baseline import read_baseline
    from ncuview.gate.budget import read_budget
    from ncuview.pipeline import gates
    from ncuview.pipeline.examine import examine

    if budget is None and baseline is None:
        raise UsageError("there is nothing to check by", hint="Give budget= or baseline=.")
    allowed = None if budget is None else read_budget(named_path(budget))
    before = None if baseline is None else (str(baseline), read_baseline(named_path(baseline)))
    examined = examine(*targets, rules=rules, live=live, kernel_name=kernel_name)
    return gates.check(examined, allowed, before, fail_on=fail_on, force=force)


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
    from ncuview.pipeline import ladders

    return ladders.ladder(family, rules, live, progress)
