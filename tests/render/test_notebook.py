"""What notebooks show: complete, safe whatever names say, without scripts, and found by the notebook itself."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ncuview
from ncuview.base.paths import shipped
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Profile
from ncuview.render.notebook import answer_html, diagnosis_html, ladder_html, launch_html
from tests.builders import Launch, make_profile
from tests.hostile import each_hostile_text, poisoned
from tests.render.sample import (
    diagnosis,
    ladder,
    launch_near_peak,
    launch_unclear,
    launch_with_advice,
)

TAGS = {
    *("div", "style", "details", "summary", "p", "pre", "b", "span", "del", "ins"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"class", "open", "style"}
REPORT = shipped("kernels") / "transpose" / "h200.ncu-repz"
ANSWERS: dict[str, Profile | Diagnosis | Ladder | LaunchDiagnosis] = {
    "profile": make_profile(Launch(), Launch(kernel="second")),
    "diagnosis": diagnosis(),
    "ladder": ladder(),
    "launch": launch_with_advice(),
}
answers = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)


class Page(HTMLParser):
    """What a browser would make of it: tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.style = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.text += data


def check_safe(html: str) -> None:
    page = Page(html)
    assert not page.open
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert page.tags[0] == "div"
    assert page.tags.count("style") == 1
    assert "http" not in page.style
    assert "url(" not in page.style
    assert "@import" not in page.style


@answers
def test_a_notebook_finds_the_page_by_itself(answer: Diagnosis | Ladder | LaunchDiagnosis) -> None:
    shown = answer._repr_html_()
    assert shown == answer_html(answer)
    check_safe(shown)


@answers
def test_colours_follow_the_reader_and_stay_in_the_cell(answer: Diagnosis | Ladder | LaunchDiagnosis) -> None:
    style = Page(answer_html(answer)).style
    assert "@media (prefers-color-scheme:dark)" in style
    outside = style.replace("@media (prefers-color-scheme:dark){", "")
    selectors = [rule.split("{")[0] for rule in outside.split("}") if "{" in rule]
    assert all(part.startswith(".ncuview") for rule in selectors for part in rule.split(","))


def test_advice_is_shown_with_all_that_backs_it() -> None:
    text = Page(launch_html(launch_with_advice())).text
    for words in (
        "Pad the tile by one column: 2.18x faster",
        "1.94x to 2.29x in 8 of 10 cases, leaves about 150.6 us of 328.3 us",
        "The bottleneck is l1_data",
        "transpose/coalesced.cu:63  90% of it",
        "tile[threadIdx.x][threadIdx.y + j];",
        "- __shared__ float tile[32][32];",
        "+ __shared__ float tile[32][32 + 1];",
        "falls from 16.5 to 1.0",
        "every shared-memory access becomes free of conflicts",
        "thread_coarsening 1.20x instead (PAR001)",
        "not the bottleneck: l1_data at 88% of its peak is",
    ):
        assert words in text
    assert "int x = threadIdx.x" not in text, "only what changes is shown"


def test_a_launch_near_its_peak_says_stop_here() -> None:
    text = Page(launch_html(launch_near_peak())).text
    assert "At 97% of what dram attains. Stop here." in text
    assert "faster" not in text


def test_what_could_not_be_judged_is_said() -> None:
    text = Page(launch_html(launch_unclear())).text
    assert "Unclear" in text
    assert "shared-bank-conflict: metrics that they need have no value here" in text
    assert "share is not a number" in text


def test_a_ladder_shows_prediction_and_measurement() -> None:
    text = Page(ladder_html(ladder())).text
    for words in ("transposeCoalesced", "2.18x", "1.94x to 2.29x", "2.32x", "1,635 GB/s", "The slices are balanced."):
        assert words in text


def test_the_launch_that_gains_most_is_open() -> None:
    longer = replace(launch_with_advice(), kernel="longer", duration_ns=9e6)
    html = diagnosis_html(Diagnosis((launch_with_advice(), longer, launch_near_peak()), ()))
    opened = html.split('<details open="open">')
    assert len(opened) == 2
    assert opened[1].startswith("<summary><b>longer</b>")


def test_of_many_launches_those_that_gain_most_are_shown_in_their_order() -> None:
    launches = [replace(launch_with_advice(), kernel=f"k{at}_", duration_ns=1e3 * (1 + at % 40)) for at in range(80)]
    unknown = replace(launch_with_advice(), kernel="untimed", duration_ns=nan)
    html = diagnosis_html(Diagnosis((unknown, *launches), ()))
    shown = [at for at in range(80) if f">k{at}_<" in html]
    assert shown == [*range(30, 40), *range(70, 80)]
    assert "61 more launches" in html
    assert len(html) < 150_000


def test_no_launch_is_a_page_too() -> None:
    check_safe(diagnosis_html(Diagnosis((), ())))


@each_hostile_text
@answers
def test_no_text_from_a_report_becomes_markup(answer: Diagnosis | Ladder | LaunchDiagnosis, text: str) -> None:
    check_safe(answer_html(poisoned(answer, text)))


@given(st.text())
def test_any_name_is_shown_as_text(name: str) -> None:
    html = diagnosis_html(Diagnosis((replace(launch_near_peak(), kernel=name),), (), remark=name))
    check_safe(html)
    html.encode("utf-8")
    if name.isprintable():
        assert Page(html).text.count(name) >= 2


def test_a_recorded_profile_makes_a_page_of_modest_size() -> None:
    html = diagnosis_html(ncuview.diagnose(ncuview.read(REPORT)))
    check_safe(html)
    assert "Pad each row of the shared array" in html
    assert len(html) < 100_000
