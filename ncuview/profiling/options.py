"""The table of the ncu options that a user may set (launch filters, replay, caches, clocks ...), checked, as arguments.

``NcuOptions`` holds values, one field per option; ``argv`` returns the words for ncu; ``OPTIONS`` lists the table.
A field's name, type, default and help are written once, and ncuview's command line takes its parameters from
``OPTIONS``. Names and meanings are ncu's.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum, StrEnum, auto
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ncuview.base.errors import UsageError
from ncuview.base.files import is_folder
from ncuview.base.suggestion import did_you_mean_file


class KernelNameBase(StrEnum):
    """Which of a kernel's names ``kernel_name`` and ``kernel_id`` are compared with."""

    FUNCTION = "function"
    DEMANGLED = "demangled"
    MANGLED = "mangled"


class FilterMode(StrEnum):
    """Whether launches are counted together, or for each GPU or launch configuration."""

    GLOBAL = "global"
    PER_GPU = "per-gpu"
    PER_LAUNCH_CONFIG = "per-launch-config"


class TargetProcesses(StrEnum):
    """Whether processes that the program starts are profiled too."""

    ALL = "all"
    APPLICATION_ONLY = "application-only"


class ReplayMode(StrEnum):
    """What is run again to collect the metrics of further passes."""

    KERNEL = "kernel"
    APPLICATION = "application"
    RANGE = "range"
    APP_RANGE = "app-range"


class AppReplayMode(StrEnum):
    """How far the runs of a program that is run again must agree."""

    STRICT = "strict"
    BALANCED = "balanced"
    RELAXED = "relaxed"


class CacheControl(StrEnum):
    """Whether caches are flushed before each pass."""

    ALL = "all"
    NONE = "none"


class ClockControl(StrEnum):
    """Whether the clocks are locked at the GPU's base frequency while a kernel is profiled."""

    BASE = "base"
    NONE = "none"


class PipelineBoostState(StrEnum):
    """Whether the tensor cores' boost is held while a kernel is profiled."""

    STABLE = "stable"
    DYNAMIC = "dynamic"


class GraphProfiling(StrEnum):
    """Whether the kernels of a CUDA graph are profiled, or the graph as one."""

    NODE = "node"
    GRAPH = "graph"


class CallStacks(StrEnum):
    """Which calls on the host that led to a launch are recorded."""

    ALL = "all"
    PYTHON = "python"
    NATIVE = "native"
    NONE = "none"


_STACK_TYPES: Mapping[CallStacks, Sequence[str]] = {
    CallStacks.ALL: ("native", "python"),
    CallStacks.PYTHON: ("python",),
    CallStacks.NATIVE: ("native",),
    CallStacks.NONE: (),
}
"""ncu's words for them."""

_OURS = frozenset(
    {
        "apply-rules",
        "csv",
        "export",
        "force-overwrite",
        "help",
        "import",
        "log-file",
        "metrics",
        "mode",
        "open-in-ui",
        "page",
        "preload-library",
        "quiet",
        "version",
    }
)
"""Options of ncu that would keep its report or its progress from ncuview, that ncuview gives already, or that make ncu
or the program load further code."""

_OURS_IN_ALL_FORMS = ("config-file", "injection-path", "list-", "query-", "section-folder")
_WHOLE_NAMES = frozenset({"section"})
"""Options whose names are the beginnings of such ones."""


class Form(Enum):
    """How an option is written on a command line."""

    ONE = auto()
    """``--name=value``."""
    LIST = auto()
    """``--name=value,value``."""
    REPEATED = auto()
    """``--name=value --name=value``."""
    SWITCH = auto()
    """``--name=yes``, or ``no``."""
    BARE = auto()
    """``--name``, without a value."""
    STACKS = auto()
    """ncu's switch for call stacks, and one option for each type."""
    FURTHER = auto()
    """Other options, as typed in a shell."""
    OURS = auto()
    """Not at all: ncuview acts on it."""


