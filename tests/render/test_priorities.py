"""The page of priorities: every group on a line, the bound in a sentence, and nothing that acts on a terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan

import pytest

from ncuview.engine.priority import priorities
from ncuview.records.diagnosis import Diagnosis
from ncuview.render import render
from ncuview.render.document import as_json
from ncuview.render.priorities import priorities_page
from tests.hostile import each_hostile_text, poisoned
from tests.render.sample import diagnosis, launch_near_peak, launch_with_advice
from tests.render.schema import problems
from tests.render.test_pages import ACTS_ON_A_TERMINAL, too_wide


def page(answer: Diagnosis, *, listed: int = 30, full: int = 0, width: int = 80) -> str:
    return priorities_page(answer, priorities(answer), listed=listed, full=full, width=width, color=False)


def table(shown: str) -> list[str]:
    """The lines of a page's table, without its headings."""
    lines = shown.split("\n")
    at = next(place for place, line in enumerate(lines) if line.lstrip().startswith("# ")) + 1
    return lines[at : lines.index("", at)]


def test_each_group_has_its_line_and_the_most_worthwhile_is_first() -> None:
    shown = page(diagnosis(), width=120)
    heading = next(line for line in shown.split("\n") if line.startswith("# "))
    columns = ["#", "kernel", "grid,", "block", "runs", "time", "share", "first", "advice", "gain", "saves"]
    assert heading.split() == columns
    lines = table(shown)
    assert [line.split()[:2] for line in lines] == [
        ["1", "transposeCoalesced"],
        ["2", "transposeNoBankConflicts"],
        ["3", "latencyBound"],
    ]
    assert "69% shared_memory_padding 2.18x 177.7 us" in " ".join(lines[0].split())
    assert lines[1].endswith("near-peak")


def many() -> Diagnosis:
    """35 groups that take as long as each other, of which none has advice."""
    kernels = (replace(launch_near_peak(), kernel=f"k{n}", demangled=f"k{n}()") for n in range(35))
    return Diagnosis(tuple(kernels), ())


@pytest.mark.parametrize(
    ("top", "listed", "others"),
    [
        (3, 3, "and 32 more with 91% of the time; --top N shows more"),
        (0, 30, "and 5 more with 14% of the time; --top N shows more"),
        (35, 35, ""),
        (100, 35, ""),
    ],
)
def test_the_ranking_has_the_requested_rows_and_counts_the_others(top: int, listed: int, others: str) -> None:
    shown = render(many(), width=120, top=top)
    lines = [line for line in table(shown) if not line.startswith("and ")]
    assert [line.split()[0] for line in lines] == [str(rank) for rank in range(1, listed + 1)]
    assert [line for line in shown.split("\n") if "--top" in line] == [others] * bool(others)
    assert shown.count("\n  Units ") == min(top, 35)


def test_without_a_number_of_kernels_a_page_of_them_is_ranked_and_three_are_shown_in_full() -> None:
    launches = many().launches * 2
    shown = render(Diagnosis(launches, ()), width=120)
    assert "and 5 more with 14% of the time; --top N shows more" in shown
    assert shown.count("\n  Units ") == 3


def test_the_bound_is_of_all_kernels_together() -> None:
    words = " ".join(page(diagnosis()).split())
    assert (
        "Together they take 472.6 us; with all first advice for kernels taken 294.9 us are left, 1.60x faster" in words
    )


def test_without_advice_no_gain_is_predicted() -> None:
    words = " ".join(page(Diagnosis((launch_near_peak(),), ())).split())
    assert "and no advice saves any of it." in words
    assert "faster" not in words


def test_without_launches_there_is_no_table() -> None:
    assert "Together they take 0 ns" in render(Diagnosis((), ()), top=3)


@pytest.mark.parametrize("full", [0, 1, 2])
def test_the_first_groups_are_shown_in_full(full: int) -> None:
    shown = page(diagnosis(), full=full)
    assert shown.count("\n  Units ") == full
    assert ("Pad the tile by one column" in shown) == (full > 0)


def test_templates_of_one_name_are_distinguished_by_their_types() -> None:
    two = tuple(replace(launch_with_advice(), kernel="k", demangled=f"void k<{n}>(int)") for n in (1, 2))
    shown = "".join(page(Diagnosis(two, ()), width=120).split())
    assert "voidk<1>(int)" in shown
    assert "voidk<2>(int)" in shown


def test_what_the_total_leaves_out_is_said() -> None:
    launches = (launch_with_advice(), replace(launch_near_peak(), duration_ns=nan))
    answer = Diagnosis(launches, (), launched={("another", (1, 1, 1), (1, 1, 1)): 5})
    words = " ".join(page(answer).split())
    assert "1 launches are not in these times: their durations were not collected." in words
    assert "5 launches are not in these times: no launch of their configuration was profiled." in words


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert not too_wide(page(diagnosis(), full=1, width=width), width)


@each_hostile_text
@pytest.mark.parametrize("width", [40, 80])
def test_no_text_from_outside_acts_on_the_terminal(text: str, width: int) -> None:
    shown = page(poisoned(diagnosis(), text), full=1, width=width)
    assert not ACTS_ON_A_TERMINAL.search(shown)
    assert not too_wide(shown, width)


def test_json_has_the_groups_and_the_bound() -> None:
    entry = json.loads(as_json(diagnosis()))["priorities"]
    assert [(group["rank"], group["optimization"], group["rule"]) for group in entry["groups"]] == [
        (1, "shared_memory_padding", "SMEM001"),
        (2, None, None),
        (3, None, None),
    ]
    assert entry["total_ns"] == pytest.approx(472_620.0)
    assert entry["left_ns"] == pytest.approx(entry["total_ns"] - entry["saved_ns"]["best"])
    assert entry["groups"][0]["example"] == {"report": "runs/transpose.ncu-rep", "index": 0}


def test_json_takes_the_weights_that_it_is_given() -> None:
    first = launch_with_advice()
    sampled = replace(diagnosis(), launched={(first.kernel, first.grid, first.block): 100})
    document = json.loads(as_json(sampled))
    assert not problems(document)
    assert (document["priorities"]["groups"][0]["launches"], document["priorities"]["groups"][0]["profiled"]) == (
        100,
        1,
    )
