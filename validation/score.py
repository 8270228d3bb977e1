"""Score diagnoses of labelled launches, and the estimates of Nsight Compute's rules on the same launches.

    python -m validation.score              writes validation/scores.json from the reports, and accuracy.md from that
    python -m validation.score "SET"        prints the scores of one set, for its held-out evaluation

Every launch that is missed needs a cause in misses.toml; where one is missing, nothing is written.
"""

from __future__ import annotations

import json
import statistics
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from ncuview.records.ladder import Ladder
from validation.advisers import OURS, VENDOR, Adviser, best_constant, mean_over_families, off
from validation.cases import Case, Judged, diagnosed, of_catalogue, of_programs, of_variants, recorded
from validation.labelled import ELSEWHERE, HERE, REPORTS, sets, sources
from validation.page import EVERY_PROGRAM, figures, misses, page

SCORES, PAGE, MISSES = HERE / "scores.json", HERE / "accuracy.md", HERE / "misses.toml"
WITHIN = (0.15, 0.25)
"""Shares by which a predicted gain may be off."""
SHOWN = 4
"""So many findings of a missed launch are listed."""

Json = dict[str, Any]


def main(held_out: Annotated[str | None, typer.Argument(metavar="SET")] = None) -> None:
    """Score the tree, write the file and its page, and print the line of all programs; or print the scores of a set."""
    if held_out:
        evaluate(held_out)
        return
    found = scores()
    SCORES.write_text(_text(found), encoding="utf-8")
    PAGE.write_text(page(found, causes()), encoding="utf-8")
    every = next(group for group in found["groups"] if group["name"] == EVERY_PROGRAM)
    first, among = (every["advisers"][0][figure] for figure in ("first_right", "among_three"))
    kinds = f"{every['launches']} launches, {every['pairs']} pairs, {every['near_peak']} near peak"
    print(f"{kinds}, {every['negative_examples']} negative examples")
    print(f"first advice right: {first[0]} of {first[1]}; among the first three: {among[0]} of {among[1]}")


def evaluate(name: str) -> None:
    """Print the figures and the misses of one set, whose misses may be without causes yet."""
    of_set = {each.name: each.programs for each in sets()}
    if name not in of_set:
        raise typer.BadParameter(f"no set {name!r}; sets.toml has {', '.join(of_set)}")
    cases = of_programs(REPORTS, of_set[name])
    print(figures({"name": name, **_figures(cases)}))
    print(misses(name, [_miss(case) for case in cases if OURS.misses(case)]))


def scores(judged: Judged = diagnosed, climbed: Callable[[str], Ladder] = recorded) -> Json:
    """All figures of the tree, and the launches that are missed with their causes."""
    of_sets = {each.name: of_programs(REPORTS, each.programs, judged) for each in sets()}
    every = [case for cases in of_sets.values() for case in cases]
    both = {report.name.removesuffix(".ncu-repz") for report in ELSEWHERE.glob("p*.ncu-repz")}
    groups = {
        **of_sets,
        EVERY_PROGRAM: every,
        "catalogue": of_catalogue(climbed),
        "catalogue at other sizes and with other element types": of_variants(REPORTS, judged),
        f"the {len(both)} programs that were run on both, on an NVIDIA H100": of_programs(ELSEWHERE, both, judged),
        f"the {len(both)} programs that were run on both, on the NVIDIA H200": [c for c in every if c.family in both],
    }
    missed = {name: [case for case in cases if OURS.misses(case)] for name, cases in of_sets.items()}
    _check_causes([case.kernel for cases in missed.values() for case in cases])
    return {
        "groups": [{"name": name, **_figures(cases)} for name, cases in groups.items()],
        "misses": {name: [_miss(case) for case in cases] for name, cases in missed.items()},
    }


@cache
def causes() -> Mapping[str, str]:
    """The closed list of causes, and what each means."""
    meanings: Mapping[str, str] = tomllib.loads(MISSES.read_text(encoding="utf-8"))["causes"]
    return meanings


@cache
def reasons() -> Mapping[str, Mapping[str, str]]:
    """Launch -> the cause of its miss, and perhaps a note."""
    of_launches: Mapping[str, Mapping[str, str]] = tomllib.loads(MISSES.read_text(encoding="utf-8"))["launches"]
    return of_launches


