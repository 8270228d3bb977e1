"""The JSON Schema that the package ships, and what it says against a document."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]


@cache
def schema() -> dict[str, Any]:
    text = files("ncuview.render").joinpath("diagnosis.schema.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    Draft202012Validator.check_schema(content)
    return content


def problems(document: Any) -> list[Any]:
    return list(Draft202012Validator(schema()).iter_errors(document))
