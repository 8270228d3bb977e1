"""Compile message texts of rule files, such as ``{ways:.1f}-way bank conflict``, and fill them with values.

``compile_template`` returns a ``Template``; it refuses every field but a known name with a plain number format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from string import Formatter

from ncuview.base.errors import UnsafeTemplate
from ncuview.base.suggestion import suggestion

MAX_LENGTH = 4096
_ONE = re.compile(
    r"(?<![\w.,])1 (block|element|instruction|multiprocessor|register|replay|sector|thread|wait|warp|wavefront)s\b"
)
_FORMAT = re.compile(r",?(\.\d{1,2})?[fg%]?")


@dataclass(frozen=True)
class Template:
    """A checked message, such as ``{ways:.1f}-way bank conflict``."""

    text: str
    names: frozenset[str]
    _parts: tuple[tuple[str, str | None, str], ...] = field(repr=False)
    """Text, the name whose value follows it, and the format of that value."""

    def fill(self, values: Mapping[str, float | str]) -> str:
        """The message with each name replaced by its formatted value, and one thing in the singular."""
        filled = "".join(
            text if name is None else f"{text}{format(values[name], spec)}" for text, name, spec in self._parts
        )
        return _ONE.sub(r"1 \1", filled)


def compile_template(text: str, names: Iterable[str]) -> Template:
    """Check that every replacement field is a known name with a plain number format.

    Raises:
        UnsafeTemplate: It is too long, or a field is unknown, empty, indexed, has attributes, a conversion or a nested
            format.
    """
    if len(text) > MAX_LENGTH:
        raise UnsafeTemplate(f"message of {len(text)} characters; at most {MAX_LENGTH} are allowed")
    allowed = frozenset(names)
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise UnsafeTemplate(f"not a message template: {text!r} ({error})") from error
    for _, name, spec, conversion in parsed:
        if name is None:
            continue
        if name not in allowed:
            raise UnsafeTemplate(f"unknown name {name!r} in {text!r}{suggestion(name, allowed)}")
        if conversion or not _FORMAT.fullmatch(spec or ""):
            raise UnsafeTemplate(f"{{{name}:{spec}}} in {text!r} is more than a plain number format")
    parts = tuple((before, name, spec or "") for before, name, spec, _ in parsed)
    return Template(text, frozenset(name for _, name, _ in parts if name is not None), parts)
