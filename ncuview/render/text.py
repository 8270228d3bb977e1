"""Make untrusted text (kernel names, source lines, file names) safe to print on terminals and in CI job logs.

``safe_*`` functions make control characters visible; ``without_ci_commands`` disarms commands; ``json_text`` and
``json_line`` do both.

``safe_text`` takes one line, ``safe_lines`` and ``safe_page`` several, ``safe_copy`` a record with texts.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from math import isfinite
from typing import Any, TypeVar

_T = TypeVar("_T")

# Cc: control characters such as ESC; Cf: formats such as the bidirectional overrides; Cs: lone surrogates.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# GitHub, Azure and TeamCity read this as a command anywhere in a line of a job's log, and "::" after its indentation.
_CI_COMMAND = re.compile(r"(##\w*)\[")
_CI_COMMAND_OF_LINE = re.compile(r"(?m)^([^\S\n]*)::")


def safe_text(text: str) -> str:
    """The text with every character that moves the cursor, or hides or reorders others, made visible.

    It contains no command to a CI job, except at the beginning of a line, which ``without_ci_commands`` disarms.
    """
    if not text.isprintable():
        text = "".join(_visible(character) if _is_unsafe(character) else character for character in text)
    return _CI_COMMAND.sub(r"\1\\x5b", text) if "##" in text else text


def safe_page(text: str) -> str:
    """Safe lines as a complete page, which ends in a line break."""
    return without_ci_commands(safe_lines(text) + "\n")


def without_ci_commands(page: str) -> str:
    """A complete page or message in which no line is a command to a CI job: ``::error::``, ``##[error]``.

    Two colons become the one character that looks like them, which has the same width and no meaning in any format.
    """
    return _CI_COMMAND_OF_LINE.sub("\\1\N{PROPORTION}", _CI_COMMAND.sub(r"\1\\x5b", page))


def json_text(document: Any) -> str:
    """A document as strict JSON in ASCII, which contains no command to a CI job and parses to the same texts.

    Raises:
        ValueError: It holds NaN or infinity.
    """
    return _json(document, 2)


def json_line(document: Any) -> str:
    """The same as one line."""
    return _json(document, None)


def _json(document: Any, indent: int | None) -> str:
    text = json.dumps(document, indent=indent, allow_nan=False, ensure_ascii=True)
    return _CI_COMMAND.sub(lambda found: found.group().replace("#", "\\u0023"), text) + "\n"


def safe_lines(text: str) -> str:
    """Safe text that keeps its line breaks, and its indentation as spaces, for source code."""
    return "\n".join(safe_text(line.expandtabs(4)) for line in text.splitlines())


def safe_copy(value: _T) -> _T:
    """A copy of a value with every string in it made safe."""
    made: Any = value
    if isinstance(value, str):
        made = safe_text(value.replace("\t", " "))
    elif isinstance(value, tuple):
        made = tuple(safe_copy(part) for part in value)
    elif isinstance(value, Mapping):
        made = {safe_copy(key): safe_copy(part) for key, part in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        code = getattr(value, "SEVERAL_LINES", ())
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        made = replace(
            value, **{name: (safe_lines if name in code else safe_copy)(part) for name, part in parts.items()}
        )
    return made  # type: ignore[no-any-return]


def _is_unsafe(character: str) -> bool:
    code = ord(character)
    never_a_character = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # XML parsers reject some of them
    return unicodedata.category(character) in _UNSAFE or never_a_character


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def known(value: float) -> float | None:
    """The value; None for NaN and infinity, which JSON and tables do not have."""
    return value if isfinite(value) else None
