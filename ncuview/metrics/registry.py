"""The registry of quantities, which rules read: ``@quantity`` and ``@instruction_quantity`` register functions.

``REGISTERED`` maps names to ``Quantity`` objects; ``check_inputs`` refuses unknown parameters and circular ones.

The function's name is the quantity's name, its parameters name its inputs, and the first line of its docstring says
what it is, so that the three always agree with what is computed:

    @quantity("share")
    def gpu_fill(thread_count, sm_count, max_threads_per_sm):
        "Threads of the launch per thread that the GPU can hold at once."
        return thread_count / (sm_count * max_threads_per_sm)

Inputs of a ``quantity`` are other quantities and the metrics of ``names``: float64 columns with one entry per launch,
NaN where it is unknown. Inputs of an ``instruction_quantity`` are those of one launch: its machine code (``code``), the
source line of each instruction (``places``), and the metrics of each instruction (``names.OF_INSTRUCTIONS``). They are
NaN for launches without machine code, or without one of those metrics. ``launches`` gives a ``quantity`` all launches.

A mistake in such a function raises a ``QuantityError`` that names file, line, quantity and parameter: when the function
is registered, once all are (``check_inputs``), or when it is computed: then a ``ShippedQuantityError`` if it ships.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import getdoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ncuview.base.errors import NcuviewError, QuantityError, ShippedQuantityError
from ncuview.base.suggestion import suggestion
from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS, in_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.instruction_table import Executed
    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]

Function = TypeVar("Function", bound=Callable[..., Any])

_OF_CODE = ("code", "places")
"""Inputs of instruction quantities that are not metrics of ncu."""
_SHIPPED = Path(__file__).parent / "quantities"
ALL_LAUNCHES = "launches"
"""The parameter that gives a ``quantity`` the launches themselves."""


class Launches(Protocol):
    """What quantities are computed from; ``Analysis`` implements it."""

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
        """For each launch whether the report's value of one of these metrics is impossible."""


@dataclass(frozen=True)
class Quantity:
    """A number of each launch that rules may read.

    Attributes:
        name: As rules write it.
        unit: Of its values; empty for counts without one.
        summary: What it is, in one sentence.
        details: The rest of its docstring; often empty.
        inputs: The parameters of its function.
        reads: Metrics that it reads besides its inputs, under ncu's names.
        of_instructions: Whether it is computed from machine code and the metrics of each instruction.
        place: File and line of its function.
        compute: The column of its values.
    """

    name: str
    unit: str
    summary: str
    details: str
    inputs: tuple[str, ...]
    reads: tuple[str, ...]
    of_instructions: bool
    place: str
    compute: Callable[[Launches], Column]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """All that it is computed from, through other quantities too, under ncu's names."""
        found: dict[str, None] = dict.fromkeys(self.reads)
        for name in self.inputs:
            if self.of_instructions:
                found.update({OF_INSTRUCTIONS[name]: None} if name in OF_INSTRUCTIONS else {})
            elif name != ALL_LAUNCHES:
                found.update(dict.fromkeys((NAMES[name],) if name in NAMES else REGISTERED[name].metrics))
        return tuple(found)

    @cached_property
    def needs_code(self) -> bool:
        """Whether machine code is needed, for this quantity or one of its inputs."""
        return self.of_instructions or any(REGISTERED[name].needs_code for name in self.inputs if name in REGISTERED)


REGISTERED: dict[str, Quantity] = {}
"""Every registered quantity by name; complete once the package ``quantities`` is imported, where to look them up."""


