"""The JSON Schemas of all documents: closed, described, and as docs/reference has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.render.schemas import NAMES, main
from tests.render.schema import objects, schema, undescribed

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", NAMES)
def test_no_object_is_open(name: str) -> None:
    assert all(each["additionalProperties"] is False for _, each in objects(schema(name)))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "baseline"])
def test_every_property_and_object_is_described(name: str) -> None:
    assert not undescribed(schema(name))


@pytest.mark.checkout
def test_the_reference_is_current(tmp_path: Path) -> None:
    main(tmp_path)
    made, kept = (
        {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.schema.json")}
        for folder in (tmp_path, REFERENCE)
    )
    assert made == kept, "python -m ncuview.render.schemas docs/reference"