def _check_causes(missed: Sequence[str]) -> None:
    without = [kernel for kernel in missed if kernel not in reasons()]
    if without:
        raise SystemExit(f"misses.toml has no cause for {', '.join(without)}")
    unknown = {each["cause"] for each in reasons().values()} - causes().keys()
    if unknown:
        raise SystemExit(f"causes of misses.toml that its list does not hold: {', '.join(sorted(unknown))}")


def _figures(cases: Sequence[Case]) -> Json:
    asked = [case for case in cases if case.vendor is not None]
    columns = [(OURS, cases)]
    if asked and len(asked) < len(cases):
        columns.append((OURS, asked))
    if asked:
        columns.append((VENDOR, asked))
    return {
        "launches": len(cases),
        "pairs": sum(bool(case.right) for case in cases),
        "near_peak": sum(case.near_peak for case in cases),
        "negative_examples": sum(bool(case.negative_example) for case in cases),
        "advisers": [_scored(adviser, judged) for adviser, judged in columns],
        "same_guess": _same_guess([case for case in cases if case.right]),
    }


def _scored(adviser: Adviser, cases: Sequence[Case]) -> Json:
    pairs = [case for case in cases if case.right]
    of_the_step = [adviser.factor(case) for case in pairs if adviser.names_the_step(case)]
    return {
        "adviser": adviser.name,
        "launches": len(cases),
        "first_right": _share(adviser.hit(case, 1) for case in pairs),
        "among_three": _share(adviser.hit(case, 3) for case in pairs),
        "first_right_mean_over_programs": round(mean_over_families(adviser, pairs), 4),
        "median_factor": round(statistics.median(adviser.factor(case) for case in pairs), 4),
        # Where another step is accepted, the measured gain is not what that step brings.
        "median_factor_where_the_step_came_first": round(statistics.median(of_the_step), 4) if of_the_step else None,
        "step_came_first": len(of_the_step),
        **{
            f"within_{share:.0%}".rstrip("%"): _share(adviser.factor(case) <= 1 + share for case in pairs)
            for share in WITHIN
        },
        # Nsight Compute's rules give no bounds.
        "between_low_and_high": _share(adviser.covers(case) for case in pairs) if adviser is OURS else None,
        "advice_near_peak": _share(bool(adviser.advised(case)) for case in cases if case.near_peak),
        "advice_on_negative_examples": _share(adviser.advises_in_vain(case) for case in cases if case.negative_example),
    }


def _same_guess(pairs: Sequence[Case]) -> Json:
    guess = best_constant(pairs)
    factors = [off(guess, case.gain) for case in pairs]
    within = {f"within_{share:.0%}".rstrip("%"): _share(each <= 1 + share for each in factors) for share in WITHIN}
    return {"gain": guess, "median_factor": round(statistics.median(factors), 4), **within}


def _share(hits: Iterator[bool]) -> list[int]:
    each = list(hits)
    return [sum(each), len(each)]


def _miss(case: Case) -> Json:
    return {
        "launch": case.kernel,
        "program": sources()[case.family].stem,
        "right": list(case.right),
        "negative_example": case.negative_example if not case.right else "",
        "measured": round(case.gain, 2),
        "advised": [[advice.optimization, round(advice.gain, 2)] for advice in case.ours[:SHOWN]],
        **reasons().get(case.kernel, {"cause": ""}),
    }


def _text(found: Json) -> str:
    """JSON with one line for each adviser's figures and each miss, so that changes can be read."""
    groups = [
        ",\n   ".join(
            [
                json.dumps({key: value for key, value in group.items() if key != "advisers"})[:-1],
                '"advisers": [\n    ' + ",\n    ".join(map(json.dumps, group["advisers"])) + "]}",
            ]
        )
        for group in found["groups"]
    ]
    missed = [
        f"{json.dumps(name)}: [\n   " + ",\n   ".join(map(json.dumps, each)) + "]"
        for name, each in found["misses"].items()
    ]
    return '{"groups": [\n  ' + ",\n  ".join(groups) + '],\n "misses": {\n  ' + ",\n  ".join(missed) + "}}\n"


if __name__ == "__main__":
    typer.run(main)
