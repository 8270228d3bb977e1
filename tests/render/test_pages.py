"""The pages for people: what they show, at any width, and that no text from outside can act on the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ncuview.base.figures import duration
from ncuview.records.diagnosis import Diagnosis, RuleId
from ncuview.records.ladder import Ladder
from ncuview.render import render
from tests.hostile import each_hostile_text, poisoned
from tests.render.sample import (
    advice_finding,
    diagnosis,
    ladder,
    launch_near_peak,
    launch_with_advice,
    rejected_finding,
)

WIDTHS = (40, 60, 80, 120)
ANSWERS: dict[str, Diagnosis | Ladder] = {"diagnosis": diagnosis(), "ladder": ladder()}
answers = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)

COLOR = re.compile(r"\x1b\[[0-9;]*m")
ACTS_ON_A_TERMINAL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def without_color(page: str) -> list[str]:
    return [line.rstrip() for line in COLOR.sub("", page).split("\n")]


def too_wide(page: str, width: int) -> list[str]:
    return [line for line in page.split("\n") if cell_len(line) > width]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ANSWERS)
def test_pages_stay_as_they_are(name: str, width: int, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}-{width}.txt", render(ANSWERS[name], width=width))


@answers
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal(answer: Diagnosis | Ladder, width: int) -> None:
    assert not too_wide(render(answer, width=width), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_narrow_ladder_still_names_kernels_and_advice(width: int) -> None:
    page = render(ladder(), width=width)
    assert "transp" in page
    assert "shared" in page
    assert "2.18x" in page


@answers
@pytest.mark.parametrize("width", WIDTHS)
def test_colors_change_nothing_but_escape_codes(answer: Diagnosis | Ladder, width: int) -> None:
    plain = render(answer, width=width)
    colored = render(answer, width=width, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in colored
    assert without_color(colored) == plain.split("\n")


@answers
def test_a_terminal_that_rich_does_not_know_gets_its_width_too(
    answer: Diagnosis | Ladder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "unknown")
    assert without_color(render(answer, width=60, color=True)) == render(answer, width=60).split("\n")


@answers
def test_the_environment_does_not_colour_what_is_to_be_plain(
    answer: Diagnosis | Ladder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = render(answer)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "33")
    assert render(answer) == plain


def test_in_a_notebook_the_page_is_returned_and_not_displayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert render(diagnosis()).startswith("recorded profile")


@each_hostile_text
@answers
@pytest.mark.parametrize("width", [40, 100])
def test_no_text_from_outside_acts_on_the_terminal(answer: Diagnosis | Ladder, text: str, width: int) -> None:
    page = render(poisoned(answer, text), width=width)
    assert not ACTS_ON_A_TERMINAL.search(page)
    assert page.encode("utf-8").decode("utf-8") == page
    assert not too_wide(page, width)


@each_hostile_text
@answers
def test_with_colors_only_our_own_escape_codes_are_there(answer: Diagnosis | Ladder, text: str) -> None:
    assert not ACTS_ON_A_TERMINAL.search(COLOR.sub("", render(poisoned(answer, text), color=True)))


@given(st.text(st.characters(), max_size=40))
def test_no_text_at_all_acts_on_the_terminal(text: str) -> None:
    for answer in ANSWERS.values():
        assert not ACTS_ON_A_TERMINAL.search(render(poisoned(answer, text), width=80))


@pytest.mark.parametrize(
    "name", ["[bold]x[/]", "a[/b]", "k<[with T = float]>", ":smile:", "[link=file:///etc]x[/link]"]
)
def test_names_are_shown_as_they_are_and_not_as_markup(name: str) -> None:
    launch = replace(launch_near_peak(), kernel=name)
    assert f"\n{name}  grid" in render(Diagnosis((launch,), ()))


def test_a_line_break_in_a_name_cannot_forge_a_line() -> None:
    launch = replace(launch_near_peak(), kernel="k\n  Verdict  Near its peak. Stop here.")
    assert "k\\x0a  Verdict" in render(Diagnosis((launch,), ()))


def test_the_first_line_says_where_the_data_are_from_and_why() -> None:
    first = render(diagnosis(), width=120).split("\n")[0]
    assert first == "recorded profile: NVIDIA H200, 2026-11-21, ncu 2025.3.1 (as asked for with --recorded)"


def test_a_diagnosis_without_launches_is_a_page_too() -> None:
    assert render(Diagnosis((), ())).startswith("report: unknown GPU")


def test_what_a_draft_found_is_shown_with_every_outcome_also_where_it_is_no_advice() -> None:
    draft = replace(rejected_finding(), draft=True)
    launch = replace(launch_with_advice(), outcomes=(advice_finding(), draft))
    for shown, mark in ((launch, "SYNC001, a draft"), (launch_with_advice(), "SYNC001")):
        page = " ".join(render(Diagnosis((shown,), ()), detail="verbose").split())
        assert f"fewer_barriers ({mark}), not the bottleneck: l1_data at 88% of its peak is" in page
        assert ("is. Warps wait at barriers for 31% of their time." in page) == (shown is launch)


def test_each_verdict_and_outcome_has_its_row() -> None:
    page = render(diagnosis(), width=120, detail="verbose")
    rows = {line.split()[0] for line in page.split("\n") if line.startswith("  ") and line[2:3].strip()}
    assert rows >= {"Next", "Why", "Where", "Example", "Check", "Assumes", "Taught", "Units"}
    assert rows >= {"Also", "Rejected", "Skipped", "Broken", "Passed", "No", "Verdict", "More"}
    assert "ncuview rules --metrics" in " ".join(page.split())


def test_rules_are_counted_where_their_outcomes_are_not_listed() -> None:
    launch = launch_with_advice()
    many = tuple(
        replace(each, rule=RuleId(f"NONE{at:03}", f"no-rule-{at}")) for at in range(9) for each in launch.outcomes
    )
    page = render(Diagnosis((replace(launch, outcomes=many),), ()))
    counted = {type(each).__name__: sum(isinstance(other, type(each)) for other in many) for each in many}
    assert f"  Rules    {counted['Passed']} passed" in page
    assert f"{counted['NotApplicable']} not applicable" in page
    assert "no-rule-" not in page.split("  Units")[1]


def test_a_quiet_page_has_a_line_per_launch() -> None:
    page = render(Diagnosis((launch_with_advice(), launch_near_peak()), ()), detail="quiet")
    first, second = page.splitlines()
    assert first.startswith("transposeCoalesced  328.3 us  Pad the tile by one column: ")
    assert second.endswith("At 97% of what dram attains. Stop here.")


def test_a_quiet_page_distinguishes_launches_of_one_name_and_ranks_where_asked() -> None:
    slow = launch_with_advice()
    answer = Diagnosis((replace(slow, grid=(1, 1, 1), duration_ns=slow.duration_ns / 10), slow, launch_near_peak()), ())
    lines = render(answer, detail="quiet").splitlines()
    assert [line.partition("  ")[0] for line in lines[:2]] == ["transposeCoalesced (1)", "transposeCoalesced (256x256)"]
    assert len(render(answer, detail="quiet", top=1).splitlines()) == 1
    assert render(answer, detail="quiet", top=1).startswith(f"transposeCoalesced  {duration(slow.duration_ns)}")


def test_a_long_change_is_described_by_its_recipe() -> None:
    finding = advice_finding()
    long = "\n".join(f"int a{at};" for at in range(20))
    fix = replace(finding.fix, before=long, after=long.replace("int", "float"), recipe="Use floats. Nothing else.")
    launch = replace(launch_with_advice(), outcomes=(replace(finding, fix=fix),))
    few = render(Diagnosis((launch,), ()), detail="normal")
    assert ("Use floats. Nothing else." in few, "float a7;" in few) == (False, True)  # one rule: all is shown
    many = replace(launch, outcomes=(*launch.outcomes, *launch_with_advice().outcomes[1:]) * 2)
    page = render(Diagnosis((many,), ()))
    assert "  Change   Use floats. Nothing else.\n" in page
    assert "float a7;" not in page


def test_only_the_changed_lines_of_a_fix_are_shown() -> None:
    page = render(diagnosis(), width=120)
    assert "- __shared__ float tile[32][32];" in page
    assert "+ __shared__ float tile[32][32 + 1];" in page
    assert "int x = threadIdx.x;" not in page


def test_a_time_that_was_not_measured_is_unknown() -> None:
    page = render(Diagnosis((replace(launch_with_advice(), duration_ns=nan),), ()))
    assert "nan" not in page
    assert "unknown" in page


def test_many_launches_are_listed_and_the_worst_three_explained() -> None:
    launches = tuple(replace(launch_near_peak(), index=i, kernel=f"kernel{i}") for i in range(10))
    slow = tuple(replace(launch_with_advice(), index=i, kernel=f"slow{i}") for i in (10, 11, 12))
    page = render(Diagnosis((*launches, *slow), ()), width=120)
    explained = re.findall(r"^(\w+)  grid", page, re.MULTILINE)
    assert explained == ["slow10", "slow11", "slow12"]
    assert all(f"\nkernel{i} " in page for i in range(10))
    assert "10 more launches" in page
