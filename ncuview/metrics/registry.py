"""The registry of quantities: functions from their inputs to one number per launch, found by name.

A quantity is a function that a decorator registers. The function's name is the quantity's, its parameters name its
inputs, and the first line of its docstring says what it is, so that none of the three can drift from what is computed:

    @quantity("share")
    def gpu_fill(thread_count, sm_count, max_threads_per_sm):
        "Threads of the launch per thread that the whole GPU can hold at once."
        return thread_count / (sm_count * max_threads_per_sm)

Inputs of a ``quantity`` are other quantities and the metrics of ``names``: float64 columns with one entry per launch,
NaN where it is unknown. Inputs of an ``instruction_quantity`` are those of one launch: its machine code (``code``), the
source line of each instruction (``places``), and the metrics of each instruction (``names.OF_INSTRUCTIONS``). NaN for
launches without machine code, or without one of those metrics. ``launches`` gives a ``quantity`` all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.instruction_table import Executed
    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]

Function = TypeVar("Function", bound=Callable[..., Any])

_OF_CODE = ("code", "places")
"""Inputs of instruction quantities that are no metrics of ncu."""
_WHOLE = "launches"


class Launches(Protocol):
    """What quantities are computed from; ``Analysis`` is it."""

    @property
    def profile(self) -> Profile:
        """The launches with valid numbers."""

    @property
    def instructions(self) -> Mapping[int, Executed]:
        """The executed instructions of each launch that has any."""

    def value(self, name: str) -> Column:
        """A quantity, or a metric by its short name."""

    def metric(self, name: str) -> Column:
        """A metric by ncu's name."""

    def was_refused(self, metrics: Iterable[str]) -> NDArray[np.bool_]:
        """For each launch whether the report's value of one of these metrics cannot be right."""


@dataclass(frozen=True)
class Quantity:
    """A number of each launch that rules may read.

    Attributes:
        name: As rules write it.
        unit: Of its values; empty for counts without one.
        summary: What it is, in one sentence.
        inputs: The parameters of its function.
        reads: Metrics that it reads beside its inputs, under ncu's names.
        of_instructions: Whether it is computed from machine code and the metrics of each instruction.
        compute: The column of its values.
    """

    name: str
    unit: str
    summary: str
    inputs: tuple[str, ...]
    reads: tuple[str, ...]
    of_instructions: bool
    compute: Callable[[Launches], Column]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """All that it is computed from, through other quantities too, under ncu's names."""
        found: dict[str, None] = dict.fromkeys(self.reads)
        for name in self.inputs:
            if self.of_instructions:
                found.update({OF_INSTRUCTIONS[name]: None} if name in OF_INSTRUCTIONS else {})
            elif name != _WHOLE:
                found.update(dict.fromkeys((NAMES[name],) if name in NAMES else REGISTERED[name].metrics))
        return tuple(found)

    @cached_property
    def needs_code(self) -> bool:
        """Whether machine code is needed, for this quantity or one of its inputs."""
        return self.of_instructions or any(REGISTERED[name].needs_code for name in self.inputs if name in REGISTERED)


REGISTERED: dict[str, Quantity] = {}
"""Every registered quantity by name; complete once the package ``quantities`` is imported, where to look them up."""


def quantity(unit: str, reads: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Register a function of whole columns.

    Args:
        unit: The unit of its values.
        reads: Metrics that it takes from ``launches``, under ncu's names.
    """

    def register(function: Function) -> Function:
        inputs = _parameters(function)

        def compute(launches: Launches) -> Column:
            values: Column = function(*(launches if name == _WHOLE else launches.value(name) for name in inputs))
            return values

        _add(
            Quantity(function.__name__, unit, _summary(function), inputs, reads, of_instructions=False, compute=compute)
        )
        return function

    return register


def instruction_quantity(unit: str) -> Callable[[Function], Function]:
    """Register a function of one launch's machine code and of the metrics of its instructions.

    Args:
        unit: The unit of its value.
    """

    def register(function: Function) -> Function:
        inputs = _parameters(function)
        metrics = [OF_INSTRUCTIONS[name] for name in inputs if name not in _OF_CODE]

        def compute(launches: Launches) -> Column:
            result = np.full(len(launches.profile.launches), np.nan)
            for launch, rows in launches.instructions.items():
                if all(map(rows.is_complete, metrics)):
                    result[launch] = function(*(_input(rows, name) for name in inputs))
            return result

        _add(Quantity(function.__name__, unit, _summary(function), inputs, (), of_instructions=True, compute=compute))
        return function

    return register


def _input(rows: Executed, name: str) -> Any:
    if name == "code":
        return rows.code
    return list(zip(rows.files, rows.lines.tolist(), strict=True)) if name == "places" else rows[OF_INSTRUCTIONS[name]]


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _summary(function: Callable[..., Any]) -> str:
    return (getdoc(function) or "").partition("\n")[0].rstrip(".")


def _add(new: Quantity) -> None:
    if new.name in REGISTERED or new.name in NAMES:
        raise ValueError(f"two quantities or metrics are called {new.name!r}")
    REGISTERED[new.name] = new
