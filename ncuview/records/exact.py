"""A ``Diagnosis`` as JSON text without any loss, and back: ``to_json`` and ``from_json``.

Floats are exact, NaN and infinities included, tuples stay tuples, and records that launches share stay shared. The form
is of this version of ncuview only; ``documents`` has the one for other programs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from ncuview.records import diagnosis, profile
from ncuview.records.diagnosis import Diagnosis

_RECORDS: Mapping[str, type[Any]] = {
    name: each
    for module in (diagnosis, profile)
    for name, each in vars(module).items()
    if isinstance(each, type) and is_dataclass(each)
}
"""The classes that a text may name."""
_RECORD, _MAPPING, _TIME = "record", "mapping", "time"


def to_json(answer: Diagnosis) -> str:
    """The diagnosis as text: each record once, as its class and fields, after those that it holds.

    Raises:
        TypeError: It holds a value of another kind than the records declare.
    """
    rows: list[list[Any]] = []
    places: dict[int, tuple[int, Any]] = {}
    """The place of each record by its ``id``, and the record: while it lives, no other gets the same ``id``."""

    def of(value: Any) -> Any:
        if value is None or isinstance(value, str | int | float):
            return value
        if isinstance(value, tuple | list):
            return [of(each) for each in value]
        if isinstance(value, Mapping):
            return {_MAPPING: [[of(key), of(each)] for key, each in value.items()]}
        if isinstance(value, datetime):
            return {_TIME: value.isoformat()}
        if type(value).__name__ not in _RECORDS:
            raise TypeError(f"{type(value)} is no record")
        if id(value) not in places:
            row = [type(value).__name__, *(of(getattr(value, each.name)) for each in fields(value))]
            places[id(value)] = len(rows), value
            rows.append(row)
        return {_RECORD: places[id(value)][0]}

    of(answer)
    return json.dumps(rows, separators=(",", ":"))


def from_json(text: str | bytes) -> Diagnosis:
    """The diagnosis of a text that ``to_json`` made.

    Raises:
        ValueError: It is another text.
    """
    made: list[Any] = []

    def of(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(of, value))
        if not isinstance(value, dict):
            return value
        ((kind, held),) = value.items()
        if kind == _RECORD:
            return made[held]
        return datetime.fromisoformat(held) if kind == _TIME else {of(key): of(each) for key, each in held}

    try:
        for name, *values in json.loads(text):
            made.append(_RECORDS[name](*map(of, values)))
        answer = made[-1]
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"no diagnosis of this version: {error}") from error
    if not isinstance(answer, Diagnosis):
        raise ValueError("no diagnosis")  # noqa: TRY004  (the text is wrong, not the type of an argument)
    return answer
