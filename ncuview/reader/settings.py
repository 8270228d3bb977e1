"""Read ncu's clock control, cache control and replay mode from the command line in a report -> ``Settings``.

``settings_of`` takes a report's path, ``settings_in`` a command line as text; missing options have ncu's defaults.
Two profiles are comparable only where these are the same. ``session_of`` gives the CUDA version of the driver too.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import ReportDamaged
from ncuview.base.report_files import is_csv_export
from ncuview.reader import wire
from ncuview.reader.precheck import read_report
from ncuview.reader.wire import Span, WireError

_SESSION, _VERSIONS, _COMMAND_LINE = 3, 8, 11
_NAME, _VALUE = 1, 2
_CUDA = b"CUDA Version"
_CUDA_VALUE = re.compile(rb"[0-9]{1,4}(\.[0-9]{1,4}){0,2}")
_NCU = re.compile(r'(?:^|[\s"/\\])(?:ncu|nv-nsight-cu-cli)(?:\.exe)?"?(?=\s|$)')
_DEFAULTS = {"clock-control": "base", "cache-control": "all", "replay-mode": "kernel"}
"""ncu's defaults, by its guide; a configuration file may change them."""


@dataclass(frozen=True)
class Settings:
    """The options of ncu that change times and counters; each empty where it is unknown."""

    clock_control: str = ""
    """``base``: the clocks were locked; ``none``: they were not."""
    cache_control: str = ""
    """``all``: caches were emptied before each pass; ``none``: they were left as they were."""
    replay_mode: str = ""
    """``kernel``: each launch was repeated for each pass; ``application``: the complete program was."""


@dataclass(frozen=True)
class Session:
    """What a report says of the run of ncu that wrote it."""

    settings: Settings
    cuda_version: str
    """The CUDA version that the driver supports, such as ``13.0``; empty where the report does not name it."""


def settings_of(path: Path) -> Settings:
    """The settings in the command line of a report; all empty where it was scrubbed or lost, and for a CSV export.

    Raises:
        ReportUnreadable: It cannot be opened, or is no report of a known format.
    """
    return session_of(path).settings


def session_of(path: Path) -> Session:
    """The settings, and the CUDA version of the driver; for the rest as ``settings_of``."""
    if is_csv_export(path):
        return Session(Settings(), "")
    command, cuda = "", ""
    with suppress(ReportDamaged, WireError):  # the reader reports the damage
        data = read_report(path)
        for block in wire.blocks(data):
            for session in wire.contents(data, block.header, _SESSION):
                for line in wire.contents(data, session, _COMMAND_LINE):
                    command = command or data[slice(*line)].decode("utf-8", "replace")
                for entry in wire.contents(data, session, _VERSIONS):
                    cuda = cuda or _cuda_version(data, entry)
            if command and cuda:
                break
    return Session(settings_in(command), cuda)


def settings_in(command_line: str) -> Settings:
    """The settings that a command line of ncu asks for, its defaults where an option is missing."""
    program = _NCU.search(command_line)
    if program is None:
        return Settings()
    options = command_line[program.end() :]
    return Settings(*(_value(option, options) or default for option, default in _DEFAULTS.items()))


def _value(option: str, options: str) -> str:
    """The value of an option. The first one counts: a later one may belong to the profiled program."""
    found = re.search(rf"(?<!\S)--{option}(?:=|\s+)(\S+)", options)
    return found[1].strip("\"'").lower() if found else ""


def _cuda_version(data: bytes, entry: Span) -> str:
    texts = {each.number: data[each.body : each.end] for each in wire.fields(data, entry)}
    found = _CUDA_VALUE.match(texts.get(_VALUE, b"")) if texts.get(_NAME) == _CUDA else None
    return found[0].decode("ascii") if found else ""
