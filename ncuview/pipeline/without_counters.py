"""Report on a kernel where ncu may not read counters: event times, machine-code facts, occupancy, the recorded ladder.

The three functions take a catalogue kernel, a .cu file or a program, and return a ``WithoutCounters``.

A rented GPU often refuses ncu (NCU-PERM). What is left is worth a page, and the remedy comes first on it. No gain is
predicted here, because only counters say what a thing costs.
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
from ncuview.records.failure import Failure, failure_of
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Extent

if TYPE_CHECKING:
    from ncuview.catalogue.compiler import Compiled
    from ncuview.catalogue.event_times import EventTimes
    from ncuview.catalogue.kernels import Launch
    from ncuview.catalogue.launch_spec import LaunchWords
    from ncuview.catalogue.machine_code import KernelCode
    from ncuview.metrics.occupancy import Occupancy

_PLACES = 3
"""Source lines that are named for one fact."""
_NOT_TIMED = (
    "The program was not run, for its time from start to end says little of its kernels. Nsight Systems times them "
    "without counters: nsys profile --stats=true"
)
_FILES_KEPT = 16
"""Texts of sources that are held at a time: a stranger's program may name any number of them."""

LineReader = Callable[[str, int], str]
"""Gives the text of a line of a file."""


@dataclass(frozen=True)
class CodePlace:
    """A line of source code; ``code`` is its text without indentation, empty where the source is not there."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class RuleSubject:
    """What a rule would judge, as the machine code shows it."""

    rule: RuleId
    optimization: str
    """What the rule advises where it fires."""
    says: str
    in_loop: bool
    where: tuple[CodePlace, ...]
    """The lines with the most of it, the most first."""


@dataclass(frozen=True)
class KernelFacts:
    """What a kernel's machine code says; sizes are in bytes."""

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
    """Per block: of the launch; else of the block size that would fill a multiprocessor best."""
    occupancy: Occupancy | None
    """With so many threads and the launch's dynamic shared memory; None where the GPU is not known."""
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
    """Blocks of the grid over those that the GPU holds at once; None where one of the two is not known."""
    useful_rate: float | None
    """Useful work over the median time, in ``rate_unit``; None where the kernel file does not say what that is."""
    rate_unit: str


@dataclass(frozen=True)
class Untold:
    """A part that could not be told, and why."""

    what: str
    """``times``, ``machine code`` or ``recorded ladder``."""
    failure: Failure


@dataclass(frozen=True)
class WithoutCounters:
    """All that can be said without counters."""

    subject: str
    """The kernel, or the program."""
    refusal: Failure | None
    """Why ncu did not collect counters; None where it was not asked to."""
    launch: LaunchFacts | None
    times: EventTimes | None
    kernels: tuple[KernelFacts, ...]
    untold: tuple[Untold, ...]
    remark: str
    """What else the reader must know; empty where there is nothing."""
    ladder: Ladder | None = None
    """Of a catalogue kernel: its family as it was recorded, on another GPU perhaps."""

    @property
    def exit_code(self) -> int:
        """That of the refusal; else 6 where the kernel itself failed, and 0."""
        if self.refusal:
            return self.refusal.exit_code
        codes = (each.failure.exit_code for each in self.untold)
        return next((code for code in codes if code == ProgramError.exit_code), 0)


def kernel_without_counters(name: str, refusal: NcuviewError | None = None) -> WithoutCounters:
    """A kernel of the catalogue.

    Args:
        name: The kernel's.
        refusal: What ncu failed with; None where it was not started.

    Raises:
        UnknownKernel: There is none of this name.
        NcuviewError: Nothing could be told, and this is the first reason.
    """
    from ncuview.catalogue.kernels import find_kernel, launch_of
    from ncuview.pipeline.ladders import ladder

    launch = launch_of(find_kernel(name))
    found = _of_launch(launch, refusal, "")
    try:
        return replace(found, ladder=ladder(launch.kernel.text.family, live=False))
    except ReportError as failure:
        return replace(found, untold=(*found.untold, Untold("recorded ladder", failure_of(failure))))


def source_without_counters(source: Path, words: LaunchWords, refusal: NcuviewError | None = None) -> WithoutCounters:
    """A .cu file of the user's.

    Args:
        source: The file.
        words: What the command line says of the launch.
        refusal: What ncu failed with; None where it was not started.

    Raises:
        UsageError: The launch is not told, or told twice.
        NcuviewError: Nothing could be told, and this is the first reason.
    """
    from ncuview.catalogue.user_kernel import not_checked, user_launch

    launch = user_launch(source, words)
    return _of_launch(launch, refusal, not_checked(launch))


def program_without_counters(program: Sequence[str], refusal: NcuviewError | None = None) -> WithoutCounters:
    """A program, from the machine code in its file; it is not run.

    Args:
        program: The program and its arguments.
        refusal: What ncu failed with; None where it was not started.

    Raises:
        NcuviewError: Nothing could be told and there is no refusal to tell of.
    """
    from ncuview.catalogue.machine_code import KERNELS_AT_MOST, code_of_program
    from ncuview.profiling.machine import compute_capability

    untold: tuple[Untold, ...] = ()
    kernels: tuple[KernelFacts, ...] = ()
    try:
        with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
            codes = code_of_program(program[0], Path(folder), compute_capability())
        line = _line_reader(Path.cwd())
        kernels = tuple(_facts(code, None, line) for code in codes)
    except NcuviewError as failure:
        if refusal is None:
            raise
        untold = (Untold("machine code", failure_of(failure)),)
    remark = _NOT_TIMED
    if len(kernels) >= KERNELS_AT_MOST:
        remark += f". Of each of its modules, the first {KERNELS_AT_MOST} kernels were looked at"
    return WithoutCounters(program[0], failure_of(refusal) if refusal else None, None, None, kernels, untold, remark)


def _of_launch(launch: Launch, refusal: NcuviewError | None, remark: str) -> WithoutCounters:
    from ncuview.catalogue.event_times import event_times

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
        untold=tuple(Untold(what, failure_of(failure)) for what, failure in failures),
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
            "no nvcc here, so that the kernel can be neither launched nor looked into",
            hint="Install the CUDA toolkit or set CUDA_HOME to where it is.",
        )
    # Without a GPU, the code of the architecture that the idioms are known of.
    architecture = NATIVE if compute_capability() else f"sm_{KNOWN_CAPABILITY.replace('.', '')}"
    (compiled,) = compile_all(nvcc, [launch.kernel], folder, architecture).values()
    if not launch.kernel.of_catalogue:
        check_arguments(launch, compiled.parameters)
    return compiled


def _code_of(launch: Launch, compiled: Compiled) -> KernelFacts:
    from ncuview.catalogue.machine_code import code_of_cubin

    symbol = compiled.symbol(launch.template)
    (code,) = (each for each in code_of_cubin(compiled.cubin) if each.symbol == symbol)
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
    """The facts of the code beside the rules that would judge them."""
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
    """Reads lines without indentation, empty where the source is not there; relative names begin in ``root``.

    The names are a line table's, and whoever made the program chose them: ``local_file`` opens what is source code.
    """
    from ncuview.reader.source import lines_of, local_file

    @lru_cache(maxsize=_FILES_KEPT)
    def lines(file: str) -> list[str]:
        # The folder is part of the name, not one to search: it may be a home folder.
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
