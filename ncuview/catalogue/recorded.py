"""Find the recorded profile of a kernel family: family name -> path of the .ncu-repz report that ships.

``recorded_report`` raises ``ReportUnreadable`` where none was recorded.
"""

from __future__ import annotations

from pathlib import Path

from ncuview.base.errors import ReportUnreadable
from ncuview.base.paths import shipped


def recorded_report(family: str) -> Path:
    """The report with all launches of a family.

    Raises:
        ReportUnreadable: None was recorded.
    """
    reports = sorted((shipped("kernels") / family).glob("*.ncu-repz"))
    if not reports:
        raise ReportUnreadable(f"no profile of {family} is recorded", hint="Use --live on a machine with a GPU.")
    return reports[0]
