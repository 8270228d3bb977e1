"""Pages about many reports: terminal, JSON and HTML say the same, completely, and are safe whatever names say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import nan
from typing import Any

import pytest
from lxml import html as lxml_html

from ncuview.reader.settings import Settings
from ncuview.records.profile import Device
from ncuview.render.history import render_history
from ncuview.render.trend_words import judged_words
from ncuview.trends import DiagnosedReport, History, history_of
from tests.hostile import each_hostile_text, poisoned
from tests.render.schema import problems as problems_of
from tests.render.test_not_judged import BLIND, VENDORS, WHY
from tests.render.test_pages import ACTS_ON_A_TERMINAL
from tests.trends.series_sample import launch, reported, series_of

STEADY, SLOWER = [9e6] * 6, [1e5, 1e5, 1e5, 2e5, 2e5, 2e5]
GPU = Device("NVIDIA A100", "8.0")


def sample_reports() -> list[DiagnosedReport]:
    """Kernels that stay, move, come and go; ranks; two GPUs; a change of the clock control."""
    reports = series_of({"steady": STEADY, "slower": SLOWER, "comes": [None, *STEADY[1:]], "goes": [*STEADY[1:], None]})
    ranks = [reported("c6", [launch("steady", time)], 6, f"rank {at}") for at, time in enumerate((9e6, 9e6, 1.2e7))]
    others = [reported("c1", [launch("other", 5e5, GPU), launch("unknown", nan, GPU)], 1)]
    return [*reports, *(replace(rank, settings=Settings("base")) for rank in ranks), *others]


@cache
def sample() -> History:
    return history_of(sample_reports())


def hostile(text: str) -> History:
    """Names, advice and everything else of the launches, points, ranks and settings replaced by a text."""
    reports = [
        DiagnosedReport(
            f"{text}{report.point}",
            f"{text}{report.rank}" if report.rank else "",
            poisoned(report.diagnosis, text),
            poisoned(report.settings, text),
        )
        for report in sample_reports()
    ]
    return history_of(reports)


def document(history: History) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(render_history(history, "json"), parse_constant=refuse)


def problems(content: Any) -> list[Any]:
    return problems_of(content, "history")


def tree(history: History) -> Any:
    return lxml_html.document_fromstring(render_history(history, "html"))


def texts(node: Any) -> Iterator[str]:
    for row in node.iter("tr"):
        yield " | ".join(" ".join(cell.text_content().split()) for cell in row)


def test_json_is_as_its_schema_says() -> None:
    assert not problems(document(sample()))


def test_json_names_what_changed_where_and_why() -> None:
    series = document(sample())["series"][0]
    assert [point["name"] for point in series["points"]] == [f"c{at}" for at in range(7)]
    first = series["kernels"][0]
    assert first["kernel"] == "slower"
    (step,) = first["steps"]
    assert (step["since"], step["at"], step["before_ns"], step["after_ns"], step["confirmed"]) == (2, 3, 1e5, 2e5, True)
    assert "time x2" in step["sentence"]
    reading = next(each for each in series["kernels"] if each["kernel"] == "steady")["readings"][-1]
    assert reading["ranks"] == {"rank 0": 9e6, "rank 1": 9e6, "rank 2": 1.2e7}
    assert reading["imbalance"] == pytest.approx(4 / 3)
    assert reading["optimization"] == "shared_memory_padding"


def test_the_page_says_how_many_kernels_were_judged() -> None:
    assert "Judged: all of 4 kernels." in render_history(sample(), "html")
    first = sample().series[0]
    kernels = tuple(
        replace(kernel, readings=(*kernel.readings[:-1], replace(kernel.last, launch=launch)))
        for kernel, launch in zip(first.kernels, (BLIND, VENDORS), strict=False)
    )
    words = judged_words(replace(first, kernels=(*kernels, *first.kernels[2:])))
    assert words == f"Judged: 2 of 4 kernels; most rules could not judge 1: {WHY}; 1 not yours to change."


def test_the_terminal_names_changed_new_and_missing_kernels() -> None:
    words = " ".join(render_history(sample()).split())
    assert "NVIDIA H200: 7 points, c0 (2026-11-01) to c6 (2026-11-07), ncu 2025.3" in words
    assert "1 of 4 kernels changed; 1 is new since the first point; 3 are gone at the newest." in words
    assert "Changed at c3: 2.00x slower, 100 us -> 200 us: " in words
    assert "comes (grid 256x256, block 32x8, since c1)" in words
    assert "goes (grid 256x256, block 32x8, last at c4)" in words
    assert "rank 2 takes 1.33x the median of 3 ranks: 12 ms" in words
    assert "NVIDIA A100: 1 point, c1 (2026-11-02)" in words
    assert "2 kernels at one point: nothing to compare over time." in words


def test_points_that_share_no_kernel_are_called_different_programs() -> None:
    reports = [reported(f"c{at}", [launch(f"k{at}{kernel}", 1e5) for kernel in range(12)], at) for at in range(2)]
    for to in ("terminal", "html"):
        text = " ".join(render_history(history_of(reports), to).split())
        assert "The 2 points have no kernel in common: the reports seem to be of different programs." in text
        assert not any(words in text for words in ("New ", "Gone ", "since c1", "last at c0"))
    further = [reported(f"c{at}", [launch(f"k{kernel}", 1e5)], at) for at, kernel in ((2, 20), (3, 20))]
    assert "None of 1 kernel at more than one point changed;" in " ".join(
        render_history(history_of([*reports, *further])).split()
    )
    reports = [reported(f"c{at}", [launch("k", 1e5), launch(f"k{at}", 1e5)], at) for at in range(2)]
    assert "None of 1 kernel at more than one point changed" in render_history(history_of(reports))


def test_a_break_is_shown_on_every_page() -> None:
    reports = [
        reported(f"c{at}", [launch("k", 1e5)], at, settings=Settings("base" if at < 2 else "none")) for at in range(4)
    ]
    remark = "Not compared across c2: clock control base before, none after."
    for to in ("terminal", "html"):
        assert remark in render_history(history_of(reports), to)


def test_many_kernels_are_cut_on_the_terminal_with_their_number() -> None:
    kernels = {f"k{at}": [1e5, 1e5, 2e5, 2e5] for at in range(30)}
    page = render_history(history_of(series_of(kernels)))
    assert "25 more kernels changed." in page
    assert "10 more kernels are in the table" in page


def test_html_has_each_kernel_with_a_chart_and_its_numbers() -> None:
    page = tree(sample())
    (table, other) = page.xpath("//table[@class='trends']")
    assert [row.findtext(".//button") for row in table.findall("tbody")] == ["slower", "steady", "goes", "comes"]
    assert [row.findtext(".//button") for row in other.findall("tbody")] == ["other", "unknown"]
    for part in [*table.findall("tbody"), *other.findall("tbody")]:
        charts, rows = part.xpath(".//svg"), part.xpath(".//td/table/tbody/tr")
        assert len(charts) == 2
        assert rows
    slower = list(texts(table.findall("tbody")[0]))
    assert "c2 | 100 us | 1 | l1_data 88% | shared_memory_padding 2.18x" in slower
    assert "c3slower | 200 us | 1 | l1_data 88% | shared_memory_padding 2.18x" in slower


def test_a_chart_goes_through_every_point_that_was_measured() -> None:
    (path,) = tree(sample()).xpath("(//table[@class='trends']//svg)[1]/path[not(@class)]/@d")
    places = [tuple(map(float, place.split())) for place in path.removeprefix("M").split("L")]
    assert [x for x, _ in places] == pytest.approx([100 * at / 6 for at in range(6)], abs=0.01)
    heights = [y for _, y in places]
    assert heights[:3] == [100.0] * 3  # the shorter time is lower on the page
    assert heights[3:] == [0.0] * 3


def test_what_can_be_followed_leads_somewhere() -> None:
    page = tree(sample())
    names = page.xpath("//@id")
    assert len(names) == len(set(names))
    for attribute in ("aria-controls", "aria-labelledby", "data-filters"):
        assert set(page.xpath(f"//@{attribute}")) <= set(names)
    assert {link.removeprefix("#") for link in page.xpath("//a/@href")} <= set(names)


def test_a_single_kernel_needs_no_filters() -> None:
    page = tree(history_of(series_of({"k": [1e5] * 3})))
    assert not page.xpath("//form")
    assert not page.xpath("//table[@data-sortable]")


def test_html_loads_nothing() -> None:
    page = tree(sample())
    assert not page.xpath("//*[@src]")
    assert page.xpath("//link/@href") == ["data:,"]
    assert "http:" not in render_history(sample(), "html").replace("http://www.w3.org", "")


@each_hostile_text
def test_hostile_names_are_inert(text: str) -> None:
    history = hostile(text)
    assert {problem.validator for problem in problems(document(history))} <= {"pattern"}
    terminal = render_history(history)
    assert not ACTS_ON_A_TERMINAL.search(terminal.replace("\n", ""))
    page, plain = tree(history), tree(sample())
    for tag in ("script", "style", "img", "link", "base", "iframe", "meta"):
        assert len(page.xpath(f"//{tag}")) == len(plain.xpath(f"//{tag}")), tag
    attributes, usual = ({name for node in each.iter() for name in node.attrib} for each in (page, plain))
    assert attributes <= usual
    assert not any(name.startswith("on") for name in attributes)


def test_hundreds_of_kernels_over_tens_of_points_stay_below_a_few_megabytes() -> None:
    kernels = {f"kernel_{at}": [1e5 * (at + 1)] * 30 for at in range(300)}
    assert len(render_history(history_of(series_of(kernels)), "html")) < 6_000_000
