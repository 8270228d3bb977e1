"""The command line: each command parses, makes one call of the library, prints, and leaves with an exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, Self

import typer

from ncuview.errors import NcuviewError, UsageError

if TYPE_CHECKING:
    from ncuview.collect.ncu_output import Progress
    from ncuview.model import Diagnosis, Ladder

INTERNAL_ERROR = 70
_NARROWEST, _WIDEST = 40, 120

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Turns a GPU profile into the next change to make: which optimisation, on which line, why, what it will gain.",
)
rules_app = typer.Typer(rich_markup_mode=None, help="List the rules, or check rule files of your own.")
app.add_typer(rules_app, name="rules")


class Format(StrEnum):
    """What the answer is printed as."""

    TERMINAL = "terminal"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="For people, or for programs.")]
RulesOption = Annotated[
    list[Path] | None, typer.Option("--rules", help="A folder with further rules, <topic>/<rule>.toml. Repeatable.")
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", help="Also write the answer to a file: .json or .txt. Repeatable."),
]
LiveOption = Annotated[
    bool | None,
    typer.Option("--live/--recorded", help="Profile here, or use the recorded profile. Default: live where possible."),
]


@app.command()
def analyze(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="A kernel of the catalogue, or reports, .ncu-rep or .ncu-repz."),
    ],
    live: LiveOption = None,
    kernel_name: Annotated[
        str, typer.Option("--kernel-name", "-k", help="Of reports, only this kernel, or regex:PATTERN.")
    ] = "",
    rules: RulesOption = None,
    to: FormatOption = Format.TERMINAL,
    output: OutputOption = None,
) -> None:
    """Say what to change next in a kernel: from a live run, its recorded profile, or any report."""
    from ncuview import api  # imports pandas; other commands start without it

    files = _output_files(output)
    with _Progress() as progress:
        loaded = api.load_rules(rules or ())
        diagnosis = api.analyze(*targets, rules=loaded, live=live, kernel_name=kernel_name, progress=progress.show)
    _deliver(diagnosis, to, files)


@app.command()
def ladder(
    family: Annotated[str, typer.Argument(help="A family of the catalogue, such as transpose.")],
    live: LiveOption = None,
    rules: RulesOption = None,
    to: FormatOption = Format.TERMINAL,
    output: OutputOption = None,
) -> None:
    """Walk a family from naive to best, with the gain that was promised and got at each step."""
    from ncuview import api

    files = _output_files(output)
    with _Progress() as progress:
        climbed = api.ladder(family, api.load_rules(rules or ()), live, progress.show)
    _deliver(climbed, to, files)


@app.command()
def calibrate(
    reports: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="REPORT", help="Take a report of calibration kernels instead. Repeatable."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The table to write. Default: your own, which predictions rest on."),
    ] = None,
) -> None:
    """Measure which share of each unit's peak good kernels attain on this GPU, and keep it for predictions."""
    from ncuview import api
    from ncuview.diagnose.attainable import check_writable, keep
    from ncuview.paths import users_table
    from ncuview.render.calibration import calibration_page

    table = output or users_table()
    if table is None:
        raise UsageError("there is no home folder to keep the table in", hint="--output FILE writes it elsewhere.")
    check_writable(table)
    with _Progress() as progress:
        calibration = api.calibrate(*reports or (), progress=progress.show)
    _print(calibration_page(calibration, _width()))
    keep(calibration, table)
    _say(f"{table}: written, for {calibration.device}")


@app.command()
def kernels(to: FormatOption = Format.TERMINAL) -> None:
    """List the kernels of the catalogue, with the document that each is from."""
    from ncuview.collect.catalogue import all_kernels
    from ncuview.render.lists import kernels_json, kernels_page

    _print(kernels_json(all_kernels()) if to is Format.JSON else kernels_page(all_kernels(), _width()))


@rules_app.callback(invoke_without_command=True)
def rules(
    context: typer.Context,
    folder: RulesOption = None,
    to: FormatOption = Format.TERMINAL,
    only_metrics: Annotated[
        bool, typer.Option("--metrics", help="Print what the rules need collected, for ncu --metrics.")
    ] = False,
) -> None:
    """List the rules."""
    if context.invoked_subcommand:
        return
    from ncuview.api import load_rules
    from ncuview.collect.plan import metrics_for
    from ncuview.render.lists import rules_json, rules_page

    loaded = load_rules(folder or ())
    if only_metrics:
        _print(",".join(metrics_for(loaded)) + "\n")
        return
    _print(rules_json(loaded) if to is Format.JSON else rules_page(loaded, _width()))


@rules_app.command("check")
def check_rules(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with rules, <topic>/<rule>.toml.")],
) -> None:
    """Load every rule of a folder and run the cases that it carries."""
    from ncuview.diagnose.cases import run_cases
    from ncuview.ruleset.spec import load_rules

    loaded = load_rules([folder])
    for rule in loaded:
        _print(f"{rule.text.code}  {rule.text.name}: {run_cases(rule)} cases hold\n")


@app.command()
def explain(
    rule: Annotated[str, typer.Argument(help="A rule's code or name: SMEM001, shared-bank-conflict.")],
    folder: RulesOption = None,
) -> None:
    """Explain a rule: what it measures, why it matters, the change before and after, who teaches it."""
    from ncuview.api import load_rules
    from ncuview.render.rule_page import rule_page
    from ncuview.ruleset.spec import find_rule

    _print(rule_page(find_rule(load_rules(folder or ()), rule), _width()))


