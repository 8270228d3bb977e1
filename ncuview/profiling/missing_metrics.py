"""Compare the requested metrics with a ``Profile``, and return an error that names those missing in some launch.

``without_values`` returns None where each has a value. ncu leaves out metrics that it does not know, and exits with 0.
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
    """The error that names requested metrics without a value in some launch; None where each has one in every launch.

    Args:
        metrics: Those that ncu was to collect.
        profile: The launches of the reports.
    """
    of_each = {name: profile.metrics[name].notna().sum() if name in profile.metrics else 0 for name in metrics}
    missing = [name for name, values in of_each.items() if values < len(profile.launches)]
    if not missing:
        return None
    named = ", ".join(missing[:_METRICS_TO_NAME])
    more = f" and {len(missing) - _METRICS_TO_NAME:,} more" if len(missing) > _METRICS_TO_NAME else ""
    nowhere = sum(not of_each[name] for name in missing)
    return failure("NCU-METRIC").as_error(
        f"ncu left out requested metrics: {named}{more} "
        f"({nowhere} of {len(missing)} in all launches); rules that need them are skipped"
    )