def quantity(unit: str | None = None, reads: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Register a function of complete columns.

    Args:
        unit: The unit of its values. Where it is left out, the error names the function, which Python's own does not.
        reads: Metrics that it takes from ``launches``, under ncu's names.
    """
    _refuse_bare(unit, "quantity")

    def register(function: Function) -> Function:
        inputs = _parameters(function, "quantity", unit)
        for name in inputs:
            if name in _OF_CODE or name in OF_INSTRUCTIONS:
                what = "machine code" if name in _OF_CODE else "a metric of each instruction"
                raise _mistake(function, f"parameter {name!r} is {what}", "Use @instruction_quantity for it.")

        def compute(launches: Launches) -> Column:
            given = [launches if name == ALL_LAUNCHES else launches.value(name) for name in inputs]
            return _column(function, _called(function, given), len(launches.profile.launches))

        _add(function, unit or "", inputs, reads, of_instructions=False, compute=compute)
        return function

    return register


def instruction_quantity(unit: str | None = None) -> Callable[[Function], Function]:
    """Register a function of one launch's machine code and of the metrics of its instructions.

    Args:
        unit: The unit of its value; as for ``quantity``.
    """
    _refuse_bare(unit, "instruction_quantity")

    def register(function: Function) -> Function:
        inputs = _parameters(function, "instruction_quantity", unit)
        for name in inputs:
            if name not in _OF_CODE and name not in OF_INSTRUCTIONS:
                near = suggestion(name, (*_OF_CODE, *OF_INSTRUCTIONS))
                raise _mistake(
                    function,
                    f"parameter {name!r} is no metric of each instruction{near}",
                    f"It reads {', '.join(_OF_CODE)} and metrics of each instruction: {in_words(OF_INSTRUCTIONS)}. "
                    "@quantity is for arithmetic over other quantities.",
                )
        metrics = [OF_INSTRUCTIONS[name] for name in inputs if name not in _OF_CODE]

        def compute(launches: Launches) -> Column:
            result = np.full(len(launches.profile.launches), np.nan)
            for launch, rows in launches.instructions.items():
                if all(map(rows.is_complete, metrics)):
                    result[launch] = _number(function, _called(function, [_input(rows, name) for name in inputs]))
            return result

        _add(function, unit or "", inputs, (), of_instructions=True, compute=compute)
        return function

    return register


def check_inputs(quantities: Mapping[str, Quantity]) -> None:
    """Refuse parameters with unknown names, and quantities that are computed from themselves.

    Raises:
        QuantityError: There is one.
    """
    for each in quantities.values():
        if each.of_instructions:
            continue
        for name in each.inputs:
            if name != ALL_LAUNCHES and name not in NAMES and name not in quantities:
                near = suggestion(name, (*quantities, *NAMES))
                raise QuantityError(
                    f"{each.place}: quantity {each.name}: parameter {name!r} is no quantity or metric{near}",
                    hint="docs/reference/quantities.md lists them. Metrics of Nsight Compute get a short name in "
                    "ncuview/metrics/names.py.",
                )
    for each in quantities.values():
        _refuse_circles(each, quantities, ())


def _refuse_circles(new: Quantity, quantities: Mapping[str, Quantity], above: tuple[str, ...]) -> None:
    if new.name in above:
        circle = " from ".join((*above[above.index(new.name) :], new.name))
        raise QuantityError(f"{new.place}: quantity {new.name} is computed from itself: {circle}")
    for name in () if new.of_instructions else new.inputs:
        if name in quantities:
            _refuse_circles(quantities[name], quantities, (*above, new.name))


def _input(rows: Executed, name: str) -> Any:
    if name == "code":
        return rows.code
    return list(zip(rows.files, rows.lines.tolist(), strict=True)) if name == "places" else rows[OF_INSTRUCTIONS[name]]


def _called(function: Callable[..., Any], given: Iterable[Any]) -> Any:
    try:
        return function(*given)
    except (NcuviewError, MemoryError):
        raise
    except Exception as error:
        own = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == _file(function)]
        line = f", at line {own[-1].lineno}" if own else ""
        raise _failure(function, f"raises {type(error).__name__}: {error}{line}") from error


def _column(function: Callable[..., Any], given: Any, launches: int) -> Column:
    """What a function of columns gave: one number per launch."""
    if given is None:
        raise _failure(function, "returns nothing")
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _failure(function, f"returns {type(given).__name__}, not a column of numbers") from error
    if values.shape != (launches,):
        raise _failure(function, f"returns {_shape(values)}, not one number for each of {launches} launches")
    return values


def _number(function: Callable[..., Any], given: Any) -> float:
    """What a function of one launch gave: one number."""
    if given is None:
        raise _failure(function, "returns nothing")
    if np.ndim(given):
        raise _failure(function, f"returns {_shape(np.asarray(given))}, not one number for the launch")
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        raise _failure(function, f"returns {type(given).__name__}, not a number") from error


def _shape(values: NDArray[Any]) -> str:
    return f"a column of {values.size}" if values.ndim else "a single number"


def _refuse_bare(unit: object, decorator: str) -> None:
    """Refuse ``@quantity`` without parentheses, which would register nothing."""
    if callable(unit):
        raise _without_unit(unit, decorator)


def _without_unit(function: Callable[..., Any], decorator: str) -> QuantityError:
    return _mistake(function, "has no unit", f'Write @{decorator}("inst"), with the unit of its values.')


def _parameters(function: Callable[..., Any], decorator: str, unit: str | None) -> tuple[str, ...]:
    if unit is None:
        raise _without_unit(function, decorator)
    parameters = signature(function).parameters.values()
    for each in parameters:
        if each.kind is not each.POSITIONAL_OR_KEYWORD or each.default is not each.empty:
            raise _mistake(function, f"parameter {each.name!r} is no plain name: without *, / and default")
    return tuple(each.name for each in parameters)


def _file(function: Callable[..., Any]) -> str:
    return function.__code__.co_filename


def _place(function: Callable[..., Any]) -> str:
    return f"{_file(function)}:{function.__code__.co_firstlineno}"


def _mistake(function: Callable[..., Any], problem: str, hint: str = "") -> QuantityError:
    return QuantityError(f"{_place(function)}: quantity {function.__name__}: {problem}", hint=hint)


def _failure(function: Callable[..., Any], problem: str) -> QuantityError:
    """The error of a function that fails on a launch."""
    wrong = _mistake(function, problem)
    if not Path(_file(function)).is_relative_to(_SHIPPED):
        return wrong
    return ShippedQuantityError(
        str(wrong), hint="If you did not write this function, that is a bug of ncuview; please report it."
    )


def _add(
    function: Callable[..., Any],
    unit: str,
    inputs: tuple[str, ...],
    reads: tuple[str, ...],
    *,
    of_instructions: bool,
    compute: Callable[[Launches], Column],
) -> None:
    name = function.__name__
    if name in REGISTERED:
        raise _mistake(function, f"the name is taken by the quantity at {REGISTERED[name].place}")
    if name in NAMES or name in OF_INSTRUCTIONS:
        raise _mistake(function, f"the name is taken by the metric {NAMES.get(name) or OF_INSTRUCTIONS[name]}")
    summary, _, details = (getdoc(function) or "").partition("\n")
    if not summary:
        raise _mistake(function, "has no docstring", "Its first line is shown to users: say what is counted.")
    details = " ".join(details.split())
    REGISTERED[name] = Quantity(
        name, unit, summary.rstrip("."), details, inputs, reads, of_instructions, _place(function), compute
    )
