"""``Call``: the line of the user's program that led to a launch. ``ProgramLaunch``: a launch with its owner and call.

``ProgramFinding`` is a change of the program, at one or more calls, with the kernel time that it saves;
``ProgramDiagnosis`` holds those of a program, the time of each call, and each ``Process`` that launched kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
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
Framework = Literal["pytorch", "jax", "cupy", "triton", "numba"]


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


class Estimate(NamedTuple):
    """A predicted number with its bounds."""

    low: float
    best: float
    high: float


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
    """The lines of the user's program by kernel time, the costliest first; a backward pass has no line."""
    findings: tuple[ProgramFinding, ...]
    """The changes, the one that saves most first; what several of them save may be added up."""
    processes: tuple[Process, ...] = ()
    """Those that launched kernels, by their first launch; empty where there is one. Each has findings of its own; where
    processes agree on change and lines, their findings are one."""
