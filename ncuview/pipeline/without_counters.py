"""Report on a catalogue kernel, a .cu file or a program where ncu may not read counters -> ``WithoutCounters``.

It holds event times, machine-code facts, occupancy and the recorded ladder; for a program, machine-code facts only.
``kernel_without_counters``, ``source_without_counters`` and ``program_without_counters`` make it. A rented GPU often
refuses ncu (NCU-PERM). No gain is predicted, because predictions need counters.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import CompilerNotFound, NcuviewError, ProgramError, ReportError, ToolError
from ncuview.records.diagnosis import RuleId
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Extent, Failure, failure_of

if TYPE_CHECKING:
    from ncuview.catalogue.compiler import Compiled
    from ncuview.catalogue.kernels import Launch
    from ncuview.catalogue.live import EventTimes
    from ncuview.catalogue.machine_code import KernelCode
    from ncuview.catalogue.user_kernel import LaunchOptions
    from ncuview.metrics.occupancy import Occupancy

_PLACES = 3
"""Source lines that are shown for one fact."""
_NOT_TIMED = (
    "The program was not run: its time from start to end does not show the time of its kernels. Nsight Systems "
    "measures them without counters: nsys profile --stats=true"
)
_FILES_KEPT = 16
"""Sources that are cached at a time: an untrusted program may name any number of them."""

LineReader = Callable[[str, int], str]
"""Returns the text of a line of a file."""


@dataclass(frozen=True)
class CodePlace:
    """A line of source code; ``code`` is its text without indentation, empty where the source is missing."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class RuleSubject:
    """An instruction pattern in the machine code that a rule would judge."""

    rule: RuleId
    optimization: str
    """What the rule advises where it fires."""
    says: str
    in_loop: bool
    where: tuple[CodePlace, ...]
    """The lines with the most of these instructions, the most first."""


@dataclass(frozen=True)
class KernelFacts:
    """Facts of a kernel's machine code; sizes are in bytes."""

    name: str
    symbol: str
    capability: str
    """The compute capability that it was compiled for."""
    registers: int
    stack: int
    """Local memory per thread."""
    spilled: tuple[int, int] | None
    """Bytes per thread of stores and of loads, each instruction once; None where arrays in local memory hide them."""
    shared: int
    """Static, per block."""
    barriers: int
    instructions: int
    threads: int
    """Threads per block: of the launch, or of the block size with the best occupancy."""
    occupancy: Occupancy | None
    """For these threads and the launch's dynamic shared memory; None where the GPU is unknown."""
    subjects: tuple[RuleSubject, ...]


@dataclass(frozen=True)
class LaunchFacts:
    """The launch of a kernel that ncuview launches itself."""

    kernel: str
    grid: Extent
    block: Extent
    shared: int
    """Bytes of dynamic shared memory."""
    sizes: dict[str, int]
    waves: float | None
    """Blocks of the grid over the blocks that the GPU holds at once; None where either is unknown."""
    useful_rate: float | None
    """Useful work over the median time, in ``rate_unit``; None where the kernel file does not define it."""
    rate_unit: str


@dataclass(frozen=True)
class MissingPart:
    """A part that could not be computed, and why."""

    what: str
    """``times``, ``machine code`` or ``recorded ladder``."""
    failure: Failure


@dataclass(frozen=True)
class WithoutCounters:
    """What is known of a kernel or program without counters."""

    subject: str
    """The kernel, or the program."""
    refusal: Failure | None
    """Why ncu did not collect counters; None where ncu was not started."""
    launch: LaunchFacts | None
    times: EventTimes | None
    kernels: tuple[KernelFacts, ...]
    missing: tuple[MissingPart, ...]
    remark: str
    """Further notes for the reader; empty where there are none."""
    ladder: Ladder | None = None
    """The recorded family of a catalogue kernel, possibly of another GPU."""

    @property
    def exit_code(self) -> int:
        """The exit code of the refusal; else 6 where the kernel itself failed, or 0."""
        if self.refusal:
            return self.refusal.exit_code
        codes = (each.failure.exit_code for each in self.missing)
        return next((code for code in codes if code == ProgramError.exit_code), 0)


