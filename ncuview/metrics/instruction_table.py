"""Split a ``Profile``'s instruction DataFrame by launch: ``executed_by_launch`` -> launch -> ``Executed``.

An ``Executed`` holds decoded code, metrics per instruction and source lines; ``total`` and ``weighted`` sum metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ncuview.sass.code import Code, Weights, of_class
from ncuview.sass.opcode_classes import Class

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]


class Executed:
    """The instructions of one launch, in the order of the profile."""

    def __init__(self, table: _Table, places: slice, controls: Mapping[int, int]) -> None:
        self._table = table
        self._places = places
        self._controls = controls

    def __len__(self) -> int:
        return len(self.lines)

    def is_complete(self, metric: str) -> bool:
        """Whether a metric is known of each instruction."""
        return metric in self and (self._table.is_complete(metric) or not np.isnan(self[metric]).any())

    def __contains__(self, metric: str) -> bool:
        """Whether the profile has a column of this metric."""
        return metric in self._table.metrics

    def __getitem__(self, metric: str) -> Column:
        """A metric of each instruction, NaN where it is unknown."""
        return self._table.numbers(metric)[self._places]

    @cached_property
    def code(self) -> Code:
        """The machine code; launches of the same code share it."""
        addresses = tuple(self.addresses.tolist())
        controls = tuple(self._controls[each] for each in addresses) if self._controls else ()
        return _code(tuple(self._table.texts("sass")[self._places]), addresses, controls)

    @property
    def addresses(self) -> NDArray[np.int64]:
        """Bytes from the kernel's start."""
        return self._table.whole("address")[self._places]

    @property
    def files(self) -> list[str]:
        """The source file of each instruction."""
        return self._table.texts("file")[self._places]

    @property
    def lines(self) -> NDArray[np.int64]:
        """The source line of each instruction, 0 when it is unknown."""
        return self._table.whole("line")[self._places]


class _Table:
    """The instructions of all launches, each column taken out of its DataFrame once, when it is first asked for."""

    def __init__(self, instructions: pd.DataFrame) -> None:
        launches = instructions["launch"].to_numpy(np.int64)
        # Reports are read launch by launch; a table that was put together otherwise is sorted.
        in_order = (np.diff(launches) >= 0).all()
        self._sorted = instructions if in_order else instructions.sort_values("launch", kind="stable")
        self.metrics = frozenset(str(name) for name in instructions.columns[5:])
        self._numbers: dict[str, Column] = {}
        self._complete: dict[str, bool] = {}
        self._whole: dict[str, NDArray[np.int64]] = {}
        self._texts: dict[str, list[str]] = {}

    def numbers(self, name: str) -> Column:
        if name not in self._numbers:
            self._numbers[name] = self._sorted[name].to_numpy(np.float64)
        return self._numbers[name]

    def is_complete(self, name: str) -> bool:
        if name not in self._complete:
            self._complete[name] = not np.isnan(self.numbers(name)).any()
        return self._complete[name]

    def whole(self, name: str) -> NDArray[np.int64]:
        if name not in self._whole:
            self._whole[name] = self._sorted[name].to_numpy(np.int64)
        return self._whole[name]

    def texts(self, name: str) -> list[str]:
        if name not in self._texts:
            self._texts[name] = self._sorted[name].tolist()
        return self._texts[name]


def executed_by_launch(profile: Profile) -> Mapping[int, Executed]:
    """The instructions of each launch that has any."""
    table = _Table(profile.instructions)
    launches, starts = np.unique(table.whole("launch"), return_index=True)
    stops = [*starts.tolist(), len(profile.instructions)][1:]
    spans = zip(launches.tolist(), starts.tolist(), stops, strict=True)
    return {
        launch: Executed(table, slice(start, stop), profile.control_codes.get(launch, {}))
        for launch, start, stop in spans
    }


@lru_cache(maxsize=1 << 12)
def _code(texts: tuple[str, ...], addresses: tuple[int, ...], controls: tuple[int, ...]) -> Code:
    return Code(texts, addresses, controls)


def total(code: Code, asked: Class, values: Column) -> float:
    """The sum of a metric over the instructions of a class."""
    return float(values[of_class(code, asked)].sum())


def weighted(code: Code, weights: Callable[[Code], Weights], values: Column) -> float:
    """The sum of a metric over all instructions, each times its weight."""
    return float(code.result_of(weights) @ values)
