"""The command line: each command parses, makes one call of the library, prints, and leaves with an exit code."""

from __future__ import annotations

import io
import math
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Self

import typer

from ncuview.collect.options import (
    AppReplayMode,
    CacheControl,
    ClockControl,
    FilterMode,
    GraphProfiling,
    KernelNameBase,
    NcuOptions,
    PipelineBoostState,
    ReplayMode,
    TargetProcesses,
)
from ncuview.errors import NcuviewError, UsageError

if TYPE_CHECKING:
    from ncuview.collect.ncu_output import Progress
    from ncuview.collect.user_kernel import LaunchWords
    from ncuview.diagnose.compare import Comparison
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


class YesNo(StrEnum):
    """A switch as ncu writes it."""

    YES = "yes"
    ON = "on"
    NO = "no"
    OFF = "off"

    @property
    def on(self) -> bool:
        """Whether it is one of the two words for on."""
        return self in {YesNo.YES, YesNo.ON}


class Look(StrEnum):
    """How closely a program is looked at."""

    FULL = "full"
    QUICK = "quick"


def _option(help_: str, *names: str) -> Any:
    return typer.Option(*names, help=help_)


@app.command()
def analyze(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET... [-- PROGRAM ARGS...]",
            help="A kernel of the catalogue, reports (.ncu-rep, .ncu-repz), a .cu file, a Python file, or a program.",
        ),
    ] = None,
    live: LiveOption = None,
    rules: RulesOption = None,
    to: FormatOption = Format.TERMINAL,
    output: OutputOption = None,
    export: Annotated[
        Path | None, _option("Keep the report here; %p, %h, %i and %q{NAME} in its name are ncu's.", "--export")
    ] = None,
    timeout: Annotated[float, _option("Seconds that a program may take under ncu.", "--timeout")] = math.inf,
    kernel_name: Annotated[str, _option("Only this kernel, or regex:PATTERN.", "--kernel-name", "-k")] = "",
    kernel_name_base: Annotated[KernelNameBase | None, _option("The name that is meant.", "--kernel-name-base")] = None,
    kernel_id: Annotated[str, _option("CONTEXT:STREAM:[regex:]NAME:INVOCATION.", "--kernel-id")] = "",
    launch_skip: Annotated[int, _option("Matching launches to leave out first.", "--launch-skip", "-s")] = 0,
    launch_skip_before_match: Annotated[
        int, _option("Launches to leave out first, matching or not.", "--launch-skip-before-match")
    ] = 0,
    launch_count: Annotated[int | None, _option("Matching launches to profile.", "--launch-count", "-c")] = None,
    filter_mode: Annotated[FilterMode | None, _option("Over what launches are counted.", "--filter-mode")] = None,
    nvtx: Annotated[bool, _option("Record NVTX ranges.", "--nvtx")] = False,
    nvtx_include: Annotated[
        list[str] | None, _option("Only launches in this range. Repeatable.", "--nvtx-include")
    ] = None,
    nvtx_exclude: Annotated[
        list[str] | None, _option("No launches in this range. Repeatable.", "--nvtx-exclude")
    ] = None,
    range_filter: Annotated[str, _option("[yes|no]:PROFILER RANGES:NVTX RANGES.", "--range-filter")] = "",
    devices: Annotated[str, _option("Only these GPUs: 0,1.", "--devices", "--device")] = "",
    target_processes: Annotated[
        TargetProcesses, _option("Whether child processes count.", "--target-processes")
    ] = TargetProcesses.ALL,
    target_processes_filter: Annotated[
        str, _option("Only processes NAME, regex:PATTERN, exclude:NAME, comma between.", "--target-processes-filter")
    ] = "",
    profile_from_start: Annotated[
        YesNo, _option("no waits for cudaProfilerStart.", "--profile-from-start")
    ] = YesNo.YES,
    kill: Annotated[YesNo, _option("End the program after --launch-count.", "--kill")] = YesNo.NO,
    replay_mode: Annotated[ReplayMode, _option("What is run again.", "--replay-mode")] = ReplayMode.KERNEL,
    app_replay_mode: Annotated[AppReplayMode | None, _option("How alike runs must be.", "--app-replay-mode")] = None,
    cache_control: Annotated[
        CacheControl, _option("Flush caches before each pass.", "--cache-control")
    ] = CacheControl.ALL,
    clock_control: Annotated[ClockControl, _option("Lock the clocks.", "--clock-control")] = ClockControl.NONE,
    pipeline_boost_state: Annotated[
        PipelineBoostState | None, _option("Hold the tensor cores' boost.", "--pipeline-boost-state")
    ] = None,
    import_source: Annotated[YesNo, _option("Keep source text in the report.", "--import-source")] = YesNo.YES,
    source_folders: Annotated[str, _option("Where moved sources are, comma between.", "--source-folders")] = "",
    graph_profiling: Annotated[
        GraphProfiling | None, _option("Kernels of a graph, or the graph.", "--graph-profiling")
    ] = None,
    ncu_args: Annotated[str, _option('Further options of ncu, "--name=value ...".', "--ncu-args")] = "",
    kernel: Annotated[str, _option("The kernel, as C++ has it: blas::saxpy<float>.", "--kernel")] = "",
    grid: Annotated[str, _option('Blocks: "n / 32, n / 32".', "--grid")] = "",
    block: Annotated[str, _option('Threads per block: "32, 8".', "--block")] = "",
    shared: Annotated[str, _option("Bytes of dynamic shared memory.", "--shared")] = "",
    arg: Annotated[
        list[str] | None,
        _option('A parameter, in order: "in float32[n] below 4", "out float32[n]", "int32 = n".', "--arg"),
    ] = None,
    size: Annotated[list[str] | None, _option("A size: n=1048576. Repeatable.", "--size")] = None,
    nvcc_args: Annotated[str, _option('Further options of nvcc: "-Iinclude -DN=4".', "--nvcc-args")] = "",
    select: Annotated[
        list[str] | None, _option("Only rules with this code, its beginning, or this name. Repeatable.", "--select")
    ] = None,
    ignore: Annotated[list[str] | None, _option("Leave these rules out. Repeatable.", "--ignore")] = None,
    look: Annotated[Look, _option("quick: sample a program of many launches first.", "--look")] = Look.FULL,
    dry_run: Annotated[
        bool, _option("Print ncu's command, its passes and time, and run nothing.", "--dry-run")
    ] = False,
    top: Annotated[
        int | None, _option("Rank kernels by the time that their advice saves; show N in full.", "--top")
    ] = None,
    diff_only: Annotated[bool, _option("Print the changes of your source as patches for git apply.", "--diff")] = False,
) -> None:
    """Say what to change next in a kernel: from a live run, its recorded profile, or any report."""
    from ncuview import api  # imports pandas; other commands start without it
    from ncuview.collect.user_kernel import LaunchWords

    files = _output_files(output)
    if top is not None and top < 0:
        raise UsageError("--top takes a number of kernels")
    named, program = targets or [], context.obj
    options = NcuOptions(
        kernel_name=kernel_name,
        kernel_name_base=kernel_name_base,
        kernel_id=kernel_id,
        launch_skip=launch_skip,
        launch_skip_before_match=launch_skip_before_match,
        launch_count=launch_count,
        filter_mode=filter_mode,
        nvtx=nvtx,
        nvtx_include=tuple(nvtx_include or ()),
        nvtx_exclude=tuple(nvtx_exclude or ()),
        range_filter=range_filter,
        devices=_numbers("--devices", devices),
        target_processes=target_processes,
        target_processes_filter=tuple(filter(None, target_processes_filter.split(","))),
        replay_mode=replay_mode,
        app_replay_mode=app_replay_mode,
        cache_control=cache_control,
        clock_control=clock_control,
        pipeline_boost_state=pipeline_boost_state,
        import_source=import_source.on,
        source_folders=tuple(Path(folder) for folder in source_folders.split(",") if folder),
        profile_from_start=profile_from_start.on,
        graph_profiling=graph_profiling,
        kill=kill.on,
        ncu_args=ncu_args,
    )
    words = LaunchWords(kernel, grid, block, shared, tuple(arg or ()), tuple(size or ()), nvcc_args)
    suffix = Path(named[0]).suffix if len(named) == 1 else ""
    runs = program is not None or suffix in {".py", ".cu"}
    _refuse_mixture(named, program, suffix, live, options, words)
    if export and (not runs or suffix == ".cu" or look is Look.QUICK):
        raise UsageError("--export keeps the report of a program that is profiled in one run")
    if timeout != math.inf and (not runs or suffix == ".cu"):
        raise UsageError("--timeout is for programs")
    if look is Look.QUICK and (not runs or suffix == ".cu"):
        raise UsageError("--look quick samples the launches of a program", hint="Reports hold what they hold.")
    from ncuview.collect.plan import choose_rules

    loaded = choose_rules(api.load_rules(rules or ()), select or (), ignore or ())
    if dry_run:
        if not runs:
            raise UsageError("--dry-run is for programs, Python and .cu files")
        from ncuview.collect.live import host_command
        from ncuview.sampled import forecast_of

        launcher = host_command(Path("job.json"), Path("result.json"))
        runs_as = launcher if suffix == ".cu" else [*named, *(program or ())]
        _print(str(forecast_of(runs_as, loaded, options, quick=look is Look.QUICK)))
        return
    with _Progress() as progress:
        if suffix == ".cu":
            diagnosis = api.analyze_source(Path(named[0]), words, loaded, options, progress=progress.show)
        elif runs and look is Look.QUICK:
            from ncuview.sampled import analyze_sampled

            diagnosis = analyze_sampled(
                [*named, *(program or ())], loaded, options, timeout_s=timeout, progress=progress.show
            )
        elif runs:
            diagnosis = api.analyze_program(
                [*named, *(program or ())], loaded, options, export=export, timeout_s=timeout, progress=progress.show
            )
        else:
            diagnosis = api.analyze(
                *named,
                rules=loaded,
                live=live,
                kernel_name=kernel_name,
                source_folders=options.source_folders,
                progress=progress.show,
            )
    if diff_only:
        _print_patches(diagnosis)
        return
    _deliver(diagnosis, to, files, top)


