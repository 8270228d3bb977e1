"""The JSON Schemas of all documents: closed and described."""

from __future__ import annotations

import pytest

from ncuview.render.schemas import NAMES
from tests.render.schema import objects, schema, undescribed


@pytest.mark.parametrize("name", NAMES)
def test_no_object_is_open(name: str) -> None:
    assert all(each["additionalProperties"] is False for _, each in objects(schema(name)))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "baseline"])
def test_every_property_and_object_is_described(name: str) -> None:
    assert not undescribed(schema(name))
