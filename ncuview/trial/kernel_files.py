"""``KernelFileBench``: versions of a kernel file, compiled and launched by ncuview itself.

The file's front matter, or the command line, defines the launch and its arguments. So a version can be compared with
the original on inputs and sizes of our choice, in poisoned memory, and without the program that the kernel is part of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from ncuview.base.at_once import IN_TURN, Together
from ncuview.base.errors import CompileFailed, KernelFileError, NcuviewError
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernel_file import Kernel
from ncuview.catalogue.kernels import launch_of
from ncuview.catalogue.machine_code import KernelCode
from ncuview.patch import Edit
from ncuview.records.diagnosis import Finding, LaunchDiagnosis
from ncuview.records.trial import Bound
from ncuview.trial.bounds import Means, bound_of
from ncuview.trial.cases import Build, Reordering, job_of
from ncuview.trial.conserved import conserved
from ncuview.trial.lanes import new_mask
from ncuview.trial.sanitizer import TOOLS, Inconclusive, compared, findings_of, remembered
from ncuview.trial.search import NotBuilt, NotTimed
from ncuview.trial.timing import LEAST_GAIN, Timing
from ncuview.trial.timing import judged as judged_times
from ncuview.trial.verify import Process, Sanitizer, Verification, verify, wrong_launches
from ncuview.trial.work import Counted, Counters, Judged, arrays_of, dropped, floor_ns

Compile = Callable[[Kernel, Path], Compiled]
"""Compiles a kernel file into a folder; raises CompileFailed."""
CodeOf = Callable[[Compiled, Kernel], KernelCode]
"""Disassembles a compiled kernel; raises ToolError."""


Judge = Callable[[Build], Judged | None]
"""Profiles the launch of a version; None where counters cannot be read. Raises NcuviewError."""
Count = Callable[[Build], Counted | None]
"""Counts what that launch does, in fewer passes; None where counters may not be read. Raises NcuviewError."""


@dataclass(frozen=True)
class Tools:
    """What a bench needs of this machine."""

    compile: Compile
    code_of: CodeOf
    judge: Judge
    process: Process
    sanitizer: Sanitizer
    count: Count
    at_once: Together = IN_TURN
    """Compiles versions, and makes runs that are not timed."""
    timing_s: float = 4.0
    """How long the times of two versions may be taken, in seconds."""


class KernelFileBench:
    """Compiles, judges, checks and times versions of a kernel file."""

    def __init__(self, kernel: Kernel, reload: Callable[[Path], Kernel], folder: Path, tools: Tools) -> None:
        """``reload`` reads the kernel of a version's file; ``folder`` is a private one for files."""
        self.path = str(
            kernel.path.relative_to(kernel.root) if kernel.path.is_relative_to(kernel.root) else kernel.path
        )
        self.kernel = kernel.function
        self._original, self._reload, self._folder, self._tools = kernel, reload, folder, tools
        self._versions = count()
        self._codes: dict[Path, KernelCode] = {}
        self._counters = Counters(tools.judge, tools.count, lambda version: version.kernel.path)
        self._sanitizer = remembered(tools.sanitizer, lambda job: json.dumps(job, sort_keys=True))

    def build(self, source: str) -> Build:
        """Compile a version.

        Raises:
            NotBuilt: The compiler refuses it, or its front matter gives no launch.
        """
        folder = self._folder / str(next(self._versions))
        path = folder / self._original.path.parent.name / self._original.path.name
        path.parent.mkdir(parents=True)
        path.write_bytes(source.encode("utf-8", "surrogateescape"))
        try:
            kernel = self._reload(path)
            launch_of(kernel)
            return Build(kernel, self._tools.compile(kernel, folder))
        except (CompileFailed, KernelFileError) as error:
            raise NotBuilt(str(error)) from error

    def judge(self, version: Build) -> LaunchDiagnosis | None:
        """The diagnosis of a version, which is made once; None where counters cannot be read."""
        return self._counters.judge(version)

    def bound(self, version: Build, finding: Finding) -> Bound | None:
        """What a version gains without the waste of a finding; None where there is no such ablation."""
        source = version.kernel.path.read_bytes().decode("utf-8", "surrogateescape")
        means = Means(self.build, self.time, self._code_of, self._is_clean, self._counters.count)
        return bound_of(finding, version, source, self.path, self.kernel, means)

    def time(self, before: Build, after: Build, _: float = LEAST_GAIN) -> Timing:
        """How many times as fast a version is as the one before it; launches are cheap, whatever gain matters.

        Raises:
            NotTimed: A launch failed, or took too long.
        """
        job = job_of(
            {"before": before, "after": after},
            before.kernel.text.sizes,
            mode="time",
            patterns=("random",),
            budget_s=self._tools.timing_s,
        )
        answer = self._tools.process(job)
        times = next((line["times_ns"] for line in answer.lines if "times_ns" in line), None)
        if times is None or answer.failure:
            raise NotTimed(answer.failure or "the process ended without times")
        floor_ns = self._floor_ns(before) if after is not before else 0.0
        return judged_times(times["before"], times["after"], floor_ns)

    def check(self, before: Build, after: Build, edit: Edit) -> Verification:
        """Whether a version computes what the one before the edit does: outputs, memory, races, lanes and counters."""
        if mask := new_mask(edit):
            return Verification("unproven", "lanes", mask)
        found = verify(
            before,
            after,
            self._tools.process,
            self._sanitizer,
            reordered=_reordered(before.kernel, edit),
            at_once=self._tools.at_once,
        )
        found = replace(found, passed=_passed(found))
        if found.verdict == "verified":
            launch = launch_of(after.kernel)

            def wrong_of(was: Counted, now: Counted) -> str:
                return wrong_launches(launch, 1, now.launches) or dropped(was, now, arrays_of(launch))

            passed = "its launch, stores and reads by counters"
            return conserved(found, self._counters, before, after, wrong_of, passed)
        if found.verdict == "refuted" and found.check == "outputs" and edit.approximates:
            return replace(
                found, verdict="unproven", reason=f"results differ: {found.reason}. It assumes that {edit.assumes}"
            )
        return found

    def registers(self, version: Build) -> int | None:
        """The registers per thread, from the machine code; None where it cannot be read."""
        try:
            return self._code_of(version).registers
        except NcuviewError:
            return None

    def end_to_end(self, before: Build, after: Build) -> None:
        """A kernel file is no program."""

    def _floor_ns(self, version: Build) -> float:
        """The least time for the bytes that a version must read; 0 where they are not counted."""
        try:
            found = self._counters.count(version)
        except NcuviewError:
            return 0.0
        return floor_ns(found, arrays_of(launch_of(version.kernel))) if found else 0.0

    def _code_of(self, version: Build) -> KernelCode:
        path = version.kernel.path
        if path not in self._codes:
            self._codes[path] = self._tools.code_of(version.compiled, version.kernel)
        return self._codes[path]

    def _is_clean(self, version: Build, without: Build) -> bool | None:
        """Whether memcheck finds no more in an ablation than in the version; None where the tool failed."""
        try:
            before, after = (
                findings_of("memcheck", self._sanitizer("memcheck", self._job_of_one(each)))
                for each in (version, without)
            )
        except Inconclusive:
            return None
        return not compared(before, after)

    def _job_of_one(self, version: Build) -> dict[str, object]:
        return job_of({"version": version}, version.kernel.text.sizes, patterns=("random",))


