"""A gate made by hand over the launches of ``sample``: a check of each result and level."""

from __future__ import annotations

from dataclasses import replace

from ncuview.records.gate import Check, Gate
from tests.hostile import poisoned
from tests.render.sample import column_read, launch_near_peak, launch_unclear, launch_with_advice


def failed_error() -> Check:
    """Too slow."""
    launch = launch_with_advice()
    return Check(
        kernel=launch.demangled,
        grid=launch.grid,
        block=launch.block,
        subject="duration_ns",
        condition="at most 300,000 ns",
        result="failed",
        level="error",
        measured=328_320.0,
        limit=300_000.0,
        unit="ns",
        message="took 328,320 ns, 9.4% more than the 300,000 ns that are allowed",
        origin="budget.toml, budget 1",
    )


def failed_warning() -> Check:
    """A rule fires that should not; there is no number, but a line."""
    return replace(
        failed_error(),
        subject="SMEM001 shared-bank-conflict",
        condition="must not be found",
        level="warn",
        measured=None,
        limit=None,
        unit="",
        message="up to 32-way bank conflicts",
        origin="budget.toml, budget 2",
        where=(column_read(),),
    )


def passed() -> Check:
    """As in the baseline."""
    launch = launch_near_peak()
    return replace(
        failed_error(),
        kernel=launch.demangled,
        subject="gld_transactions_per_request",
        condition="as in the baseline, 4 sectors",
        result="passed",
        measured=4.0,
        limit=4.0,
        unit="sectors",
        message="4 sectors, as in the baseline",
        origin="baseline main.json",
    )


def inconclusive() -> Check:
    """The repeats spread too far."""
    return replace(
        passed(),
        subject="duration_ns",
        condition="at most 5% above the baseline",
        result="inconclusive",
        unit="ns",
        message="five repeats spread by 12%",
    )


def not_judged() -> Check:
    """The number is missing."""
    launch = launch_unclear()
    return replace(
        failed_error(),
        kernel=launch.demangled,
        grid=launch.grid,
        subject="gld_efficiency",
        condition="at least 80 %",
        result="not judged",
        measured=None,
        limit=80.0,
        unit="%",
        message="gld_efficiency was not collected",
        origin="budget.toml, budget 3",
    )


def vanished() -> Check:
    """The baseline's kernel is in no report."""
    return replace(
        failed_warning(),
        kernel="gone(float *)",
        subject="kernel",
        condition="is there as in the baseline",
        message="is in the baseline and in no report",
        origin="baseline main.json",
        where=(),
    )


def gate() -> Gate:
    """Closed by one failed check of six."""
    checks = (failed_error(), failed_warning(), passed(), inconclusive(), not_judged(), vanished())
    return Gate(checks, "error", "the baseline is of another driver")


def poisoned_gate(text: str) -> Gate:
    """The gate with every text of the outside replaced."""
    return Gate(tuple(_poisoned(check, text) for check in gate().checks), "error", text)


def _poisoned(check: Check, text: str) -> Check:
    where = poisoned(check.where, text)
    return replace(check, kernel=text, subject=text, condition=text, unit=text, message=text, origin=text, where=where)
