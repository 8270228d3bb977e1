"""The ranking and the ladder at every width: each row keeps its number, its kernel's name, and each figure its unit."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product, takewhile

from ncuview.engine.priority import priorities
from ncuview.records.diagnosis import Diagnosis, Gain, LaunchDiagnosis
from ncuview.records.ladder import Ladder
from ncuview.render import render
from ncuview.render.priorities import priorities_page
from tests.hostile import HOSTILE, poisoned
from tests.render.sample import advice_finding, launch_near_peak, launch_with_advice
from tests.render.sample import ladder as small_ladder
from tests.render.test_pages import too_wide
from tests.together import together

WIDTHS = range(40, 241)
FEW, MANY = 12, 1003
"""Rows of the ranking at every width, and at some: four digits in front of a row take long to lay out."""
TEMPLATE = f"cub::RadixSort<{','.join(f'Policy{each}<float*,Digits{each}>' for each in 'ABCDEFGHIJKL')}>"
"""About 300 characters. Without blanks and digits, so that its pieces are words of a page that no figure is."""

Cells = tuple[str, tuple[str, ...]]
"""A kernel's name, and the figures and words of its row that no line may break."""


def launch(kernel: str, ns: float, gain: float = 0.0, optimization: str = "shared_memory_padding") -> LaunchDiagnosis:
    of_kernel = replace(
        launch_near_peak(),
        kernel=kernel,
        demangled=kernel,
        grid=(65536, 65535, 1),
        block=(32, 16, 1),
        duration_ns=ns,
    )
    if not gain:
        return of_kernel
    finding = replace(advice_finding(), predicted_speedup=Gain(gain, gain, gain), optimization=optimization)
    like = launch_with_advice()
    return replace(of_kernel, bottleneck=like.bottleneck, units=like.units, verdict=like.verdict, outcomes=(finding,))


def ranking() -> tuple[Diagnosis, dict[int, Cells]]:
    """1,003 groups, of which the first have long names and launches of uneven times; and the cells of some of them."""
    first = (
        launch("transposeCoalesced", 70.04e9, 10.59, "launch_configuration"),
        launch(TEMPLATE, 2.2e9, 3035.0),
        launch(TEMPLATE, 8.284e9, 3035.0),
        launch("transpose_parallel_per_element_tiled_padded_16x16", 1e9),
    )
    others = tuple(launch(f"kernel{n}", 1e6 - n) for n in range(1000))
    at = "65536x65535, 32x16"
    cells = {
        1: ("transposeCoalesced", (at, "70.04 s", "launch_configuration", "10.59x", "63.43 s")),
        2: (TEMPLATE, (at, "10.48 s", "2.2 s to 8.284 s", "shared_memory_padding", "3,035x", "10.48 s")),
        3: ("transpose_parallel_per_element_tiled_padded_16x16", (at, "1 s", "near-peak")),
        4: ("kernel0", (at, "1 ms", "0%", "near-peak")),
        1000: ("kernel996", (at, "999 us", "0%", "near-peak")),
        1003: ("kernel999", (at, "999 us", "0%", "near-peak")),
    }
    return Diagnosis((*first, *others), ()), cells


def long_ladder() -> tuple[Ladder, dict[int, Cells]]:
    """More than 10 steps with long document texts, and their cells."""
    advised, last = small_ladder().steps
    said = "963.833 ms, Tegra (the document names no model)"
    names = ["transposeCoalesced", "transpose_parallel_per_element_tiled_padded_16x16", TEMPLATE]
    steps = tuple(
        replace(
            advised,
            kernel=name,
            number=place,
            diagnosis=launch(name, 49.59e6, 2478.0, "launch_configuration"),
            reported=said,
            better=last.kernel,
            measured_speedup=2748.0,
        )
        for place, name in enumerate(names, start=10)
    )
    last_step = replace(last, number=120, reported="8.3 GFLOP/s, GeForce GTX 280")
    figures = ("49.59 ms", "1,635 GB/s", "l1_data 88%", "launch_configuration", "2,478x", "2,748x", "#120")
    document = ("963.833 ms,", "Tegra", "(the", "document", "names", "no", "model)")
    cells: dict[int, Cells] = {place: (name, (*figures, *document)) for place, name in enumerate(names, start=10)}
    cells[120] = (last.kernel, ("141.8 us", "3,786 GB/s", "dram 76%", "near-peak", "8.3 GFLOP/s,", "280"))
    return Ladder("transpose", (*steps, last_step), (), ""), cells