def _print_patches(diagnosis: Diagnosis) -> None:
    """The changes of the user's source, each once; on stderr, why a kernel has none."""
    edits = [(launch.kernel, finding.edit) for launch in diagnosis.launches for finding in launch.findings[:1]]
    for patch in dict.fromkeys(edit.diff for _, edit in edits if edit and edit.diff):
        _print_exactly(patch)
    for kernel, edit in dict.fromkeys(edits):
        if not edit:
            _complain(f"{kernel}: its source is not on this machine", "--source-folders says where to look.")
        elif edit.reason:
            _complain(f"{kernel}: {edit.reason}")


def _print_exactly(text: str) -> None:
    """Text of the user's files as it is, for another program; on a terminal without what could move its cursor."""
    from ncuview.render.text import safe_lines

    if sys.stdout.isatty():
        _print(safe_lines(text) + "\n")
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A report, or a folder of them.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The same after a change.")],
    kernel_name: Annotated[str, _option("Only this kernel, or regex:PATTERN.", "--kernel-name", "-k")] = "",
    renamed: Annotated[list[str] | None, _option("OLD=NEW: a kernel with a new name. Repeatable.", "--renamed")] = None,
    force: Annotated[bool, _option("Compare what was profiled differently.", "--force")] = False,
    rules: RulesOption = None,
    to: FormatOption = Format.TERMINAL,
    output: OutputOption = None,
) -> None:
    """Compare two profiles: what moved in each kernel, and whether the first advice kept its promise."""
    from ncuview import api

    files = _output_files(output)
    names = [each.partition("=") for each in renamed or ()]
    if not all(old and new for old, _, new in names):
        raise UsageError("--renamed takes OLD=NEW")
    new_names = {old: new for old, _, new in names}
    compared = api.compare(before, after, api.load_rules(rules or ()), kernel_name, new_names, force=force)
    _deliver(compared, to, files)


