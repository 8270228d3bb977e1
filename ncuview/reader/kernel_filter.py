"""Match kernel names against the user's filter, an exact name or ``regex:`` and an RE2 pattern; check the filter first.

RE2's time grows linearly with the lengths of the texts. Python's own engine needs ages for some pairs of them, as for
``(a+)+$`` and a name of many a's. RE2 never goes back in a text, so that it knows no look-around and no references.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ncuview.base.errors import UsageError

PREFIX = "regex:"
LONGEST = 4096
"""Characters of a pattern; of a name, so many are looked at."""
_SHOWN = 80
"""Characters of a pattern that a message repeats."""


def check_wanted(wanted: str) -> None:
    """Refuse what ``matches`` could not use.

    Raises:
        UsageError: It is a pattern and no regular expression, empty, or too long.
    """
    if wanted == PREFIX:
        raise UsageError(f"{PREFIX} names no pattern", hint="A pattern of nothing would match every kernel.")
    if wanted.startswith(PREFIX):
        _compiled(wanted.removeprefix(PREFIX))


def matches(name: str, wanted: str) -> bool:
    """Whether a kernel is asked for: by its exact name, by ``regex:`` and a pattern, or because all are.

    Raises:
        UsageError: See ``check_wanted``.
    """
    if wanted.startswith(PREFIX):
        return _compiled(wanted.removeprefix(PREFIX)).search(_encodable(name[:LONGEST])) is not None
    return wanted in {"", name}


@cache
def _compiled(pattern: str) -> Any:
    if len(pattern) > LONGEST:
        raise UsageError(
            f"a pattern of {len(pattern):,} characters is too long", hint=f"At most {LONGEST:,} are taken."
        )
    import re2  # type: ignore[import-untyped]  # only who gives a pattern waits for it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_encodable(pattern), options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")  # which repeats the rest of the pattern
        hint = "Patterns are those of RE2, which has no look-around and no references: \\d+, a|b, ^k.*_v[12]$."
        raise UsageError(f"{PREFIX}{pattern[:_SHOWN]} is no pattern: {reason[:_SHOWN]}", hint=hint) from error


def _encodable(text: str) -> str:
    """Damaged reports and command lines may hold lone surrogates."""
    return text.encode("utf-8", "surrogatepass").decode(errors="replace")
