"""Match kernel names against the user's filter: an exact name, ``regex:`` and an RE2 pattern, or empty for all.

``check_kernel_filter`` refuses an invalid filter before reading starts; ``matches`` applies it to one name.
RE2's time grows linearly with the lengths of pattern and name. Python's own engine needs exponential time for some,
as for ``(a+)+$`` and a name of many a's. RE2 never backtracks, so that it has no look-around and no references.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ncuview.base.errors import UsageError

PREFIX = "regex:"
LONGEST = 4096
"""Characters of a pattern, and of a name that it is matched with."""
_SHOWN = 80
"""Characters of a pattern that a message repeats."""


def check_kernel_filter(kernel_filter: str) -> None:
    """Refuse a filter that ``matches`` cannot use.

    Raises:
        UsageError: Its pattern is no regular expression, empty, or too long.
    """
    if kernel_filter == PREFIX:
        raise UsageError(f"{PREFIX} names no pattern", hint="An empty pattern would match every kernel.")
    if kernel_filter.startswith(PREFIX):
        _compiled(kernel_filter.removeprefix(PREFIX))


def matches(name: str, kernel_filter: str) -> bool:
    """Whether a filter selects a kernel: by its exact name, by ``regex:`` and a pattern, or because it is empty.

    Raises:
        UsageError: See ``check_kernel_filter``.
    """
    if kernel_filter.startswith(PREFIX):
        return _compiled(kernel_filter.removeprefix(PREFIX)).search(_encodable(name[:LONGEST])) is not None
    return kernel_filter in {"", name}


@cache
def _compiled(pattern: str) -> Any:
    if len(pattern) > LONGEST:
        raise UsageError(
            f"a pattern of {len(pattern):,} characters is too long", hint=f"At most {LONGEST:,} are taken."
        )
    import re2  # type: ignore[import-untyped]  # importing it takes time, which only patterns need

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
