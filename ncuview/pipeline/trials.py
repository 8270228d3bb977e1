"""Try changes of a catalogue kernel, a .cu file or a program on this machine: ``try_launch``, ``try_program``.

Each returns a ``Trial``. They give the benches of ``trial`` what these need of the machine: the compiler, the process
that launches versions, compute-sanitizer, and ncu where it may read counters.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from ncuview.base.at_once import Together
from ncuview.base.errors import (
    CompileFailed,
    CompilerNotFound,
    GpuNotFound,
    LauncherNotFound,
    NcuNotFound,
    NcuRefused,
    ProgramFailed,
)
from ncuview.base.figures import duration
from ncuview.base.signals import Terminated
from ncuview.base.system import usable_processors
from ncuview.catalogue.bench import Bench as JobBench
from ncuview.catalogue.bench import find_sanitizer
from ncuview.catalogue.compiler import NATIVE, Compiled
from ncuview.catalogue.kernel_file import Kernel
from ncuview.catalogue.kernels import Launch, launch_of
from ncuview.catalogue.launcher.ratios import FEW
from ncuview.catalogue.live import compile_all
from ncuview.catalogue.machine_code import KernelCode, code_of_cubin, code_of_program
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import load_rules
from ncuview.patch.patch import edit_between
from ncuview.pipeline.examine import examine_program, require_complete
from ncuview.pipeline.profiled import planned_metrics, profile_launches, profile_program
from ncuview.profiling.machine import compute_capability, find_nvcc, gpu_state
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.passes import WORK
from ncuview.records.diagnosis import Gain
from ncuview.records.profile import NOWHERE, Device, Profile
from ncuview.records.trial import Attempt, Trial
from ncuview.trial.cases import Build
from ncuview.trial.kernel_files import KernelFileBench, Tools
from ncuview.trial.program_source import definitions_in, importers_of, placed, source_of
from ncuview.trial.programs import (
    ProgramBench,
    ProgramTarget,
    ProgramTools,
    built_copy,
    is_named,
    plain_name,
    traced_by,
)
from ncuview.trial.sanitizer import OPTIONS, Inconclusive, Printed
from ncuview.trial.scratch import run_in, state_of
from ncuview.trial.search import Bench, Found, NotBuilt, NotTimed, gain_of, search
from ncuview.trial.stages import Stages
from ncuview.trial.traced import tracer
from ncuview.trial.verify import Answer
from ncuview.trial.work import Counted, Judged, counted

V = TypeVar("V")
Say = Callable[[str], None]

_JOB_S = 120.0
"""For the launches of one job, or for a program under compute-sanitizer, which take a hundred times as long."""
_LAUNCHES = 3
"""Of a program's kernel, for its diagnosis."""
_RUN_S = 120.0
_LONGEST = 1.5
"""How long a trial may check what it has begun, over its budget."""
_CHECK_S = 20.0
"""For a program under compute-sanitizer, also where no time is left."""
_MOST_JOBS = 16
"""Compilers at once, each of which may take a gigabyte of memory."""


class _Budget:
    """How long changes may be tried, from ``begin`` on: what is before it does not depend on them."""

    def __init__(self, seconds: float, stages: Stages) -> None:
        self._seconds, self._stages = seconds, stages
        self._began = 0.0

    def begin(self) -> None:
        """Let the time begin."""
        self._began = self._stages.elapsed()

    def is_over(self) -> bool:
        """Whether no further change may be begun."""
        return self._spent() >= self._seconds

    def left_s(self) -> float:
        """The seconds that are left for a change that was begun."""
        return max(0.0, _LONGEST * self._seconds - self._spent())

    def _spent(self) -> float:
        return self._stages.elapsed() - self._began


