"""The arguments of each tool, as models from which the input schemas are made; what no model names is refused."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import ConfigDict, Field

from ncuview.base.answer_size import LARGEST, MOST_BYTES

_MOST_NAMES = 200
_LONGEST = 4096
_Text = Annotated[str, Field(max_length=_LONGEST)]
_Words = Annotated[list[_Text], Field(min_length=1, max_length=_MOST_NAMES)]
_PROGRAM = "The program and its arguments, one word each: no shell reads them."
_KERNEL = "Only launches of this kernel, or regex: and a pattern of RE2 on its name."


class Arguments(ArgModelBase):
    """What all tools have in common: nothing is taken that was not declared, or that is of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Bounded(Arguments):
    """The size of an answer, and where it goes on."""

    cursor: Annotated[
        _Text, Field(description="A cursor from an earlier answer, unchanged, with the other arguments as they were.")
    ] = ""
    max_bytes: Annotated[
        int, Field(ge=MOST_BYTES, le=LARGEST, description="The most bytes of the answer as JSON in UTF-8.")
    ] = MOST_BYTES


class Run(Arguments):
    """How a program is profiled."""

    look: Annotated[
        Literal["full", "quick", "runs"] | None,
        Field(
            description="full: all metrics of each launch, in one run. quick: one pass for samples of all launches,"
            " then all metrics of those that are worth it. runs: a Python program in several cheap runs, with calls."
            " null: runs for a Python program of which no launch is left out, else full."
        ),
    ] = None
    launch_count: Annotated[
        int | None, Field(ge=1, description="Of a program: profile no more launches than this.")
    ] = None


class Diagnose(Bounded, Run):
    """Arguments of ``diagnose``."""

    reports: Annotated[
        _Words | None,
        Field(
            description="Report files (.ncu-rep, .ncu-repz), folders of them, or raw CSV exports of Nsight Compute,"
            " relative to the roots or absolute."
        ),
    ] = None
    kernel: Annotated[
        _Text, Field(description="A kernel or family of ncuview's catalogue: its recorded profile, as an example.")
    ] = ""
    program: Annotated[
        _Words | None,
        Field(description=f"{_PROGRAM} It is run and profiled, which needs a server with --allow-run."),
    ] = None
    timeout_s: Annotated[float, Field(gt=0, description="Of a program: seconds that it may take under ncu.")] = 600.0
    view: Annotated[
        Literal["skeleton", "launch", "finding"] | None,
        Field(
            description="skeleton: a line for each group of equal launches, the one whose advice saves most first."
            " launch: one launch. finding: one finding in full. null: what the key or cursor is of, else the skeleton."
        ),
    ] = None
    key: Annotated[_Text, Field(description="Of launch and finding: the key that the skeleton or launch gave it.")] = ""
    kernel_name: Annotated[_Text, Field(description=_KERNEL)] = ""
    source_folders: Annotated[
        list[_Text],
        Field(
            default_factory=list,
            max_length=_MOST_NAMES,
            description="Folders below the roots to look for the reports' sources in.",
        ),
    ]


class Explain(Bounded):
    """Arguments of ``explain``."""

    name: Annotated[
        _Text,
        Field(
            min_length=1,
            description="A rule (SMEM001, shared-bank-conflict), an optimization (coalescing), a metric"
            " (gld_efficiency, dram__bytes_read.sum), a quantity, a unit or bottleneck (l2, latency), a verdict"
            " or a grade.",
        ),
    ]


class Diff(Bounded):
    """Arguments of ``diff``."""

    before: Annotated[_Text, Field(min_length=1, description="A report, a folder of reports, or a raw CSV export.")]
    after: Annotated[_Text, Field(min_length=1, description="The same, of the changed program.")]
    kernel_name: Annotated[_Text, Field(description=_KERNEL)] = ""
    renamed: Annotated[
        dict[_Text, _Text],
        Field(
            default_factory=dict,
            max_length=_MOST_NAMES,
            description="Old name: new name of kernels that are called otherwise now.",
        ),
    ]
    force: Annotated[bool, Field(description="Compare in spite of another GPU, ncu or setting.")] = False
    key: Annotated[_Text, Field(description="The key of a pair, to see all that changed in it.")] = ""


class Plan(Run):
    """Arguments of ``plan``."""

    program: Annotated[_Words, Field(description=_PROGRAM)]
    kernel_name: Annotated[_Text, Field(description=_KERNEL)] = ""


class Try(Bounded):
    """Arguments of ``try``."""

    target: Annotated[_Text, Field(description="A kernel of ncuview's catalogue, or a .cu file below the roots.")] = ""
    program: Annotated[
        _Words | None,
        Field(description=f"{_PROGRAM} It is built and run in copies of its folder. A script.py is run by Python."),
    ] = None
    build: Annotated[_Text, Field(description="Of a program: the shell command that builds it.")] = ""
    check: Annotated[
        _Text,
        Field(
            description="Of a program: the shell command that says with exit code 0 that results are right. Empty:"
            " output and files are compared with the original's."
        ),
    ] = ""
    tree: Annotated[
        _Text,
        Field(description="Of a program: the folder that is copied. Empty: the first root, or that of the script."),
    ] = ""
    kernel_name: Annotated[_Text, Field(description="The kernel of a program or .cu file to change.")] = ""
    grid: Annotated[_Text, Field(description='Of a .cu file: blocks, as in "n / 32, n / 32".')] = ""
    block: Annotated[_Text, Field(description='Threads per block: "32, 8".')] = ""
    shared: Annotated[_Text, Field(description="Bytes of dynamic shared memory.")] = ""
    args: Annotated[
        list[_Text],
        Field(
            default_factory=list,
            max_length=_MOST_NAMES,
            description='A kind for each parameter, in order: "in float32[n] below 4", "out float32[n]", "int32 = n".',
        ),
    ]
    sizes: Annotated[
        list[_Text], Field(default_factory=list, max_length=_MOST_NAMES, description='Sizes: "n=1048576".')
    ]
    budget_s: Annotated[
        float, Field(gt=0, le=3_600, description="Seconds in which changes are tried; one that has begun is finished.")
    ] = 45.0
    dry_run: Annotated[bool, Field(description="Answer with the changes, and run nothing.")] = False
    key: Annotated[
        _Text, Field(description="The key of a change, to have its patch. A trial that was run is not run again.")
    ] = ""


class AskStore(Bounded):
    """Arguments of ``store``."""

    store: Annotated[_Text, Field(min_length=1, description="The folder of the store, below the roots.")]
    question: Annotated[
        Literal["top", "history", "compare", "outliers", "unprofiled"],
        Field(
            description="top: kernels, calls and advice of most time. history: times and exact counters of a kernel"
            " over commits, and where they changed. compare: a kernel on GPU models, in shapes or on ranks. outliers:"
            " launches far from their kernel's others. unprofiled: kernels that were never judged."
        ),
    ]
    kernel: Annotated[_Text, Field(description="Of history and compare: its name.")] = ""
    by: Annotated[Literal["gpu", "shape", "rank"] | None, Field(description="Of compare: what differs.")] = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="The most rows of a table, or points of a history.")] = 5
    key: Annotated[_Text, Field(description="The key of a row, to have its texts at length.")] = ""
