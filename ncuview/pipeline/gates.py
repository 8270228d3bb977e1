"""Check an ``Examined`` against a budget and a baseline -> ``Gate``, and save it as a new ``Baseline`` file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.version import VERSION
from ncuview.pipeline.examine import Examined, require_complete
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
    """Check a diagnosis against a budget and a baseline.

    Args:
        examined: The result of ``examine`` or one of its variants.
        budget: The limits; see ``gate.budget.read_budget``.
        baseline: The name and the content of a baseline; see ``gate.baseline.read_baseline``.
        fail_on: Failures of this level or above close the gate.
        force: Compare also with a baseline of another GPU or other settings.

    Raises:
        BudgetError: The budget names a rule that was not evaluated.
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


def save_as_baseline(examined: Examined, path: Path) -> Baseline:
    """Save a diagnosis as a baseline.

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
    made = baseline_of(examined.diagnosis, settings, read_spreads(users_spreads()), VERSION)
    save_baseline(made, path)
    return made


def _settings_of(examined: Examined) -> dict[str, Settings]:
    """The settings of ncu, by the path of the report."""
    from ncuview.reader.settings import settings_of

    reports = examined.diagnosis.reports
    return {report.path: examined.settings or settings_of(Path(report.path)) for report in reports}
