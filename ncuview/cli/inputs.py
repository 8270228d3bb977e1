"""``Inputs``, the targets and options that ``analyze`` and ``check`` share; ``takes_inputs`` adds them to a command.

It refuses conflicting options, makes ``NcuOptions``, ``LaunchWords`` and rules of them, and examines the target.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ncuview.base.errors import UsageError
from ncuview.cli.commands import help_pages
from ncuview.cli.completion import launched_kernels, rule_names, targets
from ncuview.profiling.options import OPTIONS, Form, NcuOptions, Option

if TYPE_CHECKING:
    from ncuview.base.patterns import Pattern
    from ncuview.catalogue.user_kernel import LaunchOptions
    from ncuview.engine.rule_file import Rule
    from ncuview.gate.chosen import Chosen
    from ncuview.pipeline.diagnosis_cache import Entry
    from ncuview.pipeline.examine import Examined, ProgressCallback

RulesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules", metavar="DIR", help="A folder with further rules: <category>/<CODE>-<name>.toml. Repeatable."
    ),
]
MineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--mine",
        metavar="PATTERN",
        help="Kernels whose name or source file matches are yours to change. Repeatable.",
    ),
]
LiveOption = Annotated[
    bool | None,
    typer.Option("--live/--recorded", help="Profile here, or use the recorded profile. Default: live where possible."),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULE",
        help="Only rules of kernels with this code, its beginning, or this name. Repeatable.",
        autocompletion=rule_names,
    ),
]


class YesNo(StrEnum):
    """A switch in ncu's words."""

    YES = "yes"
    ON = "on"
    NO = "no"
    OFF = "off"

    @property
    def on(self) -> bool:
        """Whether it is ``yes`` or ``on``."""
        return self in {YesNo.YES, YesNo.ON}


def option(
    help_: str, *names: str, value: str | None = None, completed_by: Callable[[str], Iterable[str]] | None = None
) -> Any:
    """A typer option, with its help before its names, so that the helps of a list of options line up.

    ``value`` is the name of its value in the help.
    """
    return typer.Option(*names, help=help_, metavar=value, autocompletion=completed_by)


KernelOption = Annotated[str, option("The kernel, as C++ has it: blas::saxpy<float>.", "--kernel", value="NAME")]
GridOption = Annotated[str, option('Blocks: "n / 32, n / 32".', "--grid", value="BLOCKS")]
BlockOption = Annotated[str, option('Threads per block: "32, 8".', "--block", value="THREADS")]
SharedOption = Annotated[str, option("Bytes of dynamic shared memory.", "--shared", value="BYTES")]
ArgOption = Annotated[
    list[str] | None,
    option('A parameter, in order: "in float32[n] below 4", "out float32[n]", "int32 = n".', "--arg", value="KIND"),
]
SizeOption = Annotated[list[str] | None, option("A size: n=1048576. Repeatable.", "--size", value="NAME=N")]
NvccOption = Annotated[str, option('Further options of nvcc: "-Iinclude -DN=4".', "--nvcc-args", value="OPTIONS")]
"""How the kernel in a .cu file is launched and compiled."""


