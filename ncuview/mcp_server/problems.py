"""``error_document``: an error as the JSON values that a tool answers with."""

from __future__ import annotations

import json
from typing import Any

from ncuview.base.log import masked
from ncuview.render.text import safe_text

_MOST_BYTES = 2_000
"""Of a message, and of a hint, as JSON."""
_CUT = "…"


def error_document(message: str, hint: str, id: str, exit_code: int) -> dict[str, Any]:  # noqa: A002  (its key)
    """The error under the key ``error``, as the command line prints it: one line each, without secrets, and bounded."""
    message, hint = (_bounded(safe_text(masked(" ".join(text.split("\n"))))) for text in (message, hint))
    return {"error": {"id": id, "message": message, "hint": hint, "exit_code": exit_code}}


def _bounded(text: str) -> str:
    if len(json.dumps(text)) <= _MOST_BYTES:
        return text
    text = text[:_MOST_BYTES]
    while len(json.dumps(text + _CUT)) > _MOST_BYTES:
        text = text[:-1]
    return text + _CUT