@app.command()
def metrics(
    name: Annotated[str | None, typer.Argument(help="A metric of the textbooks or of nvprof.")] = None,
) -> None:
    """Define a metric of the textbooks in Nsight Compute's terms, or list them all."""
    from ncuview.render.metric_page import metric_list, metric_page
    from ncuview.report.metrics import definition, definitions

    _print(metric_page(definition(name), _width()) if name else metric_list(definitions().values(), _width()))


@app.command()
def scrub(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A report.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The copy to write.")],
) -> None:
    """Copy a report with every counter and without host name, user, path, command line or environment."""
    from ncuview.report.scrub import scrub as scrub_report

    scrub_report(source, target)
    _say(f"{target}: {target.stat().st_size:,} bytes")


def _show_version(wanted: bool) -> None:
    if wanted:
        from ncuview import __version__

        _print(f"ncuview {__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Options of all commands."""


def main() -> NoReturn:
    """Run the command line and turn every failure into a message and the exit code that it stands for."""
    signal.signal(signal.SIGTERM, _terminated)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 lacks some letters of names
    try:
        code = _run(sys.argv[1:])
    except NcuviewError as error:
        _complain(str(error), error.hint)
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        code = 128 + signal.SIGINT
    except _Terminated:
        _complain("terminated")
        code = 128 + signal.SIGTERM
    except BrokenPipeError:
        _discard_stdout()  # the reader of our output has gone
        code = 128 + signal.SIGPIPE
    except Exception as error:  # noqa: BLE001  (a bug must not leave with 0 or 1)
        code = _usage_exit_code(error) or _internal_error(error)
    sys.exit(code)


def _run(args: list[str]) -> int:
    """What typer's own main does, which gives 0 on Ctrl-C and 1, a failed gate, when the reader of a pipe has gone."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("ncuview", args) as context:
            command.invoke(context)
    except typer.Exit as left:
        return left.exit_code
    return 0


class _Terminated(BaseException):
    """SIGTERM arrived: like KeyboardInterrupt, so that child processes are stopped on the way out."""


def _terminated(*_: object) -> NoReturn:
    raise _Terminated


def _usage_exit_code(error: Exception) -> int | None:
    """The exit code of an error that typer raised about the command line, once it has been shown."""
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if not callable(show) or not isinstance(code, int):
        return None
    shown = io.StringIO()
    show(shown)
    _say(_printable(shown.getvalue().rstrip()))
    return code


def _internal_error(error: Exception) -> int:
    import traceback

    # Nothing of ours is imported here: it may be what is broken.
    _say(_printable(traceback.format_exc().rstrip()))
    _say(f"ncuview: internal error: {type(error).__name__}: {str(error)!a}")
    _say("  This is a bug of ncuview; please report it.")
    return INTERNAL_ERROR


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _complain(message: str, hint: str = "") -> None:
    from ncuview.render.text import safe_text

    for line in [f"ncuview: {message}", *([f"  {hint}"] if hint else [])]:
        _say("\n".join(safe_text(part) for part in line.split("\n")))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_stdout()
        raise UsageError(f"standard output cannot be written: {error.strerror}") from error


def _discard_stdout() -> None:
    """Lead what is still buffered nowhere; Python would complain again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _width() -> int:
    import shutil

    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((100, 24)).columns))


def _color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _output_files(paths: list[Path] | None) -> dict[Path, Format]:
    """Each output file with the format that its ending stands for, checked before any work is done."""
    formats = {".json": Format.JSON, ".txt": Format.TERMINAL}
    for path in paths or ():
        if path.suffix not in formats:
            raise UsageError(f"{path}: an output file ends in .json or .txt")
        if path.is_dir() or not path.parent.is_dir():
            raise UsageError(f"{path} cannot be written", hint="Name a file in a folder that exists.")
    return {path: formats[path.suffix] for path in paths or ()}


def _deliver(answer: Diagnosis | Ladder, to: Format, files: dict[Path, Format]) -> None:
    from ncuview.render import render

    for path, file_format in files.items():
        try:
            path.write_text(render(answer, file_format.value), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
    _print(render(answer, to.value, width=_width(), color=_color()))


class _Progress:
    """What ncu is doing, on stderr: one line that is rewritten on a terminal, one line per kernel elsewhere."""

    def __init__(self) -> None:
        self._rewrite = sys.stderr.isatty()
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._rewrite:
            sys.stderr.write("\r\x1b[K")

    @property
    def show(self) -> Callable[[Progress], None]:
        return self._show

    def _show(self, progress: Progress) -> None:
        from ncuview.render.text import safe_text

        self._shown = True
        done = f"{progress.passes} passes" if progress.passes else "profiling"
        line = f"ncu: {progress.index + 1} {safe_text(progress.kernel)}, {done}, {progress.elapsed_s:.1f} s"
        if self._rewrite:
            sys.stderr.write(f"\r\x1b[K{line[: _width() - 1]}")
            sys.stderr.flush()
        elif progress.passes:
            _say(line)


if __name__ == "__main__":
    main()