@dataclass(frozen=True)
class Inputs:
    """The words of the command line that select the target; each field but the first is an option or argument."""

    program: tuple[str, ...] | None = field(metadata={"after dashes": True})
    """The words after ``--``; None where there is no ``--``."""
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET... [-- PROGRAM ARGS...]",
            help="A kernel or family of the catalogue, .ncu-rep or .ncu-repz reports, a .cu or .py file, or a program.",
            autocompletion=targets,
        ),
    ] = None
    live: LiveOption = None
    rules: RulesOption = None
    export: Annotated[
        Path | None, option("Keep the report here; %p, %h, %i and %q{NAME} in its name are ncu's.", "--export")
    ] = None
    timeout: Annotated[float, option("Seconds that a program may take under ncu.", "--timeout", value="SECONDS")] = (
        math.inf
    )
    no_progress_timeout: Annotated[
        float | None,
        option(
            "Seconds without a sign of progress, after which it is stopped.", "--no-progress-timeout", value="SECONDS"
        ),
    ] = None
    ncu: Mapping[str, Any] = field(default_factory=dict, metadata={"ncu's options": True})
    """Name -> typed value of each option in the table of ncu's options."""
    kernel: KernelOption = ""
    grid: GridOption = ""
    block: BlockOption = ""
    shared: SharedOption = ""
    arg: ArgOption = None
    size: SizeOption = None
    nvcc_args: NvccOption = ""
    select: SelectOption = None
    ignore: Annotated[
        list[str] | None,
        option("Leave these rules out. Repeatable.", "--ignore", value="RULE", completed_by=rule_names),
    ] = None
    mine: MineOption = None

    @property
    def suffix(self) -> str:
        """The ending of the only target; empty where there are several."""
        return Path(self.named[0]).suffix if len(self.named) == 1 else ""

    @property
    def named(self) -> list[str]:
        """The words before ``--``."""
        return self.targets or []

    @property
    def runs_program(self) -> bool:
        """Whether the target is a program of the user or a Python file."""
        return self.program is not None or self.suffix == ".py"

    @property
    def command(self) -> list[str]:
        """The program and its arguments."""
        return [*self.named, *(self.program or ())]

    @cached_property
    def options(self) -> NcuOptions:
        """The options for ncu."""
        return NcuOptions(**{each.name: _value(each, self.ncu[each.name]) for each in OPTIONS if each.name in self.ncu})

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns of kernels that are the user's."""
        from ncuview.base.patterns import patterns_of

        return patterns_of(self.mine, "--mine")

    @property
    def words(self) -> LaunchOptions:
        """How a .cu file's kernel is launched."""
        from ncuview.catalogue.user_kernel import LaunchOptions

        arguments, sizes = tuple(self.arg or ()), tuple(self.size or ())
        return LaunchOptions(self.kernel, self.grid, self.block, self.shared, arguments, sizes, self.nvcc_args)

    def refuse_conflicting_options(self) -> None:
        """Refuse options that do not apply to the kind of target.

        Raises:
            UsageError: There is no target, an option is for another kind of target, or a pattern is none.
        """
        if not self.named and not (self.program and self.program[0].strip()):
            raise UsageError(
                "there is nothing to analyze", hint="Name a kernel, a report, a .cu or .py file, or -- program."
            )
        if self.named and self.program is not None and self.suffix != ".py":
            raise UsageError(
                "give either targets or a program after --", hint="Only a Python file takes words after --."
            )
        profiles = self.runs_program or self.suffix == ".cu"
        if profiles and self.live is False:
            raise UsageError("there is no recorded profile of a program of yours", hint="Leave --recorded out.")
        if not profiles and replace(self.options, kernel_name="", source_folders=()) != NcuOptions():
            raise UsageError(
                "options of ncu are for programs and .cu files", hint="Reports take -k and --source-folders."
            )
        launch = (self.kernel, self.grid, self.block, self.shared, self.arg, self.size, self.nvcc_args)
        if self.suffix != ".cu" and any(launch):
            raise UsageError("--kernel, --grid, --block, --arg and --size are for .cu files")
        if self.export and not self.runs_program:
            raise UsageError("--export keeps the report of a program that is profiled in one run")
        if not (self.timeout == math.inf and self.no_progress_timeout is None) and not self.runs_program:
            raise UsageError("--timeout and --no-progress-timeout are for programs")
        _ = self.patterns

    def refuse_bare_run_option(self) -> None:
        """Refuse ``--no-bare-run`` where ncu profiles in one run, and there is none without it.

        Raises:
            UsageError: The option is given.
        """
        if self.options.no_bare_run:
            raise UsageError("--no-bare-run is for Python programs that are profiled in several runs")

    def chosen_rules(self) -> tuple[Rule, ...] | None:
        """The rules to evaluate; None for the shipped ones, which are loaded while ncu runs."""
        if not (self.rules or self.select or self.ignore):
            return None
        from ncuview.api import load_rules
        from ncuview.engine.plan import choose_rules

        return choose_rules(load_rules(self.rules or ()), self.select or (), self.ignore or ())

    def chosen_launches(self) -> Chosen:
        """Which launches the options choose, so that a gate checks nothing else."""
        from ncuview.pipeline.gates import chosen_by

        return chosen_by(self.options, of_program=self.runs_program or self.suffix == ".cu")

    def cache_entry(self) -> Entry | None:
        """Where the diagnosis of reports or of a recorded kernel is kept; None for what is profiled here."""
        from ncuview.pipeline.diagnosis_cache import Request, kept

        if self.runs_program or self.suffix == ".cu":
            return None
        return kept(
            Request(
                tuple(self.named),
                self.live,
                self.options.kernel_name,
                tuple(self.options.source_folders),
                tuple(self.rules or ()),
                tuple(self.select or ()),
                tuple(self.ignore or ()),
                tuple(self.mine or ()),
            )
        )

    def examine(self, rules: tuple[Rule, ...] | None, progress: ProgressCallback) -> Examined:
        """Profile or read the target, and diagnose it."""
        from ncuview.pipeline import examine

        if self.suffix == ".cu" and self.program is None:
            return examine.examine_source(
                Path(self.named[0]), self.words, rules, self.options, mine=self.patterns, progress=progress
            )
        if self.runs_program:
            return examine.examine_program(
                self.command,
                rules,
                self.options,
                export=self.export,
                timeout_s=self.timeout,
                no_progress_s=self.no_progress_timeout,
                mine=self.patterns,
                progress=progress,
            )
        return examine.examine(
            *self.named,
            rules=rules,
            live=self.live,
            kernel_name=self.options.kernel_name,
            source_folders=self.options.source_folders,
            mine=self.patterns,
            progress=progress,
        )


