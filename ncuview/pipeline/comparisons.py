"""Diagnose two reports and set them beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison
    from ncuview.engine.rule_file import Rule


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
    from ncuview.engine.rank import diagnose
    from ncuview.engine.rule_file import load_rules
    from ncuview.pipeline.profiled import read_with_sources
    from ncuview.reader.settings import settings_of

    rules = load_rules() if rules is None else rules
    sides = [diagnose(read_with_sources([path], kernel_name), rules) for path in (before, after)]
    told = {report.path: settings_of(Path(report.path)) for side in sides for report in side.reports}
    return set_beside(*sides, settings=told, renamed=renamed, force=force)
