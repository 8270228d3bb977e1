"""Print answers to standard output, and error messages and ncu's progress to standard error.

``print_text`` prints an answer, ``print_error`` an error, ``print_message`` a line, ``ProgressDisplay`` the progress.

Messages have their secrets masked and control characters removed; ``print_unchanged`` prints patches; ``width`` and
``color`` describe the terminal. Only lines of the format ``github`` can act as a command in the log of a CI job.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from ncuview.base.errors import UsageError
from ncuview.base.figures import duration
from ncuview.base.log import LOG, masked
from ncuview.render.text import safe_page, safe_text, without_ci_commands

if TYPE_CHECKING:
    from pathlib import Path

    from ncuview.profiling.ncu_output import Progress
    from ncuview.render.words import Detail

_NARROWEST, _WIDEST = 40, 120
_DETAIL: list[Detail] = ["normal"]


def open_closed_streams() -> None:
    """Open standard streams that the caller closed, on the null device.

    Otherwise the next file that is opened takes the number of a closed stream, and printed text goes into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest free number: this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))


def print_text(text: str) -> None:
    """Write an answer to standard output; a failure is an error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise UsageError(f"standard output cannot be written: {error.strerror}") from error


def discard_stdout() -> None:
    """Redirect buffered output to the null device; Python would report the error again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_unchanged(text: str) -> None:
    """Print text of the user's files unchanged for another program; on a terminal, without control characters.

    Where a line has the form of a workflow command of GitHub, commands are disabled around the text.
    """
    if without_ci_commands(text) != text and os.environ.get("GITHUB_ACTIONS"):
        from secrets import token_hex

        token = token_hex()
        text = f"::stop-commands::{token}\n{text.rstrip()}\n::{token}::\n"
    if sys.stdout.isatty():
        print_text(safe_page(text))
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    else:  # a Python program has replaced the stream, which takes text
        print_text(text)


def print_error(message: str, hint: str = "", id: str = "") -> None:  # noqa: A002  (what JSON calls it)
    """Print an error on standard error: its id in the failure catalogue, the message, and the hint."""
    for line in [f"ncuview: {f'{id}: ' if id.startswith('NCU-') else ''}{message}", *([f"  {hint}"] if hint else [])]:
        print_message("\n".join(safe_text(part) for part in line.split("\n")))


class _Shown(logging.Handler):
    """Print warnings in the form of error messages, other records with their level and the time since the start."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            print_error(*map(str, record.args or (record.msg,)))
            return
        since = duration(1e6 * record.relativeCreated, digits=3)
        print_message(safe_text(f"ncuview: {record.levelname.lower()}: {since}: {record.getMessage()}"))


_SHOWN = _Shown()


def show_log(level: str = "warning") -> None:
    """Show on standard error what the package reports through ``logging``, from this level on."""
    LOG.addHandler(_SHOWN)
    LOG.setLevel(level.upper())


def set_detail(chosen: Detail) -> None:
    """Set how much the running command prints; as the level of the log, it holds for the process."""
    _DETAIL[0] = chosen


def detail() -> Detail:
    """How much the running command prints."""
    return _DETAIL[0]


def print_written(path: Path, what: str = "") -> None:
    """Name a file that was written on standard error."""
    print_note(f"{safe_text(str(path))}: written{what and f', {what}'}")


def print_note(text: str) -> None:
    """Write a line that is no error to standard error, unless ``--quiet`` or ``--log-level error`` leaves it out."""
    if LOG.isEnabledFor(logging.WARNING) and detail() != "quiet":
        print_message(text)


def print_message(text: str) -> None:
    """Write a line to standard error with secrets masked; a closed stream is ignored."""
    with suppress(OSError):
        sys.stderr.write(f"{without_ci_commands(masked(text))}\n")


def width() -> int:
    """Columns of the terminal, within the limits for readable text."""
    import shutil

    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((100, 24)).columns))


def color() -> bool:
    """Whether standard output shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_BETWEEN_LINES_S = 5.0
"""A log of a program of a thousand launches needs no line for each."""
_LONGEST_NAME = 60
"""Of a kernel in a line of progress. ncu prints template arguments in one of its modes, which fill pages."""


class ProgressDisplay:
    """ncu's progress on stderr: one line that is rewritten on a terminal, elsewhere a line in some seconds."""

    def __init__(self) -> None:
        self._rewrite = sys.stderr.isatty()
        self._shown = False
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._rewrite:
            sys.stderr.write("\r\x1b[K")

    @property
    def show(self) -> Callable[[Progress], None]:
        """The function to call with each progress event."""
        return self._show

    def say(self, text: str) -> None:
        """Write a line that stays."""
        if detail() != "quiet":
            if self._shown and self._rewrite:
                sys.stderr.write("\r\x1b[K")
            print_message(text)

    def _show(self, progress: Progress) -> None:
        if detail() == "quiet":
            return
        self._shown = True
        done = f"{progress.passes} pass{'es'[: 2 * (progress.passes != 1)]}" if progress.passes else "profiling"
        elapsed = duration(1e9 * progress.elapsed_s, digits=3)
        name = safe_text(progress.kernel)
        name = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
        line = f"ncu: {progress.index + 1} {name}, {done}, {elapsed}"
        if self._rewrite:
            sys.stderr.write(f"\r\x1b[K{line[: width() - 1]}")
            sys.stderr.flush()
        elif progress.passes and (progress.elapsed_s >= self._next_s or progress.index == 0):
            self._next_s = progress.elapsed_s + _BETWEEN_LINES_S
            print_message(line)
