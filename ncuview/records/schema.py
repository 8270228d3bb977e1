"""JSON documents as dataclasses: the JSON Schema of a class (``schema_of``), the JSON values of an object (``plain``).

A field's type becomes its schema and the docstring below it its description; ``Limits`` adds further constraints.

``Limits`` stands in an ``Annotated`` type. ``LEFT_OUT`` there means that None leaves the key out, ``FOREIGN`` marks
text from reports, and a class's ``CONDITIONS`` are added to its schema.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

LEFT_OUT = "left out where there is none"
"""In an ``Annotated`` type: the key is not there where the value is None."""
FOREIGN = "text from reports"
"""In an ``Annotated`` type: the text comes from a report, a program or its source; the schema has ``x-foreign``."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The version of JSON Schema that is written."""
_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)$"
_ATOMS = (str, int, float, NoneType)
_PLAIN_TYPES: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time", "pattern": _DATE},
}


@dataclass(frozen=True)
class Limits:
    """Constraints on a value in addition to its type; None where there is none."""

    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    """Of a text."""
    keys: str | None = None
    """The pattern of the keys of a mapping."""
    one_of: tuple[str | int | None, ...] | None = None
    shortest: int | None = None
    """The least length of a text."""
    fewest: int | None = None
    """The least number of elements."""
    distinct: bool | None = None
    """Whether no two elements are equal."""

    @property
    def keywords(self) -> dict[str, Any]:
        """The same in JSON Schema's words."""
        words = {
            "minimum": self.minimum,
            "exclusiveMinimum": self.above,
            "maximum": self.maximum,
            "pattern": self.pattern,
            "propertyNames": None if self.keys is None else {"pattern": self.keys},
            "enum": None if self.one_of is None else list(self.one_of),
            "minLength": self.shortest,
            "minItems": self.fewest,
            "uniqueItems": self.distinct,
        }
        return {word: value for word, value in words.items() if value is not None}


def schema_of(document: type) -> dict[str, Any]:
    """The JSON Schema of a document whose field ``schema`` is its name and version."""
    definitions: dict[str, Any] = {}
    content = _object(document, definitions)
    name = content["properties"]["schema"]["const"]
    identity = "urn:ncuview:schema:" + name.removeprefix("ncuview.").replace("/", ":")
    defined = {"$defs": dict(sorted(definitions.items()))} if definitions else {}
    return {"$schema": DIALECT, "$id": identity, "title": name, **content, **defined}


def plain(value: Any) -> Any:
    """An object of such classes as JSON values: dictionaries, lists, texts, numbers and None."""
    if isinstance(value, _ATOMS):  # most values are, and the other questions take longer
        return value
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        found = {}
        for name, key, may_be_left_out in _keys(type(value)):
            part = getattr(value, name)
            if part is not None or not may_be_left_out:
                found[key] = plain(part)
        return found
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value


@cache
def _keys(form: Any) -> tuple[tuple[str, str, bool], ...]:
    """Each field's name, its key in JSON, and whether None leaves it out."""
    types = get_type_hints(form, include_extras=True)
    return tuple((each.name, _key(each.name), LEFT_OUT in _remarks(types[each.name])) for each in fields(form))


def _key(name: str) -> str:
    """The JSON key of a field; a keyword of Python has an underscore appended: ``from_``."""
    return name.removesuffix("_")


def _remarks(kind: Any) -> tuple[Any, ...]:
    return get_args(kind)[1:] if get_origin(kind) is Annotated else ()


def _object(form: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    types, said = get_type_hints(form, include_extras=True), _field_docs(form)
    properties = {}
    for name, key, may_be_left_out in _keys(form):
        content = _of(types[name], definitions)
        if may_be_left_out:
            content = _without_null(content)
        properties[key] = {**content, **({"description": said[name]} if name in said else {})}
    return {
        "type": "object",
        "description": _one_line(inspect.getdoc(form) or ""),
        "properties": properties,
        "required": [key for _, key, may_be_left_out in _keys(form) if not may_be_left_out],
        "additionalProperties": False,
        **getattr(form, "CONDITIONS", {}),
    }


def _of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; classes stand in the definitions, once each."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        content = _of(inner[0], definitions)
        for limits in inner[1:]:
            if isinstance(limits, Limits):
                content |= limits.keywords
            elif limits == FOREIGN:
                content |= {"x-foreign": True}
        return content
    if origin is Literal:
        return {"const": inner[0]} if len(inner) == 1 else {"type": "string", "enum": list(inner)}
    if origin in (Union, UnionType):
        return _either([_of(part, definitions) for part in inner])
    if origin is tuple:
        return _array(inner, definitions)
    if kind in _PLAIN_TYPES:
        return dict(_PLAIN_TYPES[kind])
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(inner[1], definitions)}
    if is_dataclass(kind) and isinstance(kind, type):
        return _reference(kind, definitions)
    raise TypeError(f"no JSON Schema is known of {kind}")


def _either(parts: list[dict[str, Any]]) -> dict[str, Any]:
    *others, last = parts
    if len(others) == 1 and last == {"type": "null"} and "type" in others[0]:
        content = {**others[0], "type": [others[0]["type"], "null"]}
        return {**content, "enum": [*content["enum"], None]} if "enum" in content else content
    return {"anyOf": parts}


def _without_null(content: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value that is left out where it is None, without that None."""
    if "anyOf" in content:
        left = [part for part in content["anyOf"] if part != {"type": "null"}]
        return left[0] if len(left) == 1 else {"anyOf": left}
    return {**content, "type": content["type"][0]}


def _array(inner: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    content = {"type": "array", "items": _of(inner[0], definitions)}
    return content if inner[-1] is Ellipsis else {**content, "minItems": len(inner), "maxItems": len(inner)}


def _reference(form: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    name = form.__name__
    if name not in definitions:
        definitions[name] = {}  # a class may hold itself
        definitions[name] |= _object(form, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _field_docs(form: Any) -> dict[str, str]:
    """The docstring below each field of a class and of those that it extends."""
    said: dict[str, str] = {}
    for each in reversed(form.__mro__):
        if "__dataclass_fields__" in vars(each):
            said |= _docs_in(each.__module__).get(each.__name__, {})
    return said


@cache
def _docs_in(module: str) -> dict[str, dict[str, str]]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: _docs_below(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _docs_below(form: ast.ClassDef) -> dict[str, str]:
    found = {}
    for before, after in zip(form.body, form.body[1:], strict=False):
        match before, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = _one_line(text)
            case _:
                pass
    return found


def _one_line(text: str) -> str:
    """A docstring as a description: code in single quotes, as in Markdown."""
    return " ".join(text.split()).replace("``", "`")
