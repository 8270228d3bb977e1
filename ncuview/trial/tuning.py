"""Choose values of parameters with Kernel Tuner: its search space and strategy over ncuview's own times and checks.

``tune`` takes the values of each parameter and a function that measures a point. Kernel Tuner's strategies ask a
``Runner`` for results and know nothing of how it comes by them. Its own runners compile and launch kernels in this
process; the one here asks the caller.

A small space is measured completely. Of a larger one, the values of one parameter after the other are, around the best
point so far. With so few points Kernel Tuner's other strategies do worse: its annealing misses the best point of two
independent parameters, and its hill climbing goes on from the last value of each parameter instead of the best one
(``base_hillclimb`` in ``strategies/hillclimbers.py`` of 1.5.0 does not reset ``child`` between parameters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ncuview.base.errors import TunerNotFound

MOST_POINTS = 16
"""Points that are measured, the present one among them: each is a compilation and seconds of times."""
_MOST_THREADS = 1024
_OBJECTIVE = "cost"
_WORST = 1e6
"""Of a point that is not valid, which is more than any real one."""

Values = Mapping[str, int]
Point = tuple[int, ...]


def tune(
    values: Mapping[str, Sequence[int]],
    present: Values,
    restrictions: Sequence[str],
    cost_of: Callable[[Values, Iterable[Values]], float | None],
    is_over: Callable[[], bool],
) -> None:
    """Measure points of a space, none twice, and the same ones in every run in which the costs are the same.

    Args:
        values: The values of each parameter, ascending.
        present: The present value of each, which the restrictions allow.
        restrictions: Expressions over the parameters' names that must hold, as Kernel Tuner takes them.
        cost_of: Measures a point: the less the better; None where it is not valid. It gets those that come next, too.
        is_over: Whether no further point may be measured.

    Raises:
        TunerNotFound: Kernel Tuner is not installed.
    """
    try:
        from kernel_tuner.interface import Options
        from kernel_tuner.searchspace import Searchspace
        from kernel_tuner.strategies import brute_force
        from kernel_tuner.util import StopCriterionReached, TuningBudget
    except ModuleNotFoundError as missing:
        raise TunerNotFound(
            f"no Kernel Tuner here: {missing.name} is not installed", hint="pip install 'ncuview[try]'"
        ) from None
    runner = _runner(list(values), cost_of, is_over)
    options = Options(budget=TuningBudget(max_fevals=MOST_POINTS), strategy_options=Options())

    def space_of(part: Mapping[str, Sequence[int]]) -> Any:
        return Searchspace({name: list(each) for name, each in part.items()}, list(restrictions), _MOST_THREADS)

    def best_of(space: Any) -> dict[str, int]:
        results = brute_force.tune(space, runner, options)
        best = min(results, key=lambda each: float(each[_OBJECTIVE]))
        return {name: int(best[name]) for name in values}

    try:
        whole = space_of(values)
        if whole.size <= MOST_POINTS:
            best_of(whole)
            return
        before, best = None, dict(present)
        while best != before:
            before = best
            for name, each in values.items():
                best = best_of(space_of({**{other: [value] for other, value in best.items()}, name: each}))
    except StopCriterionReached:
        return


def _runner(
    names: Sequence[str], cost_of: Callable[[Values, Iterable[Values]], float | None], is_over: Callable[[], bool]
) -> Any:
    """A runner of Kernel Tuner that asks ``cost_of``, once for each point."""
    from kernel_tuner.runners.runner import Runner
    from kernel_tuner.util import StopCriterionReached

    known: dict[Point, dict[str, Any]] = {}

    class Asking(Runner):  # type: ignore[misc]
        """Measures points by asking."""

        def run(self, parameter_space: Sequence[Sequence[int]], tuning_options: Mapping[str, Any]) -> list[Any]:
            """The result of each point."""
            points = [tuple(map(int, point)) for point in parameter_space]
            return [
                self._result(point, points[number + 1 :], tuning_options["budget"])
                for number, point in enumerate(points)
            ]

        def _result(self, point: Point, following: Sequence[Point], budget: Any) -> dict[str, Any]:
            if point not in known:
                if is_over() or budget.is_done():
                    raise StopCriterionReached("no further point may be measured")
                values = dict(zip(names, point, strict=True))
                coming = (dict(zip(names, each, strict=True)) for each in following if each not in known)
                cost = cost_of(values, coming)
                known[point] = {**values, _OBJECTIVE: _WORST if cost is None else cost}
                budget.add_evaluations(1)
            return known[point]

        def get_device_info(self) -> None:
            """Only Kernel Tuner's own interface asks for it."""
            raise NotImplementedError

        def get_environment(self, tuning_options: Mapping[str, Any]) -> None:
            """Only Kernel Tuner's own interface asks for it."""
            raise NotImplementedError

    return Asking()
