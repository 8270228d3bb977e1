"""Dataclasses as JSON Schemas and as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ncuview.records.schema import LEFT_OUT, Limits, plain, schema_of


@dataclass(frozen=True)
class Part:
    """A part."""

    share: Annotated[float, Limits(minimum=0, maximum=1)]
    """How much of ``it``, over
    two lines."""
    rest: tuple[Part, ...] = ()
    """Parts of the part."""


@dataclass(frozen=True)
class Document:
    """All of it."""

    schema: Literal["ncuview.made/3"]
    """Name and version."""
    from_: str | None
    """A key that Python has another meaning for."""
    when: datetime | None
    """A moment."""
    grid: tuple[int, int, int]
    """Three of them."""
    kind: Literal["a", "b"] | None
    """A word."""
    parts: Mapping[str, Part]
    """By name."""
    one: Part | None
    """The one."""
    gate: Annotated[Part | None, LEFT_OUT] = None
    """Only where there is one."""

    CONDITIONS: ClassVar[Mapping[str, Any]] = {"minProperties": 7}


MADE = Document("ncuview.made/3", None, datetime(2026, 1, 2, tzinfo=UTC), (1, 2, 3), "a", {"x": Part(0.5)}, None)
PLAIN = {
    "schema": "ncuview.made/3",
    "from": None,
    "when": "2026-01-02T00:00:00+00:00",
    "grid": [1, 2, 3],
    "kind": "a",
    "parts": {"x": {"share": 0.5, "rest": []}},
    "one": None,
}


def problems(**changed: Any) -> list[str]:
    return [each.message for each in Draft202012Validator(schema_of(Document)).iter_errors({**PLAIN, **changed})]


def test_values_have_the_keys_of_the_fields() -> None:
    assert plain(MADE) == PLAIN


def test_what_there_may_not_be_is_left_out_only_where_that_is_said() -> None:
    content = plain(Document("ncuview.made/3", None, None, (0, 0, 0), None, {}, None, gate=Part(1.0)))
    assert content["gate"] == {"share": 1.0, "rest": []}
    assert "gate" not in PLAIN
    assert content["one"] is None


def test_the_values_are_as_the_schema_says() -> None:
    Draft202012Validator.check_schema(schema_of(Document))
    assert not problems()
    assert not problems(kind=None, one={"share": 1, "rest": [{"share": 0, "rest": []}]}, gate={"share": 0, "rest": []})


@pytest.mark.parametrize(
    "changed",
    [
        {"schema": "ncuview.made/4"},
        {"surprise": 1},
        {"from": 1},
        {"when": "yesterday"},
        {"grid": [1, 2]},
        {"grid": [1, 2, 3.5]},
        {"kind": "c"},
        {"parts": {"x": {"share": 2, "rest": []}}},
        {"parts": {"x": {"share": 0.5}}},
        {"one": {"share": 0.5, "rest": [{}]}},
        {"gate": None},
    ],
)
def test_anything_else_is_refused(changed: dict[str, Any]) -> None:
    assert problems(**changed)


def test_docstrings_are_descriptions() -> None:
    schema = schema_of(Document)
    assert (schema["title"], schema["$id"]) == ("ncuview.made/3", "urn:ncuview:schema:made:3")
    assert (schema["description"], schema["minProperties"]) == ("All of it.", 7)
    assert schema["properties"]["from"]["description"] == "A key that Python has another meaning for."
    assert schema["$defs"]["Part"]["properties"]["share"]["description"] == "How much of `it`, over two lines."
    assert schema["required"] == ["schema", "from", "when", "grid", "kind", "parts", "one"]


def test_a_type_without_a_schema_is_named() -> None:
    @dataclass(frozen=True)
    class Odd:
        schema: Literal["ncuview.odd/1"]
        what: complex

    with pytest.raises(TypeError, match="complex"):
        schema_of(Odd)
