"""Text that reports, rule files and file systems can hold, and that every renderer must handle."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.together import together

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

PAYLOADS = {
    **HOSTILE,
    "event handler": "\" onmouseover=alert(1) x=' autofocus onfocus=alert(2) '",
    "svg": "<svg/onload=alert(1)><animate onbegin=alert(1) attributeName=x>",
    "frame and style": "<iframe srcdoc='<script>alert(1)</script>'></iframe><style>@import 'https://example.com'</style>",
    "script address": "javascript:alert(1)//data:text/html,<script>alert(1)</script>",
    "end of style": "</style></title></textarea></noscript><img src=https://example.com/a.png>",
    "comment": "<!--<script>--><!-- -- --!> a-- b---",
    "end of character data": "<![CDATA[ ]]> ]]>",
    "processing instruction": "<?xml version='1.0'?><?php echo 1 ?>",
    "entity bomb": "<!DOCTYPE a [<!ENTITY a 'aa'><!ENTITY b '&a;&a;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>&b;&x;&lt;",
    "forbidden in XML": "".join(map(chr, [*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])),
    "never a character": "\ufdd0\ufdef\U0001fffe\U0010ffff",
    "all C1": "".join(map(chr, range(0x7F, 0xA0))),
    "all marks of direction": "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "formula after plus": "+1+cmd|' /C calc'!A0",
    "formula after minus": "-2+3+cmd|' /C calc'!A0",
    "formula after at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "formula after tab": "\t=1+1",
    "formula after return": '\r=HYPERLINK("https://example.com")',
    "formula after blanks": "  =1+1",
    "wide formula": "\uff1dHYPERLINK(1)",
    "cells": 'a,b";"c\n=d;e""',
    "Markdown link": "[click](https://example.com) <https://example.com> https://example.com [a]: https://example.com",
    "Markdown image": '![x](https://example.com/a.png "t")',
    "Markdown table": "a | b |\n| - | - |\n\\| c",
    "Markdown fence": "```\n</details>\n~~~~\n````x",
    "Markdown mention": "@octocat #123 GH-1 owner/name#4 0123456789abcdef !5 &6 %7 ~8",
    "Markdown markup": "# a\n> b\n- *c* __d__ ~~e~~ `f` ``g`` $h$ <b>i</b> &copy; \\*",
    "stop of commands": "::stop-commands::x",
    "command after blanks": "  \u3000::set-output name=x::y",
    "command in a line": "kernel ##[set-env name=PATH]x ##vso[task.setvariable variable=x]y ##teamcity[message]",
    "command by escapes": "%0A::error::x%0D%0A::warning::y%250A",
    "absolute path": "/etc/passwd",
    "path of a file address": "file:///etc/passwd",
    "path of a share": "\\\\server\\share\\x.cu",
    "path of a drive": "C:\\Windows\\..\\x.cu",
    "escaped path": "%2e%2e%2f%2e%2e%2fetc%2fpasswd%00.cu",
    "address as a path": "//example.com/x.cu?a=b#c",
    "home": "~root/.ssh/id_rsa",
    "percent format": "%s%s%s%n%x%(name)s %99999999d",
    "brace format": "{} {0.__class__} {kernel.__init__.__globals__} {{{{ }} {x!r:>99999999}",
    "template": "${7*7} {{7*7}} <%= 7*7 %> #{7*7} $(id) `id`",
    "shell": "; rm -rf / & | $(reboot) `reboot` > /dev/sda \\",
    "option": "--help",
    "catastrophe": "a" * 5000 + "!",
    "pattern": "(a+)+$ [ ( *** \\",
    "JSON": '","owned":NaN,"x":"\\u0000\\ud800 {"__proto__":{"a":1}}',
    "JSON number": "NaN Infinity -Infinity 1e999",
    "label": 'a"b\\c\\n\nd"} 1\n# EOF\n# TYPE x counter',
    "SARIF message": "{0} {{1}} [a](0) [b](https://example.com)",
    "unending line": "x" * 6_000,
    "one word of many": "\u0344\u0f73" * 300 + "\u1160\u3164\ufe0f",
    "null byte and more": "a\0\x1a\x1b[6n\x1b[c\x05",
    "window and keyboard": "\x1b]2;x\x1b\\\x1b[21t\x1b[>4;2m\x1bc\x1b(0",
    "notification": "\x1b]9;x\x07\x1b]777;notify;a;b\x07\x1b_APC\x1b\\\x1b^PM\x1b\\",
}
"""All of them; what holds for every place where a text may come from is asked of each (``tests/hostility``)."""


def name_of(text: str) -> str:
    """What a text is called, for reports of failures."""
    return next((name for name, known in PAYLOADS.items() if known == text), ascii(text))


each_hostile_text = together("text", HOSTILE.values(), name=name_of)
each_payload = together("text", PAYLOADS.values(), name=name_of)


def poisoned(value: Any, text: str) -> Any:
    """The same value of the model with every text in it, keys too, replaced by ``text``; what is empty stays so.

    The names of units and textbook metrics keep their own text in front, as they must stay distinct.
    """
    if isinstance(value, str):
        return text if value else ""
    if isinstance(value, tuple):
        parts = [poisoned(part, text) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, dict):
        return {text if key == value_of_bottleneck else key + text: poisoned(part, text) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        fixed = {
            "origin",
            "verdict",
            "grade",
            "about",
            "owner_kind",
            "change",
            "link",
        }  # these choose words of our own and come from nowhere else
        names = [field.name for field in fields(value) if field.name not in fixed]
        return replace(value, **{name: poisoned(getattr(value, name), text) for name in names})
    return value


value_of_bottleneck = "l1_data"
"""The unit whose name becomes just ``text``, so that a launch's bottleneck is still among its units."""
