"""The JSON Schemas of documents, what they describe, and what they say against a document."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ncuview.render import schemas


@cache
def schema(name: str = "diagnosis") -> dict[str, Any]:
    content = schemas.schema(name)
    Draft202012Validator.check_schema(content)
    return content


def problems(document: Any, name: str = "diagnosis") -> list[Any]:
    return list(Draft202012Validator(schema(name)).iter_errors(document))


def objects(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object that a schema describes, with its name."""
    yield content["title"], content
    yield from content.get("$defs", {}).items()


def undescribed(content: dict[str, Any]) -> list[str]:
    """The properties, and the objects, of which a schema does not say what they are."""
    found = [name for name, each in objects(content) if not each.get("description")]
    for name, each in objects(content):
        found += [f"{name}.{key}" for key, part in each["properties"].items() if not part.get("description")]
    return found
