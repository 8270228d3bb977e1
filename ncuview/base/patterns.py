"""Users' regular expressions: ``compiled`` returns a ``Pattern`` of RE2, which ``found_in`` searches texts with.

``patterns_of`` compiles a list.

RE2's time grows linearly with the lengths of pattern and text. Python's own engine needs exponential time for some,
as for ``(a+)+$`` and a text of many a's. RE2 never backtracks, so that it has no look-around and no references.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from ncuview.base.errors import UsageError

LONGEST = 4096
"""Characters of a pattern, and of a text that it is searched in."""
_SHOWN = 80
"""Characters of a pattern that a message repeats."""


class Pattern:
    """A pattern of the user."""

    def __init__(self, compiled_: Any) -> None:
        self._compiled = compiled_

    def found_in(self, text: str) -> bool:
        """Whether a part of the text matches; of a long text its first ``LONGEST`` characters."""
        return self._compiled.search(_encodable(text[:LONGEST])) is not None


@cache
def compiled(pattern: str, option: str = "") -> Pattern:
    """The pattern, compiled.

    Args:
        pattern: A regular expression of RE2.
        option: What stands before it on the command line, for messages.

    Raises:
        UsageError: It is no regular expression, or too long.
    """
    if len(pattern) > LONGEST:
        raise UsageError(
            f"a pattern of {len(pattern):,} characters is too long", hint=f"At most {LONGEST:,} are taken."
        )
    import re2  # type: ignore[import-untyped]  # importing it takes time, which only patterns need

    options = re2.Options()
    options.log_errors = False
    try:
        return Pattern(re2.compile(_encodable(pattern), options))
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")  # which repeats the rest of the pattern
        hint = "Patterns are those of RE2, which has no look-around and no references: \\d+, a|b, ^k.*_v[12]$."
        raise UsageError(f"{option}{pattern[:_SHOWN]} is no pattern: {reason[:_SHOWN]}", hint=hint) from error


def patterns_of(words: Iterable[str] | None, option: str) -> tuple[Pattern, ...]:
    """The patterns of a list, compiled.

    Args:
        words: Regular expressions of RE2; None for none.
        option: What names the list, for messages: ``--mine``.

    Raises:
        UsageError: One is empty or no pattern.
    """
    if isinstance(words, str):
        raise UsageError(f"{option} is a list of patterns, not one text", hint=f"Give [{words[:_SHOWN]!r}].")
    chosen = tuple(words or ())
    if not all(chosen):
        raise UsageError(f"{option} names no pattern", hint="An empty pattern would match every kernel.")
    return tuple(compiled(pattern, f"{option} ") for pattern in chosen)


def _encodable(text: str) -> str:
    """Damaged reports and command lines may hold lone surrogates."""
    return text.encode("utf-8", "surrogatepass").decode(errors="replace")
