"""How often the store's change points are right: steps found and steps invented, on noise that was measured.

    python benchmarks/store_changes.py              # the tables below, about two minutes; needs ncuview[store]
    python benchmarks/store_changes.py --methods    # the methods that were compared, on the development half

The noise is all that the repository has of times that were measured again and again: benchmarks/gate/h200.json, ten
kernels in ten runs of ncu on an H200, five launches of each in a run, clocks not locked. The first five runs were used
to choose method and constants (development), the last five give the tables. A series has 30 points, each of one
kernel's launches in the half: one launch (runs in random order, launches of a run in their own), the median of three
launches of one run, or the median of five launches of all runs. These are real times in a made order: a change of the
machine over weeks is not among them; what drifts and clocks of two states do to the test is tried with made-up ones.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ncuview.store.batches import Contents
from ncuview.store.change_points import LEAST_POINTS, PERMUTATIONS, Numbers, time_changes
from ncuview.store.counter_changes import histories_of
from ncuview.store.opened import Store
from ncuview.store.place import place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Finder = Callable[[Numbers], Sequence[int]]
Noise = Callable[[np.random.Generator], Numbers]

MEASURED = Path(__file__).parent / "gate" / "h200.json"
POINTS, NEAR = 30, 2
"""Points of a series; a step counts as found when it is reported at most NEAR points beside its place."""
STEP = 1.03
LONG_NS = 20_000.0
"""Below, 3 % are no more than a few ticks of the timer: two of the ten kernels, with which nothing is to be found."""
DEVELOPMENT, REPORTED = slice(0, 5), slice(5, 10)


def measured(half: slice, *, long: bool = False) -> list[Numbers]:
    """The times of each kernel in ns, shape (5 runs, 5 launches)."""
    kernels = json.loads(MEASURED.read_text(encoding="utf-8"))["kernels"]
    times = [np.array(kernel["duration_ns"]) for kernel in kernels]
    return [each[half] for each in times if not long or np.median(each) > LONG_NS]


def single_launches(runs: Numbers, chance: np.random.Generator) -> Numbers:
    """Each point one launch; the runs in random order, those of a run in their own."""
    rounds = [runs[chance.permutation(len(runs))].ravel() for _ in range(-(-POINTS // runs.size))]
    return np.concatenate(rounds)[:POINTS]


def medians_of_3(runs: Numbers, chance: np.random.Generator) -> Numbers:
    """Each point the median of three launches of one run."""
    drawn = runs[chance.integers(len(runs), size=POINTS)]
    medians: Numbers = np.median(chance.permuted(drawn, axis=1)[:, :3], axis=1)
    return medians


def medians_of_5(runs: Numbers, chance: np.random.Generator) -> Numbers:
    """Each point the median of five launches of all runs."""
    drawn = np.broadcast_to(runs.ravel(), (POINTS, runs.size))
    medians: Numbers = np.median(chance.permuted(drawn, axis=1)[:, :5], axis=1)
    return medians


FORMS: Mapping[str, Callable[[Numbers, np.random.Generator], Numbers]] = {
    "1 launch": single_launches,
    "median of 3": medians_of_3,
    "median of 5": medians_of_5,
}


def noise_of(form: str, kernels: Sequence[Numbers]) -> Noise:
    """Series of one of the kernels, drawn anew each time."""
    return lambda chance: FORMS[form](kernels[int(chance.integers(len(kernels)))], chance)


def found_by_permutations(times: Numbers) -> list[int]:
    """The store's own."""
    return [step.at for step in time_changes(times).steps]


def invented(noise: Noise, find: Finder, series: int, seed: int = 1) -> int:
    """In how many series without a step one is found."""
    chance = np.random.default_rng(seed)
    return sum(bool(find(noise(chance))) for _ in range(series))


def found(
    noise: Noise, find: Finder, series: int, *, step: float = STEP, least_points: int = 8, seed: int = 2
) -> float:
    """The share of series with one step up or down in which it is found at its place.

    Args:
        noise: The series without the step.
        find: What finds the steps.
        series: How many.
        step: Time after over time before, or the inverse.
        least_points: Of the points before and after the step.
        seed: Of everything drawn.
    """
    chance = np.random.default_rng(seed)
    hits = 0
    for _ in range(series):
        times = noise(chance)
        at = chance.integers(least_points, POINTS - least_points + 1)
        times[at:] *= step if chance.random() < 0.5 else 1 / step
        hits += any(abs(place - at) <= NEAR for place in find(times))
    return hits / series


