"""Text that reports, rule files and file systems can hold, and that every renderer must survive."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

HOSTILE = {
    "clear the screen": "\x1b[2J\x1b[H",
    "red, never reset": "\x1b[31mkernel",
    "window title": "\x1b]0;owned\x07",
    "link (OSC 8)": "\x1b]8;;https://example.com\x1b\\click\x1b]8;;\x1b\\",
    "clipboard (OSC 52)": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "device control string": "\x1bPq#0\x1b\\",
    "bell": "\a\a",
    "C1 control sequence": "\x9b2J\x9d0;owned\x9c",
    "delete and backspace": "abc\x7f\b\b\bxyz",
    "null": "a\0b",
    "bidirectional override": "\u202ekernel\u202c\u2066x\u2069",
    "lone surrogates": "k\udcff\ud800",
    "markup": "[bold]x[/]",
    "closing markup": "a[/b]",
    "markup link": "[link=file:///etc/passwd]x[/link]",
    "template arguments": "k<[with T = float]>",
    "lambda": "f()::[lambda() (instance 2)]",
    "emoji code": ":smile:",
    "end of script": "</script><script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "lines": "a\nNext  run rm -rf\r\nb\rc\vd\fe",
    "exotic lines": "a\x85b\u2028c\u2029d\x1ce",
    "tabs": "a\tb",
    "zero width": "a\u200bb\u200d\ufeffc\u00ad",
    "tags": "\U000e0041\U000e0042",
    "private use": "\ue000\U0010ffff",
    "very long": "void " + "very_long_name<" * 300 + ">" * 300,
    "right to left": "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "emoji": "\U0001f680" * 60 + "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "wide": "\u6838\u5fc3" * 60,
    "combining": "e" + "\u0301" * 200,
    "format": "{0} %s %n {kernel!r}",
    "formula": "=cmd|' /C calc'!A0",
    "workflow command": "::error::x\n##[error]y",
    "path": "../../../../etc/passwd",
    "empty": "",
    "blank": "   ",
}
"""A name for each kind of trouble, and a text that causes it."""


def poisoned(value: Any, text: str) -> Any:
    """The same value of the model with every text in it, keys too, replaced by ``text``; what is empty stays so.

    The names of units and textbook metrics keep their own text in front, as they must stay distinct.
    """
    if isinstance(value, str):
        return text if value else ""
    if isinstance(value, tuple):
        return tuple(poisoned(part, text) for part in value)
    if isinstance(value, dict):
        return {text if key == value_of_wall else key + text: poisoned(part, text) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        kept = {"origin", "verdict"}  # these choose words of our own and come from nowhere else
        names = [field.name for field in fields(value) if field.name not in kept]
        return replace(value, **{name: poisoned(getattr(value, name), text) for name in names})
    return value


value_of_wall = "l1_data"
"""The unit whose name becomes just ``text``, so that a launch's wall is still among its walls."""
