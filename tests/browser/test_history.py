"""The page about many reports in a real Chromium: silent, accessible, sortable, and inert whatever names say."""

from __future__ import annotations

import pytest

from ncuview.render.history import render_history
from tests.browser.test_html_report import OVERFLOW, Shown, axe, chromium, shown  # noqa: F401  (fixtures)
from tests.hostile import HOSTILE
from tests.nightly.render.test_history import hostile, sample


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_axe_finds_nothing(shown: Shown, colors: str) -> None:  # noqa: F811
    tab = shown(render_history(sample(), "html"), colors=colors)
    for row in tab.locator("table.trends > tbody .expand").all():
        row.click()
    found = axe.Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [1280, 320])
def test_it_does_not_scroll_sideways(shown: Shown, width: int) -> None:  # noqa: F811
    tab = shown(render_history(sample(), "html"), width=width)
    tab.get_by_role("button", name="slower", exact=True).click()
    assert tab.evaluate(OVERFLOW) <= 0


def test_kernels_are_sorted_filtered_and_opened(shown: Shown) -> None:  # noqa: F811
    tab = shown(render_history(sample(), "html"))
    table = tab.locator("#kernels-1-table")
    names = table.locator("tbody:visible .expand")
    assert names.all_inner_texts() == ["slower", "steady", "goes", "comes"]
    table.get_by_role("columnheader", name="kernel").get_by_role("button").press("Enter")
    assert names.all_inner_texts() == ["comes", "goes", "slower", "steady"]
    tab.get_by_role("combobox", name="Changed").first.select_option("changed")
    assert names.all_inner_texts() == ["slower"]
    assert not table.get_by_text("c3", exact=False).first.is_visible()
    table.get_by_role("button", name="slower", exact=True).press("Enter")
    assert table.get_by_role("row", name="c3 slower 200 us").is_visible()


def test_without_scripts_everything_is_there(shown: Shown) -> None:  # noqa: F811
    tab = shown(render_history(sample(), "html"), scripts=False)
    assert tab.get_by_role("row", name="c3 slower 200 us").is_visible()


@pytest.mark.parametrize("text", [HOSTILE["end of script"], HOSTILE["image"], HOSTILE["bidirectional override"]])
def test_hostile_names_do_nothing(shown: Shown, text: str) -> None:  # noqa: F811
    tab = shown(render_history(hostile(text), "html"))
    assert tab.locator("main img").count() == 0
