"""The help of each command as panels: a title, options and an example; ``PANELS`` holds them by command.

``panels_of`` gives the rows of a command's panels. ``--help`` shows the options that most runs use, ``--help-ncu``
those of ncu, ``--help-all`` all of them. All options are accepted, whatever page they are on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ncuview.profiling.options import OPTIONS


class Page(StrEnum):
    """A page of help."""

    FIRST = "first"
    NCU = "ncu"
    ALL = "all"


@dataclass(frozen=True)
class Panel:
    """A part of a help page.

    Attributes:
        title: The question that its options answer.
        example: A command line that uses one of them.
        options: The options of the first page, by their first long names; arguments by their metavar's first word.
        further: Options that only ``--help-all`` shows.
        ncu: Its options are ncu's: ``further`` is on the page of ``--help-ncu`` too.
    """

    title: str
    example: str
    options: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    ncu: bool = False

    def shown(self, page: Page) -> tuple[str, ...]:
        """The names that a page shows, in order."""
        if page is Page.FIRST:
            return self.options
        return (*self.options, *self.further) if page is Page.ALL or self.ncu else ()


_HELP = ("--help", "--help-ncu", "--help-all")
_VERBOSITY = ("--verbose", "--quiet")
_PRINTED = ("--format", "--output")
_ON_LAUNCHES = ("--kernel-name", "--launch-count")
_OF_LAUNCHES = {"kernel_name_base", "filter_mode", "nvtx"}
"""Options that select no launches alone, and say how others do."""
_CU_FILE = Panel(
    "A kernel in a .cu file",
    'ncuview analyze mine.cu --grid "n / 256" --block 256 --arg "out float32[n]" --size n=65536',
    further=("--kernel", "--grid", "--block", "--shared", "--arg", "--size", "--nvcc-args"),
)


def _of_ncu(command: str, *, on_first_page: Sequence[str]) -> tuple[Panel, Panel]:
    """The options of ncu: those that select launches, and the others."""
    choosing = [f"--{each.flag}" for each in OPTIONS if each.row.chooses or each.name in _OF_LAUNCHES]
    others = [f"--{each.flag}" for each in OPTIONS if f"--{each.flag}" not in choosing]
    return (
        Panel(
            "Which launches",
            f"ncuview {command} -k regex:transpose",
            tuple(on_first_page),
            tuple(each for each in choosing if each not in on_first_page),
            ncu=True,
        ),
        Panel(
            "How ncu runs the program",
            "ncuview analyze --replay-mode application -- ./program",
            further=tuple(others),
            ncu=True,
        ),
    )


_ANALYZE_LAUNCHES, _ANALYZE_NCU = _of_ncu("analyze mine.ncu-rep", on_first_page=_ON_LAUNCHES)
_CHECK_LAUNCHES, _CHECK_NCU = _of_ncu("check mine.ncu-rep --budget budget.toml", on_first_page=("--kernel-name",))

PANELS: dict[str, tuple[Panel, ...]] = {
    "": (
        Panel(
            "Options",
            "ncuview --log-level info analyze transposeCoalesced",
            ("--version", "--log-level", "--install-completion", "--show-completion", "--help"),
        ),
    ),
    "analyze": (
        Panel("Which input", "ncuview analyze transposeCoalesced", ("TARGET", "--live")),
        _ANALYZE_LAUNCHES,
        Panel(
            "Which rules",
            "ncuview analyze mine.ncu-rep --select SMEM",
            ("--select", "--ignore", "--rules"),
            ("--mine",),
        ),
        Panel(
            "What is printed",
            "ncuview analyze mine.ncu-rep --top 5 -o page.html",
            (*_PRINTED, "--top", "--diff", *_VERBOSITY),
            ("--source-root",),
        ),
        Panel(
            "A part for programs",
            "ncuview analyze mine.ncu-rep --format json --view launch",
            further=("--view", "--key", "--cursor", "--max-bytes"),
        ),
        Panel(
            "How it is measured",
            "ncuview analyze --dry-run -- ./program --steps 3",
            ("--look", "--dry-run", "--no-counters", "--no-cache"),
            ("--export", "--timeout", "--no-progress-timeout"),
        ),
        _CU_FILE,
        _ANALYZE_NCU,
        Panel("More help", "ncuview analyze --help-ncu", _HELP),
    ),
    "check": (
        Panel("Which input", "ncuview check mine.ncu-rep --budget budget.toml", ("TARGET", "--live")),
        _CHECK_LAUNCHES,
        Panel(
            "Which rules",
            "ncuview check mine.ncu-rep --budget budget.toml --ignore SMEM001",
            ("--select", "--ignore"),
            ("--rules", "--mine"),
        ),
        Panel(
            "What is checked",
            "ncuview check mine.ncu-rep --baseline before.json --on-missing skip",
            ("--budget", "--baseline", "--save-baseline", "--fail-on", "--on-missing", "--exit-zero"),
            ("--check-budget-only", "--allow-missing-baseline", "--force"),
        ),
        Panel(
            "What is printed",
            "ncuview check mine.ncu-rep --budget budget.toml -o junit:gate.xml",
            (*_PRINTED, *_VERBOSITY),
            ("--source-root",),
        ),
        Panel(
            "How it is measured",
            "ncuview check --budget budget.toml --timeout 600 -- ./program",
            further=("--export", "--timeout", "--no-progress-timeout"),
        ),
        _CU_FILE,
        _CHECK_NCU,
        Panel("More help", "ncuview check --help-ncu", _HELP),
    ),
    "diff": (
        Panel("Which input", "ncuview diff before.ncu-rep after.ncu-rep", ("A", "B")),
        Panel(
            "Which kernels",
            "ncuview diff mine.ncu-rep -k sumNaive --with sumShuffle",
            ("--kernel-name", "--with", "--renamed"),
        ),
        Panel("How they are compared", "ncuview diff a.ncu-rep b.ncu-rep --force", ("--force", "--rules")),
        Panel("What is printed", "ncuview diff a.ncu-rep b.ncu-rep -o page.html", (*_PRINTED, *_VERBOSITY, "--help")),
    ),
    "report": (
        Panel("Which input", "ncuview report reports", ("DIR", "--rules", "--mine")),
        Panel(
            "What is printed",
            "ncuview report reports --by call -o trend.html",
            ("--by", *_PRINTED, *_VERBOSITY, "--help"),
        ),
    ),
    "ladder": (
        Panel("Which input", "ncuview ladder transpose --recorded", ("FAMILY", "--live", "--rules")),
        Panel("What is printed", "ncuview ladder transpose -o page.html", (*_PRINTED, *_VERBOSITY, "--help")),
    ),
    "calibrate": (
        Panel("What is measured", "ncuview calibrate --repeat 6 -- ./program", ("KERNEL", "--from", "--repeat")),
        Panel("What is written", "ncuview calibrate -o gpu.toml", ("--output", *_VERBOSITY, "--help")),
    ),
    "try": (
        Panel(
            "Which input", "ncuview try --build make -- ./app --steps 3", ("TARGET", "--build", "--tree", "--kernel")
        ),
        Panel(
            "What is tried",
            "ncuview try transposeNaive --budget 90s",
            ("--budget", "--check", "--dry-run"),
        ),
        Panel(
            "A kernel in a .cu file",
            'ncuview try mine.cu --grid "n / 256" --block 256 --arg "out float32[n]" --size n=65536',
            ("--grid", "--block", "--shared", "--arg", "--size", "--nvcc-args"),
        ),
        Panel("What is printed", "ncuview try transposeNaive -o tile.patch", (*_PRINTED, *_VERBOSITY, "--help")),
    ),
    "kernels": (Panel("Options", "ncuview kernels transpose", ("FAMILY", "--format", *_VERBOSITY, "--help")),),
    "explain": (Panel("Options", "ncuview explain SMEM001", ("RULE", "--rules", *_VERBOSITY, "--help")),),
    "metrics": (Panel("Options", "ncuview metrics gld_efficiency", ("NAME", "--quantities", *_VERBOSITY, "--help")),),
    "scrub": (Panel("Options", "ncuview scrub mine.ncu-rep shared.ncu-rep", ("IN", "OUT", *_VERBOSITY, "--help")),),
    "doctor": (
        Panel(
            "Options", "ncuview doctor --bundle bundle.zip", ("--format", "--live", "--bundle", *_VERBOSITY, "--help")
        ),
    ),
    "mcp": (
        Panel(
            "Options",
            "ncuview mcp --root . --root ../reports",
            ("--root", "--allow-run", "--rules", *_VERBOSITY, "--help"),
        ),
    ),
    "rules": (
        Panel("Options", "ncuview rules --metrics", ("--rules", "--format", "--metrics", *_VERBOSITY, "--help")),
    ),
    "rules check": (Panel("Options", "ncuview rules check my-rules", ("DIR", "--select", *_VERBOSITY, "--help")),),
    "store": (Panel("Options", "ncuview store add nightly --to fleet", ("--help",)),),
    "store add": (
        Panel(
            "Options",
            "ncuview store add nightly --to fleet --label commit=4f2a91c",
            (
                "PATH",
                "--to",
                "--label",
                "--rules",
                "--mine",
                "--keep-paths",
                "--processes",
                "--scheduler",
                "--format",
                *_VERBOSITY,
                "--help",
            ),
        ),
    ),
    "store top": (
        Panel("Options", "ncuview store top --from fleet", ("--from", "--limit", "--format", *_VERBOSITY, "--help")),
    ),
    "store history": (
        Panel(
            "Options",
            "ncuview store history transpose --from fleet",
            ("KERNEL", "--from", "--limit", "--format", *_VERBOSITY, "--help"),
        ),
    ),
    "store compare": (
        Panel(
            "Options",
            "ncuview store compare --by gpu --from fleet",
            ("KERNEL", "--by", "--from", "--limit", "--format", *_VERBOSITY, "--help"),
        ),
    ),
    "store outliers": (
        Panel(
            "Options", "ncuview store outliers --from fleet", ("--from", "--limit", "--format", *_VERBOSITY, "--help")
        ),
    ),
    "store unprofiled": (
        Panel(
            "Options", "ncuview store unprofiled --from fleet", ("--from", "--limit", "--format", *_VERBOSITY, "--help")
        ),
    ),
    "store sql": (
        Panel(
            "Options",
            "ncuview store sql 'SELECT name, time_ns FROM top_kernels' --from fleet",
            ("QUERY", "--from", "--limit", "--format", *_VERBOSITY, "--help"),
        ),
    ),
    "store openmetrics": (
        Panel("Options", "ncuview store openmetrics c1 --from fleet", ("POINT", "--from", *_VERBOSITY, "--help")),
    ),
    "store page": (
        Panel(
            "Options",
            "ncuview store page --from fleet -o fleet.html",
            ("--from", "--output", "--limit", *_VERBOSITY, "--help"),
        ),
    ),
}
"""The panels of each command, by its words after ``ncuview``. An option that no panel names is in the last one."""


def panels_of(command: Any, context: Any, page: Page) -> Iterator[tuple[Panel, list[tuple[str, str]]]]:
    """Each panel of a page with its rows: a name and its meaning."""
    panels = PANELS[context.command_path.partition(" ")[2]]
    rows = {name_of(each): row for each in command.get_params(context) if (row := _row(each, context))}
    placed = {name for panel in panels for name in panel.shown(Page.ALL)}
    for panel in panels:
        names = panel.shown(page)
        if panel is panels[-1]:
            names = (*names, *(name for name in rows if name not in placed))
        if found := [rows[name] for name in names if name in rows]:
            yield panel, found


def _row(parameter: Any, context: Any) -> tuple[str, str] | None:
    """An option with its value, or an argument, which typer shows with Python's type; and its meaning."""
    row: tuple[str, str] | None = parameter.get_help_record(context)
    if row and parameter.param_type_name == "argument":
        return parameter.metavar, parameter.help or ""
    return row


def name_of(parameter: Any) -> str:
    """The first long name of an option; the first word of an argument's metavar."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar).strip("[").split(" ")[0].rstrip(".]")
    names: list[str] = parameter.opts
    return next((name for name in names if name.startswith("--")), names[0])
