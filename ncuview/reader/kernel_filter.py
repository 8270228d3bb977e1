"""Match kernel names against the user's filter: an exact name, ``regex:`` and an RE2 pattern, or empty for all.

``check_kernel_filter`` refuses an invalid filter before reading starts; ``matches`` applies it to one name.
"""

from __future__ import annotations

from ncuview.base.errors import UsageError
from ncuview.base.patterns import compiled

PREFIX = "regex:"


def check_kernel_filter(kernel_filter: str) -> None:
    """Refuse a filter that ``matches`` cannot use.

    Raises:
        UsageError: Its pattern is no regular expression, empty, or too long.
    """
    if kernel_filter == PREFIX:
        raise UsageError(f"{PREFIX} names no pattern", hint="An empty pattern would match every kernel.")
    if kernel_filter.startswith(PREFIX):
        compiled(kernel_filter.removeprefix(PREFIX), PREFIX)


def matches(name: str, kernel_filter: str) -> bool:
    """Whether a filter selects a kernel: by its exact name, by ``regex:`` and a pattern, or because it is empty.

    Raises:
        UsageError: See ``check_kernel_filter``.
    """
    if kernel_filter.startswith(PREFIX):
        return compiled(kernel_filter.removeprefix(PREFIX), PREFIX).found_in(name)
    return kernel_filter in {"", name}
