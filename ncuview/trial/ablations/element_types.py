"""Sizes and scalars of element types: ``bytes_of`` resolves typedefs, ``fields_of`` structures of equal scalars."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ncuview.patch.pad_tile import BYTES
from ncuview.patch.program import Program, child, meaningful, within

_VECTOR = re.compile(r"^(?P<scalar>u?(?:char|short|int|longlong)|float|double)(?P<count>[1234])$")
_SCALARS = {"longlong": "long long", "ulonglong": "unsigned long long"}
_DEEPEST = 5


def plain(program: Program, name: str, depth: int = 0) -> str:
    """A type without typedefs of the file and without const."""
    words = [word for word in name.split() if word not in {"const", "volatile"}]
    name = " ".join(words)
    for node in program.index["type_identifier"]:
        definition = node.parent
        if program.text(node) != name or definition is None or depth > _DEEPEST:
            continue
        if definition.type == "type_definition" and definition.child_by_field_name("declarator") == node:
            return plain(program, program.text(child(definition, "type")), depth + 1)
        if definition.type == "alias_declaration" and definition.child_by_field_name("name") == node:
            return plain(program, program.text(child(definition, "type")), depth + 1)
    return name


def bytes_of(program: Program, name: str) -> int | None:
    """The bytes of an element; None where the source does not show them."""
    name = plain(program, name)
    if name in BYTES:
        return BYTES[name]
    vector = _vector(name)
    if vector is None:
        return None
    scalar, count = vector
    return BYTES[scalar] * count


def _vector(name: str) -> tuple[str, int] | None:
    found = _VECTOR.match(name)
    if not found:
        return None
    scalar = found["scalar"]
    unsigned = scalar.startswith("u")
    scalar = _SCALARS.get(scalar, f"unsigned {scalar[1:]}" if unsigned else scalar)
    return scalar, int(found["count"])


def fields_of(program: Program, name: str) -> tuple[str, Sequence[str]] | None:
    """The scalar type and the names of a structure's fields, in order; None where they are not of one scalar type."""
    name = plain(program, name)
    if vector := _vector(name):
        return vector[0], "xyzw"[: vector[1]]
    for node in program.index["type_identifier"]:
        structure = node.parent
        body = structure.child_by_field_name("body") if structure is not None else None
        if program.text(node) != name or structure is None or structure.type != "struct_specifier" or body is None:
            continue
        members = [each for each in meaningful(body) if each.type == "field_declaration"]
        kinds = {plain(program, program.text(child(each, "type"))) for each in members}
        declarators = [part for each in members for part in each.children_by_field_name("declarator")]
        simple = len(members) == len(meaningful(body)) and all(each.type == "field_identifier" for each in declarators)
        aligned = any(each.type.startswith(("alignas", "attribute")) for each in within(structure))
        if simple and not aligned and len(kinds) == 1 and (kind := kinds.pop()) in BYTES:
            return kind, [program.text(each) for each in declarators]
    return None