def counters(series: int, seed: int = 3) -> tuple[int, int, int]:
    """Seeded histories of an exact counter -> changes made, changes found at the first run after, changes invented."""
    chance = np.random.default_rng(seed)
    made: set[tuple[int, int]] = set()
    rows: list[tuple[int, int, int, float]] = []
    for number in range(series):
        places = np.flatnonzero(chance.random(POINTS - 1) < chance.choice([0.0, 0.05, 0.3])) + 1
        value, values = float(chance.integers(1, 2**53)), np.empty(POINTS)
        for at in range(POINTS):
            if at in places:  # by one, or by any number
                value += 1.0 if chance.random() < 0.5 else float(chance.integers(1, 10_000))
            values[at] = value
        known = np.flatnonzero(chance.random(POINTS) >= 0.1)
        rows += [(number, int(at), int(chance.integers(1, 4)), float(values[at])) for at in known]
        made |= {(number, int(after)) for before, after in pairwise(known) if values[before] != values[after]}
    with tempfile.TemporaryDirectory() as folder, Store(place_of(folder), Contents(())) as store:
        columns = dict(
            zip(("series", "number", "launches", "counter"), map(list, zip(*rows, strict=True)), strict=True)
        )
        table = store.kept(
            "seeded", f"SELECT NULL AS codes, {', '.join(f'unnest(${name}) AS {name}' for name in columns)}", **columns
        )
        histories = histories_of(store, table, ["counter"])
    reported = {(number, change.at) for (number, _), history in histories.items() for change in history.changes}
    return len(made), len(made & reported), len(reported - made)


# Other methods


def e_divisive(times: Numbers) -> list[int]:
    """The first step of E-divisive: the energy distance of both sides, and random orders."""
    logs = np.log(times)
    distances = np.abs(logs[:, None] - logs[None, :])
    chance = np.random.default_rng(5)
    seen = _energies(distances)
    for _ in range(PERMUTATIONS):
        order = chance.permutation(len(times))
        if _energies(distances[np.ix_(order, order)]).max() >= seen.max() - 1e-12:
            return []
    return [int(seen.argmax()) + LEAST_POINTS]


def _energies(distances: Numbers) -> Numbers:
    count = len(distances)
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = distances.cumsum(0).cumsum(1)
    one = np.arange(LEAST_POINTS, count - LEAST_POINTS + 1)
    other = count - one
    within, all_of_one = sums[one, one], sums[one, count]
    between, rest = all_of_one - within, sums[count, count] - 2 * all_of_one + within
    difference = 2 * between / (one * other) - within / (one * (one - 1)) - rest / (other * (other - 1))
    energies: Numbers = one * other / count * difference
    return energies


def pelt(times: Numbers, penalty: float) -> list[int]:
    """The steps of PELT (ruptures) with the mean as the level and noise from differences of successive points."""
    import ruptures

    logs = np.log(times)
    noise = max(1.4826 * float(np.median(np.abs(np.diff(logs)))) / np.sqrt(2), 1e-4)
    search = ruptures.Pelt(model="l2", min_size=LEAST_POINTS, jump=1)
    return [int(at) for at in search.fit((logs / noise).reshape(-1, 1)).predict(pen=penalty)[:-1]]


METHODS: Mapping[str, Finder] = {
    "permutations of t (the store's)": found_by_permutations,
    "E-divisive": e_divisive,
    **{f"PELT, penalty {penalty}": partial(pelt, penalty=penalty) for penalty in (20, 30, 40, 60)},
}


def compare_methods() -> None:
    """The table from which the method was chosen."""
    print(f"| development half | points | invented in 1,000 series | steps of {STEP - 1:.0%} found | time a series |")
    print("| --- | --- | ---: | ---: | ---: |")
    for name, find in METHODS.items():
        for form in FORMS:
            begin = time.perf_counter()
            wrong = invented(noise_of(form, measured(DEVELOPMENT)), find, 1_000)
            each = (time.perf_counter() - begin) / 1_000
            right = found(noise_of(form, measured(DEVELOPMENT, long=True)), find, 200)
            print(f"| {name} | {form} | {wrong} | {right:.1%} | {1e3 * each:.1f} ms |", flush=True)


