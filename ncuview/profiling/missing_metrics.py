"""Compare the requested metrics with a profile, and return an error that names those without a value in some launch.

ncu leaves out metrics that it does not know, and exits with 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ncuview.base.errors import NcuviewError
from ncuview.profiling.ncu_failures import failure

if TYPE_CHECKING:
    from ncuview.records.profile import Profile

_METRICS_TO_NAME = 5


def without_values(metrics: Iterable[str], profile: Profile) -> NcuviewError | None:
    """What to say of requested metrics that have no value in some launch; None where each has one in every launch.

    Args:
        metrics: Those that ncu was asked for.
        profile: What was read of the reports.
    """
    of_each = {name: profile.metrics[name].notna().sum() if name in profile.metrics else 0 for name in metrics}
    missing = [name for name, values in of_each.items() if values < len(profile.launches)]
    if not missing:
        return None
    named = ", ".join(missing[:_METRICS_TO_NAME])
    more = f" and {len(missing) - _METRICS_TO_NAME:,} more" if len(missing) > _METRICS_TO_NAME else ""
    nowhere = sum(not of_each[name] for name in missing)
    return failure("NCU-METRIC").as_error(
        f"ncu left out metrics that it was asked for: {named}{more} "
        f"({nowhere} of {len(missing)} in all launches); rules that need them are skipped"
    )
