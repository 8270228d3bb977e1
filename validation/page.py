"""The page of the scores, validation/accuracy.md, from scores.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

Json = dict[str, Any]
EVERY_PROGRAM = "all programs together"

_HEAD = """# Accuracy

`python -m validation.score` writes scores.json and this page from the reports that `python -m validation.measure`
recorded on an NVIDIA H200.

A *pair* is a launch whose labelled change gained 1.10x or more, as measured in the same run. A *negative example* is
a launch whose labelled change gained less than 1.05x. *Near peak* is a launch that its author calls finished and that
uses a unit to 72 % of its peak or more. Advice is what is predicted to gain 1.10x or more. Intervals are Wilson's, at
95 %.

Nsight Compute's rules count as right for every word that their text could mean. Where an adviser says nothing of the
right change, its predicted gain counts as 1.0x. Nsight Compute's rules were asked on part of the programs; where that
is so, the second column is ncuview on that part. The measured gain is that of the labelled step: where other advice
is accepted, its prediction is compared with a gain that is not its own.

The rules have been corrected with all programs in view since, so **these figures flatter the rules.** The figures to
expect on unseen kernels are those of the held-out evaluations in [held-out.md](held-out.md); [sets.toml](sets.toml)
says what each set was written from.

At the end stand the programs that an NVIDIA H100 ran too (80 GB HBM3, ncu 2025.3.1). No rule or threshold was fitted
to that GPU; its attainable shares are those of `ncuview calibrate`. The labels are the same, the gains were measured
there.
"""


def page(found: Json, causes: Mapping[str, str]) -> str:
    """The page of these scores."""
    parts = [_HEAD, *map(figures, found["groups"]), _causes(found["misses"], causes)]
    parts += [misses(name, missed) for name, missed in found["misses"].items()]
    return "\n".join(parts)


def figures(group: Json) -> str:
    """The table of a group of launches: a row for each figure, a column for each adviser."""
    advisers, guess = group["advisers"], group["same_guess"]
    heads = [each["adviser"] + ("" if each is advisers[0] else f" on {each['launches']} launches") for each in advisers]

    def row(what: str, cell: Callable[[Json], str], guessed: str = "-") -> str:
        return f"| {what} | " + " | ".join([*map(cell, advisers), guessed]) + " |"

    def shares(what: str, figure: str) -> str:
        return row(what, lambda each: share(each[figure]), share(guess.get(figure)))

    kinds = f"{group['pairs']} pairs, {group['near_peak']} near peak, {group['negative_examples']} negative examples"
    return "\n".join(
        [
            f"## {group['name']}: {group['launches']} launches, {kinds}",
            "",
            "| | " + " | ".join(heads) + " | always the same guess |",
            "| --- |" + " ---: |" * (len(advisers) + 1),
            shares("first advice right", "first_right"),
            shares("right among the first three", "among_three"),
            row(
                "first advice right, mean over programs",
                lambda each: f"{each['first_right_mean_over_programs']:.0%}",
            ),
            row(
                "predicted to measured gain, median factor",
                lambda each: f"{each['median_factor']:.2f}",
                f"{guess['median_factor']:.2f} ({guess['gain']:.2f}x)",
            ),
            row("the same where the step that was made came first", _of_the_step),
            shares("predicted within 15%", "within_15"),
            shares("predicted within 25%", "within_25"),
            shares("measured gain between low and high", "between_low_and_high"),
            shares("advice on launches near their peak", "advice_near_peak"),
            shares("advice on negative examples", "advice_on_negative_examples"),
            "",
        ]
    )


def _of_the_step(each: Json) -> str:
    factor = each["median_factor_where_the_step_came_first"]
    return f"{factor:.2f} of {each['step_came_first']}" if factor else "-"


def share(counts: list[int] | None) -> str:
    """Hits of so many, with the 95 % interval of their share; a dash where there are none."""
    if not counts or not counts[1]:
        return "-"
    low, high = _wilson(*counts)
    return f"{counts[0]} of {counts[1]} ({low:.0%} to {high:.0%})"


def _wilson(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    share = hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def _causes(of_sets: Mapping[str, list[Json]], causes: Mapping[str, str]) -> str:
    counts = Counter(miss["cause"] for missed in of_sets.values() for miss in missed)
    rows = [f"| {cause} | {counts[cause]} | {meaning} |" for cause, meaning in causes.items()]
    return "\n".join(
        [
            f"## Causes of the {counts.total()} misses",
            "",
            "A launch is missed where the first advice is not right, where the predicted gain is off by more than a",
            "factor of 1.25, and where a finished launch or a negative example gets advice.",
            "",
            "| cause | launches | meaning |",
            "| --- | ---: | --- |",
            *rows,
            "",
        ]
    )


def misses(name: str, missed: list[Json]) -> str:
    """The table of the launches of a set that are missed."""
    rows = [
        f"## Misses: {name}",
        "",
        "| launch | right | measured | ncuview | cause | note |",
        "| --- | --- | ---: | --- | --- | --- |",
    ]
    for miss in missed:
        advised = ", ".join(f"{word} {gain:.2f}" for word, gain in miss["advised"]) or "nothing"
        negative = f"not {miss['negative_example']}" if miss["negative_example"] else "near peak"
        cells = [miss["launch"], "/".join(miss["right"]) or negative, f"{miss['measured']:.2f}", advised]
        rows.append(f"| {' | '.join([*cells, miss['cause'], miss.get('note', '')])} |")
    return "\n".join([*rows, ""])