def try_launch(
    launch: Launch,
    reload: Callable[[Path], Kernel],
    target: str,
    *,
    budget_s: float,
    say: Say,
    jobs: int = 0,
    stages: Stages | None = None,
) -> Trial:
    """Try changes of a catalogue kernel, or of the kernel in a .cu file.

    Args:
        launch: The launch of the kernel.
        reload: Reads the kernel of a version's file.
        target: The target, as the user named it.
        budget_s: How long changes may be tried, in seconds; one that has begun is finished.
        say: Called with what happens next.
        jobs: How many versions are compiled, and how many runs that are not timed are made, at once; 0 for what this
            machine can do.
        stages: Gets the seconds of each stage.

    Raises:
        ToolError: GPU, nvcc or PyCUDA is missing.
        ProgramError: The kernel does not compile, or cannot be launched.
    """
    _require_gpu()
    if find_spec("pycuda") is None:
        raise LauncherNotFound("no PyCUDA here: it is not installed", hint="pip install 'ncuview[gpu]'")
    with tempfile.TemporaryDirectory(prefix="ncuview-") as text:
        folder, remarks, stages = Path(text), list[str](), stages or Stages()
        tools = tools_for_files(folder, remarks, stages, jobs)
        bench = KernelFileBench(launch.kernel, reload, folder / "versions", tools)
        source = launch.kernel.path.read_bytes().decode("utf-8", "surrogateescape")
        trial = _tried(bench, source, _Budget(budget_s, stages), say, remarks, tools.at_once)
        return replace(
            trial,
            target=target,
            grid=launch.grid,
            block=launch.block,
            sizes=dict(launch.sizes),
            seconds=stages.seconds,
        )


def try_program(
    command: Sequence[str],
    build: str,
    check: str,
    kernel: str,
    *,
    tree: Path | None,
    budget_s: float,
    say: Say,
    jobs: int = 0,
    stages: Stages | None = None,
) -> Trial:
    """Try changes of a kernel of a program, which is built and run in copies of its source tree.

    Args:
        command: The program and its arguments; a first word that ends in ``.py`` is run by this Python.
        build: The shell command that builds it; empty where nothing is built.
        check: The shell command that says with exit code 0 that its results are right; empty to compare them.
        kernel: The kernel's name; empty for the one whose advice saves most time.
        tree: The folder of its sources; None for that of a Python script, or else the current one.
        budget_s: How long changes may be tried, in seconds; one that has begun has half as long again.
        say: Called with what happens next.
        jobs: As in ``try_launch``.
        stages: Gets the seconds of each stage.

    Raises:
        UsageError: The tree is too large, or two of its files define the kernel.
        ToolError: GPU or compiler is missing.
        ProgramError: The program does not build, or fails.
    """
    program, tree = placed(command, tree)
    _require_gpu()
    with tempfile.TemporaryDirectory(prefix="ncuview-") as text:
        folder, remarks, stages, before = Path(text), list[str](), stages or Stages(), state_of(tree)
        budget = _Budget(budget_s, stages)
        tools = _tools_for_programs(tracer(folder), remarks, stages, jobs, budget.left_s)
        say("build")
        original = folder / "original"
        name, source = _kernel_of(tools, program, build, kernel, tree, original)
        target = ProgramTarget(tree, source, name, build, tuple(program), check)
        bench = ProgramBench(target, folder / "versions", tools, original)
        written = (tree / source).read_bytes().decode("utf-8", "surrogateescape")
        trial = _tried(bench, written, budget, say, remarks, tools.at_once)
        if source.suffix == ".py" and trial.patch and (others := importers_of(tree, source)):
            remarks.append(f"{others[0]} imports {source}: a launch of {name} there was not looked at")
        if state_of(tree) != before:
            remarks.append(f"the program changed files of {tree}, whose absolute path it knows")
        remark = "; ".join(dict.fromkeys(remarks))
        return replace(trial, target=" ".join(command), remark=remark, seconds=stages.seconds)


def _tried(bench: Bench[V], source: str, budget: _Budget, say: Say, remarks: list[str], together: Together) -> Trial:
    """Build the original, search, and measure what is kept against it.

    Raises:
        ProgramError: The original does not build, or its times cannot be taken.
    """
    try:
        original = bench.build(source)
        say("time of the original")
        alone = bench.time(original, original)
    except NotBuilt as refused:
        raise CompileFailed(f"the original does not build: {refused}") from refused
    except NotTimed as failed:
        raise ProgramFailed(f"the original cannot be timed: {failed}") from failed
    found = Found(source, original)
    gain: Gain | None = None
    end_to_end: Gain | None = None
    try:
        budget.begin()
        search(bench, found, budget.is_over, say, together)
        if found.kept:
            say("time of what is kept")
            timing = bench.time(original, found.version)
            gain = gain_of(timing) if timing.rounds >= FEW else _product(found.attempts)
            end_to_end = bench.end_to_end(original, found.version)
    except (KeyboardInterrupt, Terminated) as signal:
        found.stopped = "terminated" if isinstance(signal, Terminated) else "interrupted"
        gain = _product(found.attempts) if found.kept else None
    first = found.first
    return Trial(
        target="",
        kernel=bench.kernel,
        device=first.device if first else _device(),
        grid=first.grid if first else NOWHERE,
        block=first.block if first else NOWHERE,
        sizes={},
        attempts=tuple(found.attempts),
        before_ns=alone.original_ns,
        gain=gain,
        end_to_end=end_to_end,
        patch=edit_between("", source, found.source).diff(bench.path) if found.kept else "",
        before=first,
        after=found.diagnosis if found.kept else None,
        stopped=found.stopped,
        remark="; ".join(dict.fromkeys(remarks)),
    )


