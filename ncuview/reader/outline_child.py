"""Child process that parses some launches of a large report, given by their places, into ``LaunchOutline``s as JSON.

``python -P -m ncuview.reader.outline_child`` takes report and places from its stdin, a socket, and writes to stdout.
Several such processes run at once (``outliners.py``). Launches that cannot be parsed are left out; ``framing`` parses
them again and names the error.
"""

from __future__ import annotations

import json
import mmap
import sys
from contextlib import suppress
from pathlib import Path

from ncuview.reader.launch_outline import launch_outline
from ncuview.reader.sandbox import confine
from ncuview.reader.task import from_stdin
from ncuview.reader.wire import Span, WireError

MEMORY = 1 << 30
"""Bytes of address space in addition to the report's."""


def main() -> None:
    """Write the outlines of the task's launches, each with the byte at which its launch begins."""
    given = from_stdin()
    if given is None:
        return
    text, (path,) = given
    task = json.loads(text)
    with Path(path).open("rb") as file:
        report = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    confine(MEMORY + len(report), task["cpu_s"])
    found = []
    for start, end, is_kernel in task["launches"]:
        with suppress(WireError):
            found.append((start, *launch_outline(report, Span(start, end), is_kernel=is_kernel)))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
