"""The reference pages that are made from the code are current."""

from __future__ import annotations

from tools.reference_pages import pages


def test_every_generated_page_is_current() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, "python -m tools.reference_pages"
