"""``Call``: the line of the user's program that led to a launch. ``ProgramLaunch``: a launch with its owner and call.

``ProgramFinding`` is a change of the program, at one or more calls, with the kernel time that it saves;
``ProgramDiagnosis`` holds those of a program, the time of each call, and each ``Process`` that launched kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from ncuview.records.profile import Extent, Frame
from ncuview.records.schema import Limits

Change = Literal[
    "memory_format",
    "fewer_conversions",
    "fuse",
    "tensor_cores",
    "attention",
    "normalization",
    "loss",
    "optimizer",
    "batch_calls",
    "repeated_work",
    "launch_overhead",
    "host_transfer",
    "better_operator",
]
"""What to change in a program."""
Framework = Literal["pytorch", "jax", "cupy", "triton", "numba", "cuda"]
REST = "further threads"
"""The name of launches by threads whose process is unknown: of several processes, ncu names only the first threads."""
UNEVEN = 1.1
"""Ranks are uneven where the slowest takes at least so many times the median. Assumed: GPUs of one model differ by 8 %
(arXiv 2208.11035)."""


@dataclass(frozen=True)
class Call:
    """The call in the user's program that led to a launch."""

    file: str
    """The user's source file, or the program of a native caller; empty for a backward pass on its own thread."""
    line: int
    """The line that was running, from 1; 0 where it is unknown."""
    function: str
    """The user's function; empty where no frame of the user was recorded."""
    operator: str = ""
    """The framework's operator, such as ``softmax`` or ``cublasSgemm``; empty where the stack does not show it."""
    backward: str = ""
    """The autograd node of a backward pass, or ``Engine`` where the node is unknown; empty outside of one."""
    library: str = ""
    """The innermost library function below the user's line, as in ``torch/optim/adam.py:_single_tensor_adam``.

    Wrappers of operators do not count; empty where the user's line calls the operator itself.
    """
    callers: tuple[Frame, ...] = ()
    """The user's functions that led to ``function``, the innermost first."""
    forward: Frame | None = None
    """Of a backward pass: the user's line that called the operator whose gradient this is.

    NVTX ranges of PyTorch name both; None without them, and outside of a backward pass. Of an operator that launched
    nothing, as views do, it is known where the operators before and after it are of one line.
    """


@dataclass(frozen=True)
class ProgramLaunch:
    """One launch of a program, with what the rules over sequences of launches read; NaN where unknown."""

    kernel: str
    demangled: str
    grid: Extent
    block: Extent
    duration_ns: float
    bytes_read: float
    """From device memory."""
    bytes_written: float
    """To device memory; less than the kernel stores where L2 keeps some of it."""
    fma_pct: float
    """Use of the FMA pipes, in percent of their peak."""
    tensor_pct: float
    """Use of the pipes that tensor and FP64 instructions share, in percent of their peak."""
    owner_kind: str
    owner: str
    """The name of the owner; of a kernel of the user the Python package that launches it, such as ``triton``."""
    call: Call | None


@dataclass(frozen=True)
class KernelTrace:
    """The times between the kernels of a program that runs without ncu."""

    launches: int
    busy_ns: int
    """The time in which at least one kernel runs."""
    span_ns: int
    """From the start of the first kernel to the end of the last."""
    launch_gap_ns: int
    """The median time without a kernel between two kernels, of those that launching explains."""
    waits: int
    """Longer times without a kernel that repeat between the same two kernels."""
    waits_ns: int
    """Their sum, each counted as the median of its kind."""
    copied_ns: int
    """The part of it between kernels of which at least every second pair has a copy to or from the host between it."""
    once_ns: int
    """The other longer times: of a start, of compilers, or of autotuning."""
    pytorch: bool = False
    """Whether the program imported PyTorch."""


@dataclass(frozen=True)
class BareRun:
    """A run of a program without ncu."""

    wall_s: float
    """From its start to its end, in seconds."""
    trace: KernelTrace | None
    """The times between its kernels; None where they could not be traced."""


class Estimate(NamedTuple):
    """A predicted number with its bounds."""

    low: float
    best: float
    high: float


@dataclass(frozen=True)
class ProgramGpu:
    """The figures of a GPU that rules over programs read; by default those of a GPU without a table (``gpus/``)."""

    launch_ns: float = 2_000.0
    """What the emptiest launch takes."""
    start_ns: float = 1_000.0
    """What of a launch goes by before all of its blocks run, and after most have ended, at least."""
    graph_gap_ns: float = 1_000.0
    """The time between two kernels of a CUDA graph."""
    l2_bytes: float = 60_000_000.0
    """The size of the L2 cache."""
    tensor_speedup: Estimate = field(default_factory=lambda: Estimate(2.0, 5.0, 12.0))
    """How many times as fast as the FMA pipes the tensor pipes are for products of single precision."""


@dataclass(frozen=True)
class ProgramFinding:
    """A change of the program at one or more calls."""

    code: str
    name: str
    change: Change
    calls: tuple[Call, ...]
    """The calls to change, the costliest first."""
    launches: tuple[int, ...]
    """The launches that the change shortens or removes."""
    saved_ns: Estimate
    """Kernel time, or for ``launch_overhead`` time between kernels, that goes away."""
    gain: Estimate
    """The program's time divided by the time that is left, each from 1."""
    message: Annotated[str, Limits(shortest=1)]
    """What the launches show."""
    advice: Annotated[str, Limits(shortest=1)]
    """The change, in the framework's terms."""
    link: str
    """The framework's documentation of the change."""
    processes: tuple[str, ...] = ()
    """The names of the processes that it is a change of; empty where the program has one process."""


@dataclass(frozen=True)
class Process:
    """A process of the program that launched kernels."""

    name: str
    """``rank 0`` where the report's name has it, ``data-loader worker 1``, the file name of a report that holds no
    other process where there are several reports, ``main process`` where all others are workers, or ``process 1 of
    2``, in the order of the first launches."""
    number: int
    """The process id; 0 where it is unknown."""
    program: str
    """The file name of the program that it ran; empty where it is unknown."""
    report: str
    """The report that holds its launches."""
    launches: int
    time_ns: float
    """The sum of their durations."""
    share: Annotated[float, Limits(minimum=0, maximum=1.000001)]
    """Of the kernel time of the program."""


@dataclass(frozen=True)
class ChangeAt:
    """The finding of a program that shortens a launch, and the first call that it changes."""

    rule: str
    """The rule's code, such as PROG003."""
    file: str
    """The user's source file; empty where it is unknown."""
    line: int
    """The line to change, from 1; 0 where it is unknown."""


@dataclass(frozen=True)
class CallTime:
    """The launches that one line of the user's program leads to."""

    call: Call
    """The line with the operator that takes most of its time."""
    launches: int
    time_ns: float
    """The sum of their durations."""
    share: Annotated[float, Limits(minimum=0, maximum=1.000001)]
    """Of the kernel time of the program."""
    times_ns: tuple[float, ...] = ()
    """``time_ns`` in each of ``processes`` of the program; empty where it has one process."""


@dataclass(frozen=True)
class ProgramDiagnosis:
    """What a program spends its kernel time on, and what to change in it."""

    time_ns: float
    """The kernel time of all launches."""
    launches: int
    calls: tuple[CallTime, ...]
    """The lines of the user's program by kernel time, the costliest first; a backward pass stands apart."""
    findings: tuple[ProgramFinding, ...]
    """The changes, the one that saves most first; what several of them save may be added up."""
    processes: tuple[Process, ...] = ()
    """Those that launched kernels, by their first launch; empty where there is one. Each has findings of its own; where
    processes agree on change and lines, their findings are one."""
