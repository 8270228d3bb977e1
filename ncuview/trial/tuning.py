"""Choose values of parameters with Kernel Tuner: its search space and strategies over ncuview's own times and checks.

``tune`` takes the values of each parameter and a function that measures a point. Kernel Tuner's strategies ask a
``Runner`` for results and know nothing of how it comes by them. Its own runners compile and launch kernels in this
process; the one here asks the caller.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ncuview.base.errors import TunerNotFound

if TYPE_CHECKING:
    from types import ModuleType

MOST_POINTS = 16
"""Points that are measured, the present one among them: each is a compilation and seconds of times."""
_MOST_THREADS = 1024
_SEED = 1
_OBJECTIVE = "cost"
_WORST = 1e6
"""Of a point that is not valid; Kernel Tuner's own value for one overflows in its simulated annealing."""

Values = Mapping[str, int]


def tune(
    values: Mapping[str, Sequence[int]],
    present: Values,
    restrictions: Sequence[str],
    cost_of: Callable[[Values], float | None],
    is_over: Callable[[], bool],
) -> None:
    """Measure points of a space: all of them where they are few, else those that simulated annealing asks for.

    It begins with the present point, asks for no point twice, and for the same ones in every run in which the costs
    are the same.

    Args:
        values: The values of each parameter, ascending.
        present: The present value of each.
        restrictions: Expressions over the parameters' names that must hold, as Kernel Tuner takes them.
        cost_of: Measures a point: the less the better; None where it is not valid.
        is_over: Whether no further point may be measured.

    Raises:
        TunerNotFound: Kernel Tuner is not installed.
    """
    try:
        from kernel_tuner.interface import Options
        from kernel_tuner.searchspace import Searchspace
        from kernel_tuner.strategies import brute_force, simulated_annealing
        from kernel_tuner.util import StopCriterionReached, TuningBudget
    except ModuleNotFoundError as missing:
        raise TunerNotFound(
            f"no Kernel Tuner here: {missing.name} is not installed", hint="pip install 'ncuview[try]'"
        ) from None
    space = Searchspace({name: list(each) for name, each in values.items()}, list(restrictions), _MOST_THREADS)
    few = space.size <= MOST_POINTS
    strategy: ModuleType = brute_force if few else simulated_annealing
    start = [present[name] for name in values]
    options = {} if few else {"max_fevals": MOST_POINTS, "x0": start}
    tuning = Options(
        strategy_options=Options(options),
        objective=[_OBJECTIVE],
        objective_higher_is_better=[False],
        budget=TuningBudget(max_fevals=MOST_POINTS + 1),
        verbose=False,
    )
    with _seeded():
        try:
            strategy.tune(space, _runner(list(values), cost_of, is_over), tuning)
        except StopCriterionReached:
            return


def _runner(names: Sequence[str], cost_of: Callable[[Values], float | None], is_over: Callable[[], bool]) -> Any:
    """A runner of Kernel Tuner that asks ``cost_of``, once for each point."""
    from kernel_tuner.runners.runner import Runner
    from kernel_tuner.util import StopCriterionReached

    known: dict[tuple[int, ...], dict[str, Any]] = {}

    class Asking(Runner):  # type: ignore[misc]
        """Measures points by asking."""

        def run(self, parameter_space: Sequence[Sequence[int]], tuning_options: Mapping[str, Any]) -> list[Any]:
            """The result of each point."""
            return [self._result(tuple(map(int, point)), tuning_options["budget"]) for point in parameter_space]

        def _result(self, point: tuple[int, ...], budget: Any) -> dict[str, Any]:
            if point not in known:
                if is_over() or budget.is_done():
                    raise StopCriterionReached("the time is up")
                values = dict(zip(names, point, strict=True))
                cost = cost_of(values)
                known[point] = {**values, _OBJECTIVE: _WORST if cost is None else cost}
                budget.add_evaluations(1)
            return dict(known[point])

        def get_device_info(self) -> None:
            """Nothing asks for it outside Kernel Tuner's interface."""
            raise NotImplementedError

        def get_environment(self, tuning_options: Mapping[str, Any]) -> None:
            """Nothing asks for it outside Kernel Tuner's interface."""
            raise NotImplementedError

    return Asking()


@contextmanager
def _seeded() -> Iterator[None]:
    """Kernel Tuner's strategies use the global generators: seed them, and restore them afterwards."""
    plain, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(_SEED)
    np.random.seed(_SEED)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(of_numpy)  # noqa: NPY002