def _product(attempts: Sequence[Attempt]) -> Gain:
    """The gain of all kept changes, from those of each: what is known where there was no time to measure it."""
    gains = [each.measured for each in attempts if each.decision == "kept" and each.measured]
    bounds = zip(*((each.low, each.best, each.high) for each in gains), strict=True)
    return Gain(*(math.prod(each) for each in bounds))


def _jobs() -> int:
    """What this machine can do at once."""
    return min(_MOST_JOBS, usable_processors())


def _require_gpu() -> None:
    if gpu_state() is None:
        raise GpuNotFound(
            "no NVIDIA GPU here: nvidia-smi is missing or lists none",
            hint="Changes are timed on a GPU; --dry-run shows them without one.",
        )
    if find_nvcc() is None:
        raise CompilerNotFound("no nvcc here", hint="Install the CUDA toolkit or set CUDA_HOME to where it is.")


def _device() -> Device:
    state = gpu_state()
    return Device(state.name if state else "", compute_capability() or "")


def _with_counters(profiled: Callable[[], V], remarks: list[str]) -> V | None:
    """What is made of counters, or None with a remark where they cannot be read."""
    try:
        return profiled()
    except (NcuNotFound, NcuRefused) as refused:
        remarks.append(
            f"counters cannot be read ({refused}), so that every change that applies is tried, and work is compared in"
            " machine code alone"
        )
        return None


# Kernel files


def tools_for_files(folder: Path, remarks: list[str], stages: Stages, jobs: int = 0) -> Tools:
    """What a bench of kernel files needs of this machine.

    Args:
        folder: A private folder for the files of jobs.
        remarks: Gets a remark where counters cannot be read.
        stages: Gets the seconds of each stage.
        jobs: How much is done at once; 0 for what this machine can do.
    """

    def compiled(kernel: Kernel, into: Path) -> Compiled:
        nvcc = find_nvcc()
        if nvcc is None:
            raise CompilerNotFound("nvcc was removed after it was found")
        (made,) = compile_all(nvcc, [kernel], into, NATIVE).values()
        return made

    def code_of(made: Compiled, kernel: Kernel) -> KernelCode:
        (found,) = code_of_cubin(made.cubin, made.symbol(launch_of(kernel).template).__eq__)
        return found

    def profile_of(kernel: Kernel, made: Compiled, metrics: Sequence[str]) -> Profile:
        return require_complete(profile_launches([launch_of(kernel)], metrics, compiled={kernel.function: made}))

    def judge(version: Build) -> Judged | None:
        def profiled() -> Judged:
            profile = profile_of(version.kernel, version.compiled, planned_metrics(None))
            return Judged(diagnose(profile, load_rules(), "live").launches[0], counted(profile))

        return _with_counters(profiled, remarks)

    def count(version: Build) -> Counted | None:
        # An ablation computes something else, which is not compared with the oracle, and copies are not its work.
        text = version.kernel.text.model_copy(update={"oracle": None, "transfers": None})
        kernel = replace(version.kernel, text=text)
        return _with_counters(lambda: counted(profile_of(kernel, version.compiled, WORK)), remarks)

    files = folder / "jobs"
    files.mkdir()
    bench = JobBench(files, folder, _JOB_S)

    def process(job: Mapping[str, Any]) -> Answer:
        with stages.stage("times" if job["mode"] == "time" else "comparison"):
            done = bench.run(job)
        return Answer(done.lines, done.failure)

    def sanitizer(tool: str, job: Mapping[str, Any]) -> Printed:
        try:
            done = bench.sanitize(tool, OPTIONS, job)
        except LauncherNotFound as missing:
            return Printed(str(missing), ended=False)
        return Printed(done.output, bool(done.lines) and done.lines[-1].get("ended") is True)

    return Tools(
        compile=stages.timed("compile", compiled),
        code_of=stages.timed("machine code", code_of),
        judge=stages.timed("counters", judge),
        process=process,
        sanitizer=stages.timed("sanitizer", sanitizer),
        count=stages.timed("counters", count),
        at_once=Together(jobs or _jobs(), bench.end),
    )


