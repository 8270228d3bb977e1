"""Make untrusted text (kernel names, source lines, file names) safe to print on terminals and in CI job logs.

Control and reordering characters become visible; no line is a command to the CI job. ``json_text`` writes such JSON,
``safe_copy`` gives a record with safe texts.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from ncuview.records.diagnosis import Fix, SourceEdit

_T = TypeVar("_T")

# Cc: control characters, among them ESC; Cf: formats, among them the bidirectional overrides; Cs: lone surrogates.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# GitHub, Azure and TeamCity look for this anywhere in a line of a job's output, and for "::" behind its indentation.
_ORDER = re.compile(r"(##\w*)\[")
_ORDER_OF_LINE = re.compile(r"(?m)^([^\S\n]*)::")


def safe_text(text: str) -> str:
    """The text with everything that could move the cursor, hide or reorder characters made visible.

    Nor does it give orders to a CI job in whose log it stands, except at the beginning of a line: ``without_orders``.
    """
    if not text.isprintable():
        text = "".join(_visible(character) if _is_unsafe(character) else character for character in text)
    return _ORDER.sub(r"\1\\x5b", text) if "##" in text else text


def safe_page(text: str) -> str:
    """Safe lines as a whole page, which ends in a line break."""
    return without_orders(safe_lines(text) + "\n")


def without_orders(page: str) -> str:
    """A whole page or message, no line of which is an order to the CI job that prints it: ``::error::``, ``##[error]``.

    Two colons become the one character that looks like them, which is no wider and means nothing to any format.
    """
    return _ORDER_OF_LINE.sub("\\1\N{PROPORTION}", _ORDER.sub(r"\1\\x5b", page))


def json_text(document: Any) -> str:
    """A document as JSON in ASCII: strict, inert wherever it is printed, and with the same texts when it is read.

    Raises:
        ValueError: It holds NaN or infinity.
    """
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=True)
    return _ORDER.sub(lambda found: found.group().replace("#", "\\u0023"), text) + "\n"


def safe_lines(text: str) -> str:
    """Safe text that keeps its line breaks, and its indentation as spaces: source code."""
    return "\n".join(safe_text(line.expandtabs(4)) for line in text.splitlines())


def safe_copy(value: _T) -> _T:
    """A value of the model with every string in it made safe."""
    made: Any = value
    if isinstance(value, str):
        made = safe_text(value.replace("\t", " "))
    elif isinstance(value, Fix):
        texts = {"title": value.title, "before_from": value.before_from, "after_from": value.after_from}
        made = Fix(before=safe_lines(value.before), after=safe_lines(value.after), **safe_copy(texts))
    elif isinstance(value, SourceEdit):
        words = {"title": value.title, "assumes": value.assumes, "reason": value.reason}
        made = SourceEdit(diff=safe_lines(value.diff), **safe_copy(words))
    elif isinstance(value, tuple):
        made = tuple(safe_copy(part) for part in value)
    elif isinstance(value, Mapping):
        made = {safe_copy(key): safe_copy(part) for key, part in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        made = replace(value, **{field.name: safe_copy(getattr(value, field.name)) for field in fields(value)})
    return made  # type: ignore[no-any-return]


def _is_unsafe(character: str) -> bool:
    code = ord(character)
    never_a_character = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # XML takes some of them for damage
    return unicodedata.category(character) in _UNSAFE or never_a_character


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
