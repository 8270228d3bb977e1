"""Parse the message of one launch in a report -> ``LaunchOutline``: thread, kernel, module, metrics, damage.

``launch_outline`` takes the report's bytes and the launch's span, and refuses more fields than its size allows.
It runs in Python, before native code sees the bytes.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from ncuview.reader import wire
from ncuview.reader.wire import Data, Field, Outline, Span, WireError

# The thread, the kernel's mangled name, its module, its metrics.
_THREAD, _MANGLED, _MODULE, _NUMBER_OF_MODULE, _METRIC = 1, 5, 15, 1, 13
_LARGEST_NUMBER = 2**32 - 1

_COMPLETE_METRIC = re.compile(
    rb"\x08([\x80-\xff]{0,4}[\0-\x7f])(?:\Z|\x12\0|\x1a|\x20|\x12[\x80-\xff]{0,4}[\x01-\x7f][\x0a\x15\x19\x20\x25\x28])",
    re.DOTALL,
)
"""The number of its name, then its value: a text, a number of 32 or 64 bits, or an integer; or no value; or only values
of instructions, or only whether it has some, as for the metrics of register spilling in ncu 2025.3."""

LEAST_BYTES_OF_FIELD = 8
"""A metric takes ten bytes or more. A file with many fields of two bytes would take minutes to parse."""
_FEW = 64
"""Fields of a launch that are not metrics; some take two bytes."""


class LaunchOutline(NamedTuple):
    """One launch, as far as its message describes it."""

    fields: int
    """How many its message has."""
    mangled: str
    """The kernel's mangled name; empty where it is missing."""
    module: int
    """The number of the module that holds the kernel; 0 where it is missing."""
    metrics: int | None
    """How many it has; None where the framing does not give it, as for ranges."""
    damage: str
    """Its damage, such as ``no metrics``; empty where no damage is found."""
    thread: int
    """The number of the thread that launched it; 0 where it is missing or impossible."""


def launch_outline(data: Data, item: Span, *, is_kernel: bool) -> LaunchOutline:
    """Parse the message of one launch.

    Raises:
        WireError: The bytes are no message, or have more fields than a launch of this size.
    """
    outline = wire.outline(data, item)
    check_density(item, len(outline.rows))
    name = outline.last.get(_MANGLED)
    mangled = data[name.body : name.end].decode("utf-8", "replace") if name else ""
    metrics, damage = _metrics(data[item.start : item.end], item.start, outline) if is_kernel else (None, "")
    thread = system_number(outline.last[_THREAD]) if _THREAD in outline.last else 0
    return LaunchOutline(len(outline.rows), mangled, _module(data, outline), metrics, damage, thread)


def system_number(field: Field) -> int:
    """The number of a process or thread that a field holds; 0 where it is none."""
    return field.value if field.value <= _LARGEST_NUMBER else 0


def check_density(item: Span, fields: int) -> None:
    """Refuse a message with more fields than one of its size has.

    Raises:
        WireError: It has more.
    """
    if fields > _FEW + item.size // LEAST_BYTES_OF_FIELD:
        raise too_many_fields(item)


def too_many_fields(item: Span) -> WireError:
    """The error that names a message with too many fields."""
    return WireError(item.start, "more fields than a report of its size has")


def _metrics(message: bytes, start: int, outline: Outline) -> tuple[int, str]:
    """How many metrics there are, and what is wrong with them."""
    complete = _COMPLETE_METRIC.match  # looked up once for hundreds of calls
    values = [complete(message, row[4] - start, row[5] - start) for row in outline.rows if row[0] == _METRIC]
    damage = "a metric without a value" if None in values else ""
    # ncu 2025.3 writes some metrics of --set full twice; NVIDIA's reader gives each once.
    return len({value[1] for value in values if value}), damage if values else "no metrics"


def _module(data: Data, outline: Outline) -> int:
    if _MODULE in outline.last:
        with suppress(WireError):
            inner = wire.outline(data, outline.last[_MODULE].content).last
            return inner[_NUMBER_OF_MODULE].value if _NUMBER_OF_MODULE in inner else 0
    return 0