def _refuse_mixture(
    named: list[str],
    program: tuple[str, ...] | None,
    suffix: str,
    live: bool | None,
    options: NcuOptions,
    words: LaunchWords,
) -> None:
    """Refuse words that belong to another kind of target than the one that is named."""
    if not named and not program:
        raise UsageError(
            "there is nothing to analyze", hint="Name a kernel, a report, a .cu or .py file, or -- program."
        )
    if named and program is not None and suffix != ".py":
        raise UsageError("give either targets or a program behind --", hint="Only a Python file takes words behind --.")
    runs = program is not None or suffix in {".py", ".cu"}
    if runs and live is False:
        raise UsageError("there is no recorded profile of a program of yours", hint="Leave --recorded out.")
    if not runs and replace(options, kernel_name="", source_folders=()) != NcuOptions():
        raise UsageError("options of ncu are for programs and .cu files", hint="Reports take -k and --source-folders.")
    if suffix != ".cu" and any(vars(words).values()):
        raise UsageError("--kernel, --grid, --block, --arg and --size are for .cu files")


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(",") if word)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is no list of numbers", hint="As in 0,1.") from error


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
        code = _run(*_split_program(sys.argv[1:]))
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


def _split_program(args: list[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """The words before the first ``--``, and those behind it, which are a program's and never options of ours."""
    if args[:1] != ["analyze"] or "--" not in args:
        return args, None
    at = args.index("--")
    return args[:at], tuple(args[at + 1 :])


def _run(args: list[str], program: tuple[str, ...] | None = None) -> int:
    """What typer's own main does, which gives 0 on Ctrl-C and 1, a failed gate, when the reader of a pipe has gone."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("ncuview", args, obj=program) as context:
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


def _deliver(
    answer: Diagnosis | Ladder | Comparison, to: Format, files: dict[Path, Format], top: int | None = None
) -> None:
    from ncuview.render import render

    for path, file_format in files.items():
        try:
            path.write_text(render(answer, file_format.value, top=top), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
    _print(render(answer, to.value, width=_width(), color=_color(), top=top))


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
