"""Check an ``Examined`` against a budget and a baseline -> ``Gate``, and save it as a new ``Baseline`` file."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import BaselineMissing, UsageError
from ncuview.base.report_files import regular_file
from ncuview.base.version import VERSION
from ncuview.pipeline.examine import Examined, require_complete
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate, Level

if TYPE_CHECKING:
    from ncuview.gate.baseline import Baseline
    from ncuview.gate.budget import Budget
    from ncuview.gate.chosen import Chosen
    from ncuview.profiling.options import NcuOptions
    from ncuview.reader.settings import Settings


def check(
    examined: Examined,
    budget: Budget | None = None,
    baseline: tuple[str, Baseline] | None = None,
    *,
    fail_on: Level = "error",
    force: bool = False,
    chosen: Chosen | None = None,
) -> Gate:
    """Check a diagnosis against a budget and a baseline.

    Args:
        examined: The result of ``examine`` or one of its variants.
        budget: The limits; see ``gate.budget.read_budget``.
        baseline: The name and the content of a baseline; see ``gate.baseline.read_baseline``.
        fail_on: Failures of this level or above close the gate.
        force: Compare also with a baseline of another GPU or other settings.
        chosen: The options by which the user chose launches; None for all.

    Raises:
        BudgetError: The budget names a rule that was not evaluated.
        NotComparable: GPU, ncu, clock or cache control differ from the baseline's, or no kernel is in both.
        NcuviewError: See errors.py.
    """
    from ncuview.base.paths import users_spreads
    from ncuview.gate.budget import Budget
    from ncuview.gate.chosen import ALL
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
        chosen=chosen or ALL,
    )


def names_store(name: str) -> bool:
    """Whether a baseline is a store, or a store with a choice: ``fleet@main``."""
    from ncuview.pipeline.stored_baseline import stored_baseline

    return stored_baseline(name) is not None


def baseline_of_store(name: str, examined: Examined) -> Baseline:
    """What a store holds of the checked kernels, as a baseline.

    Args:
        name: The store, and after ``@`` a point or the text of a label.
        examined: What is checked.

    Raises:
        BaselineMissing: It is no store, or no report is of this point or label.
        NcuviewError: See ``stored_baseline.baseline_in``.
    """
    from ncuview.base.paths import users_spreads
    from ncuview.gate.spread import read_spreads
    from ncuview.pipeline.stored_baseline import baseline_in, stored_baseline

    named = stored_baseline(name)
    if named is None:
        raise BaselineMissing(f"{name} is no store", hint="ncuview store add REPORT... --to STORE makes one.")
    settings = list(_settings_of(examined).values())
    return baseline_in(named, examined, settings, read_spreads(users_spreads()))


def chosen_by(options: NcuOptions, *, of_program: bool) -> Chosen:
    """Which launches these options choose, of reports or of a program under ncu."""
    from ncuview.gate.chosen import Chosen
    from ncuview.reader.kernel_filter import check_kernel_filter

    if not of_program:
        return Chosen(options.kernel_name)
    further = tuple(each for each in options.chosen_by() if each != "--kernel-name")
    by_demangled = options.kernel_name_base == "demangled"
    try:
        check_kernel_filter(options.kernel_name)
    except UsageError:  # ncu's patterns are not all known to the reader
        further = ("--kernel-name", *further)
    else:
        if options.kernel_name_base != "mangled":
            return Chosen(options.kernel_name, by_demangled=by_demangled, further=further)
        further = ("--kernel-name", *further) if options.kernel_name else further
    return Chosen(further=further)


def save_as_baseline(examined: Examined, path: Path) -> tuple[Baseline, tuple[str, ...]]:
    """Save a diagnosis as a baseline.

    Returns:
        The baseline, and the reports that are copies of earlier ones: they are left out, because they show no spread.

    Raises:
        BaselineError: The file cannot be written.
        NothingProfiled: There is no launch.
        Incomplete: Launches are missing.
    """
    from ncuview.base.paths import users_spreads
    from ncuview.gate.baseline import baseline_of, save_baseline
    from ncuview.gate.spread import read_spreads

    require_complete(examined.profile)
    settings = _settings_of(examined).values()
    diagnosis, copies = _without_copies(examined.diagnosis)
    made = baseline_of(diagnosis, settings, read_spreads(users_spreads()), VERSION)
    save_baseline(made, path)
    return made, copies


def _without_copies(diagnosis: Diagnosis) -> tuple[Diagnosis, tuple[str, ...]]:
    """The diagnosis without reports that are byte for byte the same as an earlier one, and the paths of these."""
    if len(diagnosis.reports) < 2:
        return diagnosis, ()
    seen: set[str] = set()
    copies = []
    for report in diagnosis.reports:
        with regular_file(Path(report.path)) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest in seen:
            copies.append(report.path)
        seen.add(digest)
    launches = tuple(launch for launch in diagnosis.launches if launch.report not in copies)
    reports = tuple(report for report in diagnosis.reports if report.path not in copies)
    return replace(diagnosis, launches=launches, reports=reports), tuple(copies)


def _settings_of(examined: Examined) -> dict[str, Settings]:
    """The settings of ncu, by the path of the report."""
    from ncuview.reader.settings import settings_of

    reports = examined.diagnosis.reports
    return {report.path: examined.settings or settings_of(Path(report.path)) for report in reports}