# Programs


def _tools_for_programs(
    library: Path, remarks: list[str], stages: Stages, jobs: int, left_s: Callable[[], float]
) -> ProgramTools:
    interrupted = Event()

    def judge(folder: Path, program: Sequence[str], kernel: str) -> Judged | None:
        options = NcuOptions(kernel_name=kernel, launch_count=_LAUNCHES, source_folders=(folder,))

        def profiled() -> Judged | None:
            with chdir(folder):
                found = examine_program(program, options=options)
            longest = max(found.diagnosis.launches, key=lambda each: each.duration_ns, default=None)
            if longest is None:
                return None
            # The work of a run that failed is not known.
            return Judged(longest, Counted((), {}) if found.profile.failure else counted(found.profile))

        return _with_counters(profiled, remarks)

    def sanitizer(tool: str, folder: Path, program: Sequence[str], kernel: str) -> Printed:
        found = find_sanitizer()
        if found is None:
            return Printed("no compute-sanitizer here", ended=False)
        # The kernels that the edit leaves as they are would take most of the time.
        only = ("--kernel-name", f"kns={plain_name(kernel)}")
        command = [str(found), "--tool", tool, *OPTIONS, *only, *program]
        limit_s = min(_JOB_S, max(_CHECK_S, left_s()))
        ran = run_in(folder, command, limit_s, stopped=interrupted.is_set)
        if ran.stopped:
            raise Inconclusive(f"{tool} did not end within {duration(1e9 * limit_s)}")
        return Printed((ran.output + ran.errors).decode("utf-8", "replace"), not ran.failure)

    def code_of(folder: Path, program: Sequence[str], kernel: str) -> KernelCode:
        with tempfile.TemporaryDirectory(prefix="ncuview-") as text, chdir(folder):
            codes = code_of_program(
                program[0], Path(text), compute_capability() or "", lambda symbol: is_named(symbol, kernel)
            )
        return codes[0]

    def count(folder: Path, program: Sequence[str], kernel: str) -> Counted | None:
        options = NcuOptions(kernel_name=kernel, launch_count=1)

        def profiled() -> Counted:
            with chdir(folder):
                found, _ = profile_program(program, WORK, options)
            return counted(require_complete(found))

        return _with_counters(profiled, remarks)

    return ProgramTools(
        run=stages.timed("runs", traced_by(library)),
        judge=stages.timed("counters", judge),
        sanitizer=stages.timed("sanitizer", sanitizer),
        code_of=stages.timed("machine code", code_of),
        count=stages.timed("counters", count),
        build=stages.timed("compile", partial(built_copy, stopped=interrupted.is_set)),
        at_once=Together(jobs or _jobs(), interrupted.set),
        left_s=left_s,
    )


def _kernel_of(
    tools: ProgramTools, program: Sequence[str], build: str, kernel: str, tree: Path, original: Path
) -> tuple[str, Path]:
    """The kernel to change and the file that defines it: the one that takes most time of those in the tree.

    The tree is built in the folder ``original``, and run in a copy of that.

    Raises:
        CompileFailed: The program does not build.
        ProgramFailed: It fails, or launches no kernel that the tree defines.
    """
    try:
        tools.build(tree, original, build, {})
    except NotBuilt as refused:
        raise CompileFailed(f"the program does not build: {refused}") from refused
    # What a first run leaves behind would be there in all runs of the original, and not in the first of a change.
    folder = shutil.copytree(original, original.with_name("first"), symlinks=True)
    run = tools.run(folder, program, _RUN_S)
    if run.ran.failure:
        raise ProgramFailed(f"{' '.join(program)}: {run.ran.failure}")
    longest = sorted(run.kernel_ns, key=lambda name: -run.kernel_ns[name])
    defined = definitions_in(tree)
    for mangled in longest:
        for name, paths in defined.items():
            if is_named(mangled, kernel or name) and (not kernel or is_named(mangled, name)):
                return name, source_of(name, paths)
    wanted = f"the kernel {kernel}" if kernel else "a kernel"
    raise ProgramFailed(
        f"{' '.join(program)} launches {len(longest)} kernels, and no source below {tree} defines {wanted} of them",
        hint="Run ncuview in the folder of the sources, or name it by --tree.",
    )
