"""The commands that pages show end and print as shown; tests/test_documents.py runs those of the README."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import ROOT, Command, commands, handwritten, run

PAGES = [
    page
    for page in handwritten()
    if page.parent != ROOT and any(isinstance(each, Command) and each.runs for each in commands(page))
]


@pytest.mark.checkout
@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_commands_do_what_the_page_shows(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    run(page, tmp_path, update=request.config.getoption("--update-golden"))
