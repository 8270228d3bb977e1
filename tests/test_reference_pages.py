"""The generated pages are those that the code gives, and docs/reference holds no others."""

from __future__ import annotations

import pytest

from docs.generate import ANSWERS, REFERENCE, how_to_write_a_rule, pages


@pytest.mark.checkout
def test_every_generated_page_is_current() -> None:
    made, partly = pages(), how_to_write_a_rule()
    kept = {path: path.read_text(encoding="utf-8") for path in (*REFERENCE.iterdir(), ANSWERS, *partly)}
    assert sorted(made) == sorted(kept)
    assert not [path.name for path in made if made[path] != kept[path]], "python -m docs.generate"
