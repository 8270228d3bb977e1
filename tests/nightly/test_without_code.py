"""The page of diagnoses without machine code is that of the tree."""

from __future__ import annotations

from tests.profiles import profile_of
from validation.without_code import PAGE, groups, page


def test_the_page_of_diagnoses_without_code_is_of_the_tree() -> None:
    written, now = PAGE.read_text(encoding="utf-8"), page(groups(profile_of))
    assert written == now, "python -m validation.without_code writes it anew"