@dataclass(frozen=True)
class Row:
    """The properties of an option in addition to its name, type and default.

    Attributes:
        help: What it does, for the command line and for Python.
        also: Other names of it on the command line.
        value: The name of its value in the help of the command line; None for the name of its type.
        form: How it is written, where the type does not decide that.
        always: It is passed to ncu in every run: ncuview's default differs, or must not depend on ncu's version.
        chooses: It leaves out some of a program's launches.
    """

    help: str
    also: tuple[str, ...] = ()
    value: str | None = None
    form: Form | None = None
    always: bool = False
    chooses: bool = False


@dataclass(frozen=True)
class NcuOptions:
    """ncu's options for one run; defaults are ncu's, except for sources, caches and clocks."""

    kernel_name: Annotated[str, Row("Only this kernel, or regex:PATTERN.", ("-k",), "NAME", chooses=True)] = ""
    kernel_name_base: Annotated[KernelNameBase | None, Row("The name that is meant.")] = None
    kernel_id: Annotated[str, Row("CONTEXT:STREAM:[regex:]NAME:INVOCATION.", value="ID", chooses=True)] = ""
    launch_skip: Annotated[int, Row("Matching launches to leave out first.", ("-s",), chooses=True)] = 0
    launch_skip_before_match: Annotated[int, Row("Launches to leave out first, matching or not.", chooses=True)] = 0
    launch_count: Annotated[int | None, Row("Matching launches to profile.", ("-c",), chooses=True)] = None
    filter_mode: Annotated[FilterMode | None, Row("Over what launches are counted.")] = None
    nvtx: Annotated[bool, Row("Record NVTX ranges.", form=Form.BARE)] = False
    nvtx_include: Annotated[
        tuple[str, ...],
        Row("Only launches in this range. Repeatable.", value="RANGE", form=Form.REPEATED, chooses=True),
    ] = ()
    nvtx_exclude: Annotated[
        tuple[str, ...], Row("No launches in this range. Repeatable.", value="RANGE", form=Form.REPEATED, chooses=True)
    ] = ()
    range_filter: Annotated[str, Row("[yes|no]:PROFILER RANGES:NVTX RANGES.", value="FILTER", chooses=True)] = ""
    devices: Annotated[tuple[int, ...], Row("Only these GPUs: 0,1.", ("--device",), "N,N", chooses=True)] = ()
    target_processes: Annotated[TargetProcesses, Row("Whether child processes count.", always=True, chooses=True)] = (
        TargetProcesses.ALL
    )
    target_processes_filter: Annotated[
        tuple[str, ...],
        Row("Only processes NAME, regex:PATTERN, exclude:NAME, comma between.", value="NAME,NAME", chooses=True),
    ] = ()
    profile_from_start: Annotated[bool, Row("no waits for cudaProfilerStart.", chooses=True)] = True
    kill: Annotated[bool, Row("End the program after --launch-count.")] = False
    replay_mode: Annotated[ReplayMode, Row("What is run again.")] = ReplayMode.KERNEL
    app_replay_mode: Annotated[AppReplayMode | None, Row("How far runs must agree.")] = None
    cache_control: Annotated[CacheControl, Row("Flush caches before each pass.", always=True)] = CacheControl.ALL
    clock_control: Annotated[ClockControl, Row("Lock the clocks.", always=True)] = ClockControl.NONE
    pipeline_boost_state: Annotated[PipelineBoostState | None, Row("Hold the tensor cores' boost.")] = None
    import_source: Annotated[bool, Row("Keep source text in the report.", always=True)] = True
    source_folders: Annotated[tuple[Path, ...], Row("Where moved sources are, comma between.", value="DIR,DIR")] = ()
    call_stack: Annotated[CallStacks | None, Row("Calls that led to a launch; all of a program.", form=Form.STACKS)] = (
        None
    )
    graph_profiling: Annotated[GraphProfiling | None, Row("Kernels of a graph, or the graph.")] = None
    no_hook: Annotated[
        bool, Row("Do not switch on NVTX ranges in PyTorch, which name forward lines.", form=Form.OURS)
    ] = False
    no_bare_run: Annotated[bool, Row("Do not run a Python program once more without ncu.", form=Form.OURS)] = False
    ncu_args: Annotated[str, Row('Further options of ncu, "--name=value ...".', value="OPTIONS", form=Form.FURTHER)] = (
        ""
    )

    def __post_init__(self) -> None:
        """Refuse values of another type and what does not go together.

        Raises:
            UsageError: A value does not fit its option; or options contradict each other, have no effect, or belong to
                ncuview.
        """
        for option in OPTIONS:
            object.__setattr__(self, option.name, option.checked(getattr(self, option.name)))
        for wrong, why, hint in self._contradictions():
            if wrong:
                raise UsageError(why, hint=hint)
        self.argv()

    def _contradictions(self) -> Iterator[tuple[object, str, str]]:
        app_replay = self.replay_mode in {ReplayMode.APPLICATION, ReplayMode.APP_RANGE}
        named = self.kernel_name or self.kernel_id
        counts = (self.launch_skip, self.launch_skip_before_match, *self.devices)
        apart = [folder for folder in self.source_folders if not is_folder(folder)]
        yield min(counts, default=0) < 0, "launches and devices are counted from 0", "Give no negative number."
        yield (
            self.launch_count is not None and self.launch_count < 1,
            f"--launch-count {self.launch_count} would profile nothing",
            "Give 1 or more, or leave it out to profile all launches.",
        )
        yield (
            self.kill and self.launch_count is None,
            "--kill ends the program after --launch-count launches, and no count is given",
            "Add --launch-count N.",
        )
        yield (
            self.kernel_name == "regex:",
            "regex: names no pattern",
            "An empty pattern would match every kernel.",
        )
        yield (
            self.kernel_name_base and not named,
            "--kernel-name-base selects what --kernel-name is compared with, and no name is given",
            "Add --kernel-name NAME or regex:PATTERN.",
        )
        yield (
            self.kernel_id and self.kernel_id.count(":") < 3,
            f"{self.kernel_id!r} is no --kernel-id",
            "It is CONTEXT:STREAM:NAME:INVOCATION; each may be empty: ::saxpy:2.",
        )
        yield (
            self.range_filter and self.range_filter.count(":") != 2,
            f"{self.range_filter!r} is no --range-filter",
            "It is [yes|no]:PROFILER RANGES:NVTX RANGES; each may be empty: :[1-3]:.",
        )
        yield (
            self.range_filter.rpartition(":")[2] and not self.nvtx_include,
            "--range-filter counts NVTX ranges, and --nvtx-include names none",
            "Add --nvtx-include RANGE.",
        )
        yield (
            self.target_processes_filter and self.target_processes is TargetProcesses.APPLICATION_ONLY,
            "--target-processes-filter chooses among processes, and --target-processes application-only has one",
            "Leave out one of them.",
        )
        yield (
            self.app_replay_mode and not app_replay,
            "--app-replay-mode is about running the program again, which --replay-mode does not ask for",
            "Add --replay-mode application, or leave it out.",
        )
        yield (
            self.source_folders and not self.import_source,
            "--source-folders names folders of sources to import, and --import-source no imports none",
            "Leave out one of them.",
        )
        for folder in apart:
            yield (
                True,
                f"{folder} is no folder",
                did_you_mean_file(folder, "--source-folders takes folders that exist."),
            )
        yield (
            any("," in str(folder) for folder in self.source_folders),
            "ncu takes no source folder with a comma in its name",
            "Name it through a link.",
        )

    def argv(self) -> list[str]:
        """The options as one word each, so that ncu cannot take a user's name for an option or a program.

        Raises:
            UsageError: ``ncu_args`` holds something other than options that may be passed on.
        """
        options = [option for option in OPTIONS if option.form not in {Form.FURTHER, Form.OURS}]
        words = [word for option in options for word in option.words(self._effective_value(option))]
        given = {"config-file", "apply-rules", *(option.flag for option in options)}
        return ["--config-file=off", "--apply-rules=no", *words, *_passed_through(self.ncu_args, given)]

    def chosen_by(self) -> tuple[str, ...]:
        """The options that leave out some of a program's launches, as the user types them; empty where none does."""
        choosing = (option for option in OPTIONS if option.row.chooses)
        return tuple(f"--{option.flag}" for option in choosing if self._effective_value(option) != option.default)

    def _effective_value(self, option: Option) -> Any:
        """The value to pass to ncu: without NVTX it knows no ranges to include or exclude."""
        if option.name == "nvtx":
            return self.nvtx or bool(self.nvtx_include or self.nvtx_exclude)
        return getattr(self, option.name)


