"""The typer ``app`` with all commands; ``main`` runs it and turns every exception into a message and an exit code.

``run`` is the entry point of the command ``ncuview``: it calls ``main`` and exits at once.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, NoReturn

import typer

from ncuview.base.errors import NcuviewError, ProgramError, ShippedQuantityError, ToolError, UsageError
from ncuview.base.log import LOG
from ncuview.base.paths import keep_error
from ncuview.base.signals import Terminated, install_signal_handlers
from ncuview.base.version import VERSION
from ncuview.cli.analyze import analyze
from ncuview.cli.calibrate import calibrate
from ncuview.cli.catalogue import kernels, ladder
from ncuview.cli.check import check
from ncuview.cli.commands import Command, Group
from ncuview.cli.diff import diff
from ncuview.cli.doctor import doctor
from ncuview.cli.mcp import mcp
from ncuview.cli.metrics import metrics
from ncuview.cli.printing import (
    discard_stdout,
    open_closed_streams,
    print_error,
    print_message,
    print_text,
    show_log,
)
from ncuview.cli.report import report
from ncuview.cli.rules import check_rules, explain, rules
from ncuview.cli.scrub import scrub
from ncuview.cli.store import store_app
from ncuview.cli.trials import try_
from ncuview.cli.verbosity import with_verbosity

INTERNAL_ERROR = 70
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
_SIGPIPE = 13
"""Windows has no signal of this name."""
_TAKE_PROGRAMS = ("analyze", "calibrate", "check", "try")
"""Commands that take a program after ``--``."""
_LOG_LEVEL = "--log-level"
_COMPLETE = "_NCUVIEW_COMPLETE"
"""The variable by which a shell asks for completions, as typer's scripts for shells name it."""


class LogLevel(StrEnum):
    """From which level on the log is shown."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Turns a GPU profile into the next change to make: which optimisation, on which line, why, what it will gain.",
)
rules_app = typer.Typer(cls=Group, rich_markup_mode=None, help="List the rules, or check rule files of your own.")
app.add_typer(rules_app, name="rules")
app.add_typer(store_app, name="store")

for command in (analyze, check, diff, report, ladder, calibrate, kernels):
    app.command(cls=Command)(with_verbosity(command))
app.command("try", cls=Command)(with_verbosity(try_))
rules_app.callback(invoke_without_command=True)(with_verbosity(rules))
rules_app.command("check", cls=Command)(with_verbosity(check_rules))
for command in (explain, metrics, scrub, doctor, mcp):
    app.command(cls=Command)(with_verbosity(command))


def _show_version(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:  # a shell completes what follows
        print_text(f"ncuview {VERSION}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[  # noqa: ARG001  (its callback prints it)
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_show_version)
    ] = False,
    log_level: Annotated[
        LogLevel,
        typer.Option(_LOG_LEVEL, help="What is reported on standard error: info names files, programs and fallbacks."),
    ] = LogLevel.WARNING,
) -> None:
    """Options of all commands."""
    show_log(log_level)
    LOG.debug("ncuview %s, Python %s on %s", VERSION, sys.version.split()[0], sys.platform)


def main() -> NoReturn:
    """Run the command line and turn every failure into a message and its exit code."""
    open_closed_streams()
    install_signal_handlers()
    show_log()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 cannot show all letters of names
    try:
        code = _run(*_split_program(sys.argv[1:]))
    except NcuviewError as error:
        print_error(str(error), error.hint, error.id)
        code = error.exit_code
        if isinstance(error, ToolError | ProgramError | ShippedQuantityError):
            keep_error(error, code)
    except (KeyboardInterrupt, typer.Abort):
        print_error("interrupted")
        code = 128 + signal.SIGINT
    except Terminated:
        print_error("terminated")
        code = 128 + signal.SIGTERM
    except BrokenPipeError:
        discard_stdout()  # the reader of the output has exited
        code = 128 + _SIGPIPE
    except Exception as error:  # noqa: BLE001  (a bug must not exit with 0 or 1)
        code = _usage_exit_code(error) or _unwritable() or _internal_error(error)
    sys.exit(code)


def run() -> NoReturn:
    """Call ``main`` and exit at once, since Python's own shutdown takes up to 0.2 s.

    Nothing is lost: all files and processes are closed by then. What is imported lives to the end, and looking for
    garbage in it takes a twentieth of a short run.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        main()
    except SystemExit as left:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # main has already reported it where it matters
                stream.flush()
        os._exit(left.code if isinstance(left.code, int) else INTERNAL_ERROR)


def _split_program(args: list[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """The words before the first ``--``, and the words of a program after it, which are no options of ncuview."""
    if "--" not in args or _command_among(args) not in _TAKE_PROGRAMS:
        return args, None
    at = args.index("--")
    return args[:at], tuple(args[at + 1 :])


def _command_among(args: Sequence[str]) -> str:
    """The first word that is no option of all commands, nor the value of one."""
    words = iter(args)
    for word in words:
        if not word.startswith("-"):
            return word
        if word == _LOG_LEVEL:
            next(words, "")
    return ""


def _run(args: list[str], program: tuple[str, ...] | None = None) -> int:
    """Run typer without its own main, which exits with 0 on Ctrl-C and with 1, a failed gate, on a closed pipe."""
    command = typer.main.get_command(app)
    if asked := os.environ.get(_COMPLETE):
        from typer.completion import shell_complete

        return UsageError.exit_code if shell_complete(command, {}, "ncuview", _COMPLETE, asked) else 0
    try:
        with command.make_context("ncuview", args, obj=program) as context:
            command.invoke(context)
    except typer.Exit as left:
        return left.exit_code
    except SystemExit as left:  # typer ends --show-completion so: with 1, which is a gate's, for an unknown shell
        return UsageError.exit_code if left.code else 0
    return 0


def _usage_exit_code(error: Exception) -> int | None:
    """Show a usage error that typer raised; its exit code."""
    from ncuview.cli.usage_errors import usage_error

    if wrong := usage_error(error):
        print_message(_printable(wrong[0]))
        return wrong[1]
    return None


def _unwritable() -> int | None:
    """Report that standard output rejects what typer has written to it; the exit code, or None where it does not."""
    try:
        print_text("")
    except UsageError as refused:
        print_error(str(refused))
        return refused.exit_code
    return None


def _internal_error(error: Exception) -> int:
    import traceback

    # No module of ncuview is imported here: it may be the one with the bug.
    print_message(_printable(traceback.format_exc().rstrip()))
    print_message(f"ncuview: internal error: {type(error).__name__}: {str(error)!a}")
    print_message(
        "  This is a bug of ncuview; please report it. `ncuview doctor --bundle FILE.zip` collects what to send."
    )
    with suppress(Exception):  # it must not hide what happened
        keep_error(error, INTERNAL_ERROR)
    return INTERNAL_ERROR


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