RANKING, RANKED = ranking()
PRIORITIES = priorities(RANKING)
LADDER, STEPS = long_ladder()


def rows(page: str) -> dict[int, list[str]]:
    """The lines of each numbered row in all parts of a page's table."""
    lines = page.split("\n")
    found: dict[int, list[str]] = {}
    for head in (at for at, line in enumerate(lines) if re.match(r" *# ", line)):
        margin = lines[head].index("#") + 1
        number = 0
        for line in takewhile(lambda line: line and not line.startswith("and "), lines[head + 1 :]):
            number = int(line[:margin]) if line[:margin].strip() else number
            if number:
                found.setdefault(number, []).append(line[margin:])
    return found


def missing_of(cells: Cells, lines: list[str]) -> list[str]:
    """What a row does not show whole."""
    name, figures = cells
    rest = name
    for word in " ".join(lines).split():
        if len(word) > 1 or word == rest:  # else it is how often the kernel was launched
            rest = rest.removeprefix(word)
    text = "\n".join(lines)
    return [*([name] if rest else []), *(each for each in figures if not shown_whole(each, text))]


def shown_whole(words: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\S){re.escape(words)}(?!\S)", text))


@together("width", WIDTHS)
def test_the_ranking_keeps_names_numbers_and_units(width: int) -> None:
    check_ranking(width, FEW)


@together("width", [40, 41, 60, 80, 100, 120, 160, 240])
def test_a_long_ranking_keeps_names_numbers_and_units(width: int) -> None:
    check_ranking(width, MANY)


def check_ranking(width: int, listed: int) -> None:
    page = priorities_page(RANKING, PRIORITIES, listed=listed, full=0, width=width, color=False)
    found, shown = rows(page), {number: cells for number, cells in RANKED.items() if number <= listed}
    assert sorted(found) == list(range(1, listed + 1))
    assert {number: missing for number, cells in shown.items() if (missing := missing_of(cells, found[number]))} == {}
    assert not too_wide(page, width)


@together("width", WIDTHS)
def test_the_ladder_keeps_names_numbers_and_units(width: int) -> None:
    page = render(LADDER, width=width)
    found = rows(page)
    assert sorted(found) == sorted(STEPS)
    assert {number: missing for number, cells in STEPS.items() if (missing := missing_of(cells, found[number]))} == {}
    assert not too_wide(page, width)


@together("width", WIDTHS)
def test_each_column_keeps_its_heading(width: int) -> None:
    ranked = priorities_page(RANKING, PRIORITIES, listed=3, full=0, width=width, color=False)
    for heading in ("# kernel", "grid, block", "runs", "time", "share", "first advice", "gain", "saves", "each launch"):
        assert shown_whole(heading, ranked.replace("each launch:", "each launch"))
    for heading in (
        "# kernel",
        "time",
        "rate",
        "bottleneck",
        "first advice",
        "predicted",
        "measured",
        "by",
        "document",
    ):
        assert shown_whole(heading, render(LADDER, width=width).replace("document:", "document"))


@together("text, width", product(HOSTILE.values(), [40, 41, 79, 120, 240]))
def test_no_text_makes_a_row_wider_than_the_page(text: str, width: int) -> None:
    answer = poisoned(Diagnosis(RANKING.launches[:5], ()), text)
    assert not too_wide(priorities_page(answer, priorities(answer), listed=5, full=0, width=width, color=False), width)
    assert not too_wide(render(poisoned(LADDER, text), width=width), width)
