"""Read and diagnose two profiles, each a report, a folder of reports or a CSV export -> ``Comparison``."""

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
    rules: Sequence[Rule] | None,
    kernel_name: str,
    renamed: Mapping[str, str] | None,
    *,
    force: bool,
) -> Comparison:
    """Read and diagnose two profiles and compare their launches; see ``api.compare`` for the arguments."""
    from ncuview.comparison.compare import compare as compare_diagnoses
    from ncuview.engine.rank import diagnose
    from ncuview.engine.rule_file import load_rules
    from ncuview.pipeline.profiled import read_with_sources
    from ncuview.reader.settings import settings_of

    rules = load_rules() if rules is None else rules
    sides = [diagnose(read_with_sources([path], kernel_name), rules) for path in (before, after)]
    settings = {report.path: settings_of(Path(report.path)) for side in sides for report in side.reports}
    return compare_diagnoses(*sides, settings=settings, renamed=renamed, force=force)