def kernel_without_counters(name: str, refusal: NcuviewError | None = None) -> WithoutCounters:
    """Report on a kernel of the catalogue.

    Args:
        name: The kernel's name.
        refusal: The error of ncu; None where it was not started.

    Raises:
        UnknownKernel: There is no kernel of this name.
        NcuviewError: No part could be computed; this is the first reason.
    """
    from ncuview.catalogue.kernels import find_kernel, launch_of
    from ncuview.pipeline.ladders import ladder

    launch = launch_of(find_kernel(name))
    found = _of_launch(launch, refusal, "")
    try:
        return replace(found, ladder=ladder(launch.kernel.text.family, live=False))
    except ReportError as failure:
        return replace(found, missing=(*found.missing, MissingPart("recorded ladder", failure_of(failure))))


def source_without_counters(source: Path, words: LaunchOptions, refusal: NcuviewError | None = None) -> WithoutCounters:
    """Report on the user's .cu file.

    Args:
        source: The file.
        words: The launch as the command line gives it.
        refusal: The error of ncu; None where it was not started.

    Raises:
        UsageError: The launch is missing, or given twice.
        NcuviewError: No part could be computed; this is the first reason.
    """
    from ncuview.catalogue.user_kernel import not_checked, user_launch

    launch = user_launch(source, words)
    return _of_launch(launch, refusal, not_checked(launch))


def program_without_counters(program: Sequence[str], refusal: NcuviewError | None = None) -> WithoutCounters:
    """Report on a program from the machine code in its file; the program is not run.

    Args:
        program: The program and its arguments.
        refusal: The error of ncu; None where it was not started.

    Raises:
        NcuviewError: There is no machine code, and no refusal to report instead.
    """
    from ncuview.catalogue.machine_code import KERNELS_AT_MOST, code_of_program
    from ncuview.profiling.machine import compute_capability

    missing: tuple[MissingPart, ...] = ()
    kernels: tuple[KernelFacts, ...] = ()
    try:
        with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
            codes = code_of_program(program[0], Path(folder), compute_capability())
        line = _line_reader(Path.cwd())
        kernels = tuple(_facts(code, None, line) for code in codes)
    except NcuviewError as failure:
        if refusal is None:
            raise
        missing = (MissingPart("machine code", failure_of(failure)),)
    remark = _NOT_TIMED
    if len(kernels) >= KERNELS_AT_MOST:
        remark += f". The first {KERNELS_AT_MOST} kernels of each of its modules were examined"
    return WithoutCounters(program[0], failure_of(refusal) if refusal else None, None, None, kernels, missing, remark)


def _of_launch(launch: Launch, refusal: NcuviewError | None, remark: str) -> WithoutCounters:
    from ncuview.catalogue.live import event_times

    failures: list[tuple[str, NcuviewError]] = []
    kernels: tuple[KernelFacts, ...] = ()
    times = None
    with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        compiled = _compiled(launch, Path(folder))
        try:
            kernels = (_code_of(launch, compiled),)
        except ToolError as failure:
            failures.append(("machine code", failure))
        try:
            times = event_times(launch, {launch.kernel.function: compiled}, Path(folder))
        except (ToolError, ProgramError) as failure:
            failures.append(("times", failure))
    if not kernels and not times and refusal is None:
        raise failures[0][1]
    return WithoutCounters(
        subject=launch.kernel.name,
        refusal=failure_of(refusal) if refusal else None,
        launch=_launch_facts(launch, kernels[0].occupancy if kernels else None, times),
        times=times,
        kernels=kernels,
        missing=tuple(MissingPart(what, failure_of(failure)) for what, failure in failures),
        remark=remark,
    )