@dataclass(frozen=True)
class Option:
    """A row of the table with the name, type and default of its field."""

    name: str
    type: Any
    """The type of a value that is given: without ``None``."""
    default: Any
    row: Row

    @property
    def flag(self) -> str:
        """Its name on the command line, without the dashes."""
        return self.name.replace("_", "-")

    @property
    def form(self) -> Form:
        """How it is written."""
        by_type = {bool: Form.SWITCH, tuple: Form.LIST}
        return self.row.form or by_type.get(get_origin(self.type) or self.type, Form.ONE)

    @property
    def each(self) -> Any:
        """The type of a value, or of one of several."""
        return get_args(self.type)[0] if get_origin(self.type) is tuple else self.type

    def words(self, value: Any) -> list[str]:
        """The words to pass to ncu for a value: empty where it is the default, and ncu has the same."""
        if value == self.default and not self.row.always:
            return []
        match self.form:
            case Form.BARE:
                return [f"--{self.flag}"]
            case Form.REPEATED:
                return [f"--{self.flag}={each}" for each in value]
            case Form.STACKS:
                types = [f"--call-stack-type={each}" for each in _STACK_TYPES[value]]
                return ["--call-stack", *types] if types else []
            case Form.LIST:
                return [f"--{self.flag}={','.join(map(_text, value))}"]
        return [f"--{self.flag}={_text(value)}"]

    def checked(self, value: Any) -> Any:
        """A value from Python code, as the type that the table names.

        Raises:
            UsageError: It is not of that type.
        """
        if value is None and self.default is None:
            return None
        if self.each is self.type:
            return self._one(value)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise UsageError(f"{self.name} is {value!r}, no list", hint=f"As in {self.name}=[...]: {self.row.help}")
        return tuple(map(self._one, value))

    def _one(self, value: Any) -> Any:
        if issubclass(self.each, StrEnum) and value not in list(self.each):
            raise UsageError(f"{self.name} is {value!r}", hint=f"It is one of {', '.join(self.each)}.")
        known = (str, Path) if issubclass(self.each, StrEnum | Path) else self.each
        if not isinstance(value, known) or (isinstance(value, bool) and self.each is not bool):
            raise UsageError(f"{self.name} is {value!r}, no {self.each.__name__}", hint=self.row.help)
        return self.each(value)


