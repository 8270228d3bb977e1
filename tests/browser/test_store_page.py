"""The page of a store in a real Chromium: silent, accessible, and not wider than the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright.sync_api")  # the module below skips itself, and would be half imported the second time

from tests.browser.test_html_report import OVERFLOW, Shown, axe, chromium, shown  # noqa: F401  (fixtures)
from tests.store.test_store_page import filled, page_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_axe_finds_nothing(shown: Shown, tmp_path: Path, colors: str) -> None:  # noqa: F811
    tab = shown(page_of(filled(tmp_path / "fleet")), colors=colors)
    for part in tab.locator("summary").all():
        part.click()
    found = axe.Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [1280, 320])
def test_it_does_not_scroll_sideways(shown: Shown, tmp_path: Path, width: int) -> None:  # noqa: F811
    tab = shown(page_of(filled(tmp_path / "fleet", "void " + "long_name<" * 60)), width=width)
    assert tab.evaluate(OVERFLOW) <= 0


def test_tables_are_sorted(shown: Shown, tmp_path: Path) -> None:  # noqa: F811
    tab = shown(page_of(filled(tmp_path / "fleet")))
    table = tab.locator("#kernels table")
    table.get_by_role("button", name="name").click()
    assert table.locator("tbody th").all_inner_texts() == ["blind<float>", "k"]
