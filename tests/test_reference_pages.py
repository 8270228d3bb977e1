"""The generated files of docs/reference are those that the code gives, and there are no others."""

from __future__ import annotations

import pytest

from docs.generate import REFERENCE, pages


@pytest.mark.checkout
def test_every_generated_page_is_current() -> None:
    made, kept = pages(), {path: path.read_text(encoding="utf-8") for path in REFERENCE.iterdir()}
    assert sorted(made) == sorted(kept)
    assert not [path.name for path in made if made[path] != kept[path]], "python -m docs.generate"
