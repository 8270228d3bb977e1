"""Text from outside (kernel names, source lines, file names) made safe to print on a terminal."""

from __future__ import annotations

import unicodedata

# Cc: control characters, among them ESC; Cf: formats, among them the bidirectional overrides; Cs: lone surrogates.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def safe_text(text: str) -> str:
    """The text with everything that could move the cursor, hide or reorder characters made visible."""
    return "".join(
        _visible(character) if unicodedata.category(character) in _UNSAFE else character for character in text
    )


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
