"""Read and diagnose two profiles, each a report, a folder of reports or a CSV export -> ``Comparison``.

Both may be kernels of one report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import UsageError

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison
    from ncuview.engine.rule_file import Rule
    from ncuview.records.diagnosis import Diagnosis

_MOST_NAMES = 12
"""An error message names no more kernels."""


def compare(
    before: str | Path,
    after: str | Path,
    rules: Sequence[Rule] | None,
    kernel_name: str,
    renamed: Mapping[str, str] | None,
    *,
    kernel_after: str,
    force: bool,
) -> Comparison:
    """Read and diagnose two profiles and compare their launches; see ``api.compare`` for the arguments."""
    from ncuview.comparison.compare import compare as compare_diagnoses
    from ncuview.engine.rank import diagnose
    from ncuview.engine.rule_file import load_rules
    from ncuview.pipeline.profiled import read_with_sources
    from ncuview.reader.settings import settings_of

    rules = load_rules() if rules is None else rules
    wanted = ((before, kernel_name), (after, kernel_after or kernel_name))
    sides = [diagnose(read_with_sources([path], name), rules) for path, name in wanted]
    if kernel_after:
        renamed = _one_pair(*(_only_kernel(name, side) for (_, name), side in zip(wanted, sides, strict=True)))
    settings = {report.path: settings_of(Path(report.path)) for side in sides for report in side.reports}
    return compare_diagnoses(*sides, settings=settings, renamed=renamed, force=force)


def _only_kernel(wanted: str, side: Diagnosis) -> str:
    """The name of the only kernel that a name or pattern selects.

    Raises:
        UsageError: It selects several.
    """
    names = list(dict.fromkeys(launch.kernel for launch in side.launches))
    if len(names) > 1:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        raise UsageError(
            f"{wanted or 'an empty name'} matches {len(names)} kernels, and one is compared with one",
            hint=f"Name one of {', '.join(names[:_MOST_NAMES])}{more}.",
        )
    return names[0]


def _one_pair(old: str, new: str) -> dict[str, str]:
    """Old name -> new name of the two kernels."""
    if old == new:
        raise UsageError(f"both names are the kernel {old}", hint="Compare it with another kernel or another report.")
    return {old: new}