def _table() -> Iterator[Option]:
    """The fields of ``NcuOptions``, each with its annotation's row."""
    hints = get_type_hints(NcuOptions, include_extras=True)
    for field in fields(NcuOptions):
        declared, row = get_args(hints[field.name])
        given = [each for each in get_args(declared) if each is not NoneType]
        yield Option(field.name, given[0] if NoneType in get_args(declared) else declared, field.default, row)


OPTIONS: tuple[Option, ...] = tuple(_table())
"""The options in the order in which ``--help`` lists them."""


def _text(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case Path():
            return str(value.absolute())
    return str(value)


def _passed_through(text: str, given: set[str]) -> list[str]:
    """The words of ``ncu_args``, each option joined with its value.

    ncu takes the first word that is no option as the program, and may accept the beginning of an option's name.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--ncu-args {text!r}: {error}", hint="Quote it as in a shell.") from error
    options: list[str] = []
    for word in words:
        name = word.removeprefix("--").partition("=")[0]
        if word.startswith("--") and name:
            abbreviates = any(own.startswith(name) for own in (*_OURS, *_OURS_IN_ALL_FORMS))
            if (abbreviates and name not in _WHOLE_NAMES) or name.startswith(_OURS_IN_ALL_FORMS):
                raise UsageError(
                    f"--ncu-args: {word} would keep the report from ncuview, or load further code",
                    hint="Run ncu yourself for it; `ncuview rules --metrics` lists what to collect.",
                )
            if any(own.startswith(name) for own in given):
                raise UsageError(
                    f"--ncu-args: {word} is an option of ncuview itself", hint="Give it without --ncu-args."
                )
            options.append(word)
        elif options and "=" not in options[-1] and not word.startswith("-"):
            options[-1] += f"={word}"
        else:
            raise UsageError(f"--ncu-args: {word!r} is no option of ncu", hint="Write options out: --name=value.")
    return options
