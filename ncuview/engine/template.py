"""Compile the message texts of rule files, such as ``{ways:.1f}-way bank conflict``, and fill them with values.

``compile_template`` refuses every field but a known name with a plain number format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter

from ncuview.base.errors import UnsafeTemplate

MAX_LENGTH = 4096
_FORMAT = re.compile(r",?(\.\d{1,2})?[fg%]?")


@dataclass(frozen=True)
class Template:
    """A checked message, such as ``{ways:.1f}-way bank conflict``."""

    text: str
    names: frozenset[str]

    def fill(self, values: Mapping[str, float]) -> str:
        """The message with each name replaced by its formatted value."""
        return self.text.format_map({name: values[name] for name in self.names})


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
        fields = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise UnsafeTemplate(f"not a message template: {text!r} ({error})") from error
    for name, spec, conversion in fields:
        if name not in allowed:
            raise UnsafeTemplate(f"unknown name {name!r} in {text!r}; known here: {', '.join(sorted(allowed))}")
        if conversion or not _FORMAT.fullmatch(spec or ""):
            raise UnsafeTemplate(f"{{{name}:{spec}}} in {text!r} is more than a plain number format")
    return Template(text, frozenset(name for name, _, _ in fields))