def _reordered(kernel: Kernel, edit: Edit) -> list[Reordering]:
    """The sums that an edit reorders: over the axis of each floating-point input along which outputs are fewer.

    The makers of such edits prove that the operation commutes. That the sums run over these neighbours is shown by the
    original, whose results must stay the same in other orders, apart from rounding.
    """
    if not edit.reorders:
        return []
    kinds = {argument.name: argument.parsed for argument in kernel.text.args}
    results = [kind.shape for kind in kinds.values() if kind and kind.role in {"out", "zeroed"}]
    return [
        Reordering(name, len(kind.shape) - 1, _neighbours(kind.shape, results))
        for name, kind in kinds.items()
        if kind and kind.role == "in" and np.dtype(kind.dtype).kind == "f"
    ]


def _neighbours(shape: Sequence[str], results: Sequence[Sequence[str]]) -> str:
    """How many neighbours of an input's last axis become one result, as arithmetic over the sizes; empty for all."""
    if len(results) != 1 or len(results[0]) != 1 or len(shape) != 1 or results[0][0] == "1":
        return ""
    return f"({shape[0]}) / ({results[0][0]})"


def _passed(found: Verification) -> tuple[str, ...]:
    """The checks of a verification in words."""
    words = [f"equal results in {len(found.cases)} cases of inputs and sizes"] if found.cases else []
    if found.largest_allowed:
        words[-1:] = [f"{words[-1]}, sums within the original's own spread"] if words else []
    return (*words, *((f"no new findings of {', '.join(TOOLS)}",) if found.verdict == "verified" else ()))
