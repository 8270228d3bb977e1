"""``Analysis``: one ``Profile`` with invalid numbers removed, its decoded code, and the quantities computed so far.

``value`` and ``metric`` return a float64 column with one entry per launch; ``instructions`` the code of each launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.instruction_table import Executed, executed_by_launch
from ncuview.metrics.names import NAMES
from ncuview.metrics.quantities import QUANTITIES
from ncuview.metrics.samples import with_samples
from ncuview.reader.validity import valid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]


class Analysis:
    """What rules, the what-if model and pages read of the launches of a profile.

    ``not_issued`` are the launches whose stall samples are only those of cycles without an issued instruction.

    Each quantity is computed once, when it is first asked for; machine code is decoded once. Columns are float64 with
    one entry per launch, NaN where a value is unknown, and must not be written to.

    Args:
        profile: As it was read; impossible values become NaN.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile, self.not_issued = with_samples(valid(profile))
        self._values: dict[str, Column] = {}

    def value(self, name: str) -> Column:
        """A quantity, or a metric by its short name or ncu's own, for all launches."""
        if name not in self._values:
            with np.errstate(all="ignore"):  # a division by zero gives no number
                values = QUANTITIES[name].compute(self) if name in QUANTITIES else self.metric(NAMES.get(name, name))
            values = np.where(np.isfinite(values), values, np.nan)
            values.flags.writeable = False
            self._values[name] = values
        return self._values[name]

    def metric(self, name: str) -> Column:
        """A metric by ncu's name for all launches; NaN where a launch does not have it."""
        return self._metrics[name] if name in self._metrics else np.full(len(self.profile.launches), np.nan)

    @cached_property
    def _metrics(self) -> Mapping[str, Column]:
        """Each metric of the report, taken out of its DataFrame at once."""
        numbers = self.profile.metrics.to_numpy(np.float64).T
        columns = np.where(np.isfinite(numbers), numbers, np.nan)
        columns.flags.writeable = False
        return dict(zip(self.profile.metrics.columns, columns, strict=True))

    @cached_property
    def devices(self) -> Sequence[str]:
        """The name of each launch's GPU."""
        return tuple(self.profile.launches["device"].tolist())

    @cached_property
    def instructions(self) -> Mapping[int, Executed]:
        """The executed instructions of each launch that has any, with their decoded code."""
        return executed_by_launch(self.profile)

    @cached_property
    def without_code(self) -> frozenset[int]:
        """The launches without machine code, or without numbers of their instructions."""
        return frozenset(range(len(self.profile.launches))) - self.instructions.keys()

    @cached_property
    def known_metrics(self) -> list[frozenset[str]]:
        """For each launch the metrics that have a value, under ncu's names."""
        names = np.array(list(self.profile.metrics.columns), dtype=object)
        finite = np.isfinite(self.profile.metrics.to_numpy(np.float64))
        sets = {row.tobytes(): row for row in finite}
        shared = {kind: frozenset(names[row].tolist()) for kind, row in sets.items()}
        return [shared[row.tobytes()] for row in finite]

    def refused(self, launch: int) -> Mapping[str, float]:
        """The report's impossible values of a launch, by metric."""
        return self.profile.refused.get(launch, {})

    def was_refused(self, metrics: Iterable[str]) -> NDArray[np.bool_]:
        """For each launch whether the report's value of one of these metrics is impossible."""
        wanted, found = set(metrics), np.zeros(len(self.profile.launches), dtype=bool)
        found[[launch for launch, wrong in self.profile.refused.items() if wanted & wrong.keys()]] = True
        return found