# The tables


def made_up(noise: Noise, shape: Callable[[np.random.Generator], NDArray[Any]]) -> Noise:
    """The noise times a shape in which there is no step."""
    return lambda chance: noise(chance) * shape(chance)


AT = np.arange(POINTS)
SHAPES: Mapping[str, Callable[[np.random.Generator], NDArray[Any]]] = {
    "a line, 5 % from first to last": lambda _: 1 + 0.05 * AT / POINTS,
    "a line, 20 %": lambda _: 1 + 0.2 * AT / POINTS,
    "warming up, 5 %, time constant 10 points": lambda _: 1 + 0.05 * (1 - np.exp(-AT / 10)),
    "waves of 8 to 30 points, 5 %": lambda chance: (
        1 + 0.025 * np.sin(2 * np.pi * (AT / chance.uniform(8, 30) + chance.random()))
    ),
    "two states, 5 %, drawn for each point": lambda chance: 1 + 0.05 * (chance.random(POINTS) < 0.5),
    "two states, 5 %, a switch at 3 of 10 points": lambda chance: 1 + 0.05 * _switching(chance, 0.3),
    "two states, 5 %, a switch at 1 of 20 points": lambda chance: 1 + 0.05 * _switching(chance, 0.05),
}


def _switching(chance: np.random.Generator, share: float) -> Numbers:
    return ((chance.random(POINTS) < share).cumsum() % 2).astype(np.float64)


def with_clock(chance: np.random.Generator, noise: Noise) -> tuple[Numbers, Numbers]:
    """Times and clocks of two states, which switch at 1 of 20 points; the kernel follows the clock."""
    clocks = 1.98 / (1 + 0.05 * _switching(chance, 0.05)) * chance.normal(1, 0.001, POINTS)
    return noise(chance) * 1.98 / clocks, clocks


def show(series: int) -> None:
    """All tables, on the half that nothing was chosen on."""
    made, right, wrong = counters(series)
    print(f"Exact counters: {right:,} of {made:,} changes found at the first run after them, {wrong} invented.\n")
    all_kernels, long = measured(REPORTED), measured(REPORTED, long=True)
    print(f"| points | invented in {series:,} series | steps of 2 % found | 3 % | 5 % | 3 %, 5 or more points after |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for form in FORMS:
        noise = noise_of(form, long)
        wrong = invented(noise_of(form, all_kernels), found_by_permutations, series)
        shares = [found(noise, found_by_permutations, series // 4, step=step) for step in (1.02, 1.03, 1.05)]
        early = found(noise, found_by_permutations, series // 4, least_points=5)
        print(f"| {form} | {wrong} | " + " | ".join(f"{share:.1%}" for share in [*shares, early]) + " |", flush=True)
    print("\n| no step, but (medians of 5) | called a step | drift | wandering | of the clock |")
    print("| --- | ---: | ---: | ---: | ---: |")
    noise = noise_of("median of 5", long)
    for name, shape in SHAPES.items():
        chance = np.random.default_rng(4)
        _shares(name, [(made_up(noise, shape)(chance), None) for _ in range(series // 4)])
    chance = np.random.default_rng(4)
    _shares("the same, with known clocks", [with_clock(chance, noise) for _ in range(series // 4)])


def _shares(name: str, series: Sequence[tuple[Numbers, Numbers | None]]) -> None:
    answers = [time_changes(*each) for each in series]
    kinds = [
        sum(map(bool, kind)) / len(answers)
        for kind in (
            [each.steps for each in answers],
            [each.drifts for each in answers],
            [each.wanders for each in answers],
            [each.with_clock for each in answers],
        )
    ]
    print(f"| {name} | " + " | ".join(f"{share:.1%}" for share in kinds) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--methods", action="store_true", help="compare the methods on the development half")
    words.add_argument("--series", type=int, default=10_000, help="without a step, for each form; a quarter with one")
    options = words.parse_args()
    if options.methods:
        compare_methods()
    else:
        show(options.series)


if __name__ == "__main__":
    main()