def takes_inputs(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of ``Inputs`` as options in place of its first parameter."""
    shared = list(_parameters())
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    pages = list(help_pages())
    parameters = [context, *shared, *own, *pages]

    @wraps(command)
    def spread(context: typer.Context, **values: Any) -> None:
        given = {each.name: values.pop(each.name) for each in shared}
        for each in pages:
            del values[each.name]
        ncu = {each.name: given.pop(each.name) for each in OPTIONS}
        command(Inputs(program=context.obj, ncu=ncu, **given), **values)

    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in parameters}
    return spread


def _parameters() -> Iterator[inspect.Parameter]:
    """A parameter for each typed field of ``Inputs``, and for each option of ncu at their place among them."""
    hints = get_type_hints(Inputs, include_extras=True)
    for each in fields(Inputs):
        if "ncu's options" in each.metadata:
            yield from map(_parameter, OPTIONS)
        elif "after dashes" not in each.metadata:
            yield inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name]
            )


def _parameter(of: Option) -> inspect.Parameter:
    """An option of ncu as a parameter of a command."""
    typed: dict[Form, tuple[Any, Any]] = {
        Form.SWITCH: (YesNo, YesNo.YES if of.default else YesNo.NO),
        Form.REPEATED: (list[str] | None, None),
        Form.LIST: (str, ""),
    }
    annotation, default = typed.get(of.form, (of.type | None if of.default is None else of.type, of.default))
    return inspect.Parameter(
        of.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=typer.Option(
            default,
            f"--{of.flag}",
            *of.row.also,
            help=of.row.help,
            metavar=of.row.value,
            autocompletion=launched_kernels if of.name == "kernel_name" else None,
        ),
        annotation=annotation,
    )


def _value(of: Option, typed: Any) -> Any:
    """The typed value, converted to the form in the table."""
    match of.form:
        case Form.SWITCH:
            return typed.on
        case Form.REPEATED:
            return tuple(typed or ())
        case Form.LIST:
            return _listed(of, typed)
    return typed


def _listed(of: Option, text: str) -> tuple[Any, ...]:
    try:
        return tuple(of.each(word) for word in text.split(",") if word)
    except ValueError as error:
        raise UsageError(f"--{of.flag} {text!r} is no list of numbers", hint="Write it as in 0,1.") from error
