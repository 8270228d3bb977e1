"""Check a diagnosis against a budget and a baseline, as a ``Gate``, and save a diagnosis as a new baseline file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.version import VERSION
from ncuview.pipeline.examine import Examined, whole
from ncuview.records.gate import Gate, Level

if TYPE_CHECKING:
    from ncuview.gate.baseline import Baseline
    from ncuview.gate.budget import Budget
    from ncuview.reader.settings import Settings


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
    from ncuview.base.paths import users_spreads
    from ncuview.gate.baseline import baseline_of, save_baseline
    from ncuview.gate.spread import read_spreads

    whole(examined.profile)
    settings = _settings_of(examined).values()
    made = baseline_of(examined.diagnosis, settings, read_spreads(users_spreads()), VERSION)
    save_baseline(made, path)
    return made


def _settings_of(examined: Examined) -> dict[str, Settings]:
    """What ncu was told, by the path of the report."""
    from ncuview.reader.settings import settings_of

    reports = examined.diagnosis.reports
    return {report.path: examined.told or settings_of(Path(report.path)) for report in reports}