def _compiled(launch: Launch, folder: Path) -> Compiled:
    from ncuview.catalogue.compiler import NATIVE
    from ncuview.catalogue.live import compile_all
    from ncuview.catalogue.user_kernel import check_arguments
    from ncuview.profiling.machine import compute_capability, find_nvcc
    from ncuview.sass.idioms import KNOWN_CAPABILITY

    nvcc = find_nvcc()
    if nvcc is None:
        raise CompilerNotFound(
            "no nvcc here, so that the kernel can be neither launched nor disassembled",
            hint="Install the CUDA toolkit or set CUDA_HOME to where it is.",
        )
    # Without a GPU, compile for the architecture whose idioms are known.
    architecture = NATIVE if compute_capability() else f"sm_{KNOWN_CAPABILITY.replace('.', '')}"
    (compiled,) = compile_all(nvcc, [launch.kernel], folder, architecture).values()
    if not launch.kernel.of_catalogue:
        check_arguments(launch, compiled.parameters)
    return compiled


def _code_of(launch: Launch, compiled: Compiled) -> KernelFacts:
    from ncuview.catalogue.machine_code import code_of_cubin

    (code,) = code_of_cubin(compiled.cubin, compiled.symbol(launch.template).__eq__)
    return _facts(code, launch, _line_reader(launch.kernel.root))


def _facts(code: KernelCode, launch: Launch | None, line: LineReader) -> KernelFacts:
    from ncuview.engine.static_subjects import spilled_bytes
    from ncuview.metrics.occupancy import best_occupancy, occupancy

    if launch:
        x, y, z = launch.block
        threads, shared = x * y * z, code.shared + launch.shared
        filled = occupancy(code.capability, threads, code.registers, shared, code.barriers)
    else:
        found = best_occupancy(code.capability, code.registers, code.shared, code.barriers)
        threads, filled = found or (0, None)
    return KernelFacts(
        name=launch.kernel.name if launch else code.name,
        symbol=code.symbol,
        capability=code.capability,
        registers=code.registers,
        stack=code.stack,
        spilled=spilled_bytes(code.code),
        shared=code.shared,
        barriers=code.barriers,
        instructions=len(code.code.texts),
        threads=threads,
        occupancy=filled,
        subjects=_subjects(code, line),
    )


def _subjects(code: KernelCode, line: LineReader) -> tuple[RuleSubject, ...]:
    """The facts of the code, each with the rule that would judge it."""
    from ncuview.engine.rule_file import load_rules
    from ncuview.engine.static_facts import code_facts

    return tuple(
        RuleSubject(
            rule=RuleId(fact.rule.text.code, fact.rule.text.name),
            optimization=fact.rule.text.optimization,
            says=fact.says,
            in_loop=fact.in_loop,
            where=_where([code.places[at] for at in fact.positions], line),
        )
        for fact in code_facts(code.code, code.places, load_rules())
    )


def _where(places: Sequence[tuple[str, int]], line: LineReader) -> tuple[CodePlace, ...]:
    most = Counter(place for place in places if place[1]).most_common(_PLACES)
    return tuple(CodePlace(file, number, line(file, number)) for (file, number), _ in most)


def _line_reader(root: Path) -> LineReader:
    """Read lines without indentation, empty where the source is missing; relative names start at ``root``.

    The names come from a line table, which the program's author controls: ``local_file`` opens source code only.
    """
    from ncuview.reader.source import lines_of, local_file

    @lru_cache(maxsize=_FILES_KEPT)
    def lines(file: str) -> list[str]:
        # The folder is part of the name; it is not searched, since it may be a home folder.
        found = local_file(str(root / file))
        return lines_of(found[1].encode("utf-8", "surrogateescape").decode("utf-8", "replace")) if found else []

    def line(file: str, number: int) -> str:
        return lines(file)[number - 1].strip() if number <= len(lines(file)) else ""

    return line


def _launch_facts(launch: Launch, occupancy: Occupancy | None, times: EventTimes | None) -> LaunchFacts:
    x, y, z = launch.grid
    at_once = occupancy.blocks * times.multiprocessors if occupancy and times else 0
    work = launch.useful_flops or launch.useful_bytes
    return LaunchFacts(
        kernel=launch.kernel.name,
        grid=launch.grid,
        block=launch.block,
        shared=launch.shared,
        sizes=dict(launch.sizes),
        waves=x * y * z / at_once if at_once else None,
        useful_rate=work / times.median_ns if work and times else None,
        rate_unit="GFLOP/s" if launch.useful_flops else "GB/s",
    )
