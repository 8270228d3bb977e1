"""Bounded views of all recorded reports: the page of their sizes, and of what they hold of labels, is the tree's."""

from __future__ import annotations

from tests.profiles import labelled_diagnosis
from validation.labelled import HERE
from validation.views import page


def test_the_page_is_that_of_the_tree() -> None:
    written = (HERE / "views.md").read_text(encoding="utf-8")
    assert page(labelled_diagnosis) == written, "python -m validation.views validation/views.md writes it anew"
