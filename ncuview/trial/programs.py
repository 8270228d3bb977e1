"""``ProgramBench``: versions of a program, each built and run in a copy of its source tree.

The program shows its own results: what it prints and the files that it writes are compared with the original's, or a
command of the user says whether they are right. Its inputs and sizes are its own, so that no others are tried.
"""

from __future__ import annotations

import math
import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

from ncuview.base.at_once import IN_TURN, Together
from ncuview.base.errors import NcuviewError, ProgramFailed
from ncuview.catalogue.launcher.ratios import FEW, FIRST_LOOK, LOOKS, ratio_of
from ncuview.catalogue.machine_code import KernelCode
from ncuview.patch import Edit
from ncuview.records.diagnosis import Finding, Gain, LaunchDiagnosis
from ncuview.records.trial import Bound
from ncuview.trial.bounds import Means, bound_of
from ncuview.trial.conserved import conserved
from ncuview.trial.lanes import new_mask
from ncuview.trial.sanitizer import TOOLS, Inconclusive, Printed, compared, findings_by_tool, findings_of, remembered
from ncuview.trial.scratch import copy_of, never, run_in, state_of, written_in
from ncuview.trial.search import NotBuilt, NotTimed, gain_of
from ncuview.trial.timing import LEAST_GAIN, Timing
from ncuview.trial.timing import judged as judged_times
from ncuview.trial.traced import TracedRun, traced_run
from ncuview.trial.verify import Check, Verification
from ncuview.trial.work import Counted, Counters, Judged, dropped

_BUILD_S = 600.0
_RUNS_ALONE = 3
"""Of the original, for its time alone."""
_LOOKS = (FIRST_LOOK, FEW, *LOOKS[:2])
"""Runs of each version after which its times are looked at: a program is more than a launch."""


@dataclass(frozen=True)
class ProgramTarget:
    """A program, how it is built, and the source that is changed."""

    tree: Path
    """The folder of its sources, in which it is built and run."""
    source: Path
    """The file with the kernel, relative to the tree."""
    kernel: str
    build: str
    """The shell command that builds it; empty where nothing is built."""
    program: tuple[str, ...]
    check: str = ""
    """The shell command that says with exit code 0 that its results are right; empty to compare them."""
    run_limit_s: float = 120.0
    timing_s: float = 60.0
    """How long two versions may be run in turns for their times."""


@dataclass(frozen=True)
class ProgramTools:
    """What a bench needs of this machine."""

    run: Callable[[Path, Sequence[str], float], TracedRun]
    """Runs a program in a folder, at most so many seconds, with the times of its kernels."""
    judge: Callable[[Path, Sequence[str], str], Judged | None]
    """Profiles a kernel of a program in a folder: diagnoses its longest launch, and counts the first; None where
    counters cannot be read. Raises NcuviewError."""
    sanitizer: Callable[[str, Path, Sequence[str], str], Printed]
    """Runs a program in a folder under a tool of compute-sanitizer, which looks at one kernel; may raise
    ``Inconclusive``."""
    code_of: Callable[[Path, Sequence[str], str], KernelCode]
    """The machine code of a kernel in a program; raises ToolError where there is none."""
    count: Callable[[Path, Sequence[str], str], Counted | None]
    """Counts what the first launch of a kernel in a program does; None where counters may not be read. Raises
    NcuviewError."""
    build: Callable[[Path, Path, str, Mapping[Path, bytes]], None]
    """Copies a tree to a folder and builds there, with these files; see ``built_copy``."""
    at_once: Together = IN_TURN
    """Compiles versions, and makes runs that are not timed."""
    left_s: Callable[[], float] = lambda: math.inf
    """How many seconds are left for changes that were begun."""


@dataclass(frozen=True)
class Result:
    """What one run of a version did."""

    traced: TracedRun
    files: Mapping[Path, str]
    """The digest of every file that it wrote."""
    complaint: str
    """What the user's check says against it, as a clause; empty where it passed, or there is none."""

    @cached_property
    def launches(self) -> Mapping[str, int]:
        """How often each kernel was launched, by its mangled name."""
        return Counter(launch.name for launch in self.traced.launches)


@dataclass
class ProgramVersion:
    """A version that is built, and its runs so far."""

    folder: Path
    results: list[Result] = field(default_factory=list)


@dataclass(frozen=True)
class InTurns:
    """Two versions that were run in turns."""

    kernel: Timing
    """Of the kernel's launches."""
    program: Gain | None
    """Of the runs from start to end; None where there were too few for an interval."""


class ProgramBench:
    """Builds, judges, checks and times versions of a program's source."""

    def __init__(self, target: ProgramTarget, folder: Path, tools: ProgramTools, original: Path | None = None) -> None:
        """``folder`` is a private one for the copies, and ``original`` one in which the tree is built already."""
        self.path, self.kernel = str(target.source), target.kernel
        self._target, self._folder, self._tools, self._original = target, folder, tools, original
        self._versions = count()
        self._codes: dict[Path, KernelCode] = {}
        self._timed: dict[tuple[Path, Path], InTurns] = {}

        def judged(version: ProgramVersion) -> Judged | None:
            return tools.judge(version.folder, target.program, target.kernel)

        def counted(version: ProgramVersion) -> Counted | None:
            return tools.count(version.folder, target.program, target.kernel)

        self._counters = Counters(judged, counted, lambda version: version.folder)

        def sanitized(tool: str, version: ProgramVersion) -> Printed:
            return tools.sanitizer(tool, version.folder, target.program, target.kernel)

        self._sanitizer = remembered(sanitized, lambda version: version.folder)

    def build(self, source: str) -> ProgramVersion:
        """Build a version in a copy of its own.

        Raises:
            NotBuilt: The build failed.
        """
        content = source.encode("utf-8", "surrogateescape")
        if self._original and content == (self._original / self._target.source).read_bytes():
            return ProgramVersion(self._original)
        folder = self._folder / str(next(self._versions))
        self._tools.build(self._target.tree, folder, self._target.build, {self._target.source: content})
        return ProgramVersion(folder)

    def judge(self, version: ProgramVersion) -> LaunchDiagnosis | None:
        """The diagnosis of the kernel's longest launch, which is made once; None where counters cannot be read."""
        return self._counters.judge(version)

    def bound(self, version: ProgramVersion, finding: Finding) -> Bound | None:
        """What a version gains without the waste of a finding; None where there is no such ablation."""
        source = (version.folder / self._target.source).read_bytes().decode("utf-8", "surrogateescape")
        means = Means(self.build, self.time, self._code_of, self._is_clean, self._counters.count)
        return bound_of(finding, version, source, self.path, self.kernel, means)

    def time(self, before: ProgramVersion, after: ProgramVersion, least: float = LEAST_GAIN) -> Timing:
        """How many times as fast the kernel's launches of a run are, in turns with those of the version before it.

        A version beside itself is run once for both, and a few times only. Of another one enough is known as soon as it
        gains ``least`` for sure, or cannot gain so much. Two versions are timed once.

        Raises:
            NotTimed: A run failed, or launches are missing.
        """
        versions = before.folder, after.folder
        if versions not in self._timed:
            self._timed[versions] = self._in_turns(before, after, least)
        return self._timed[versions].kernel

    def _in_turns(self, before: ProgramVersion, after: ProgramVersion, least: float) -> InTurns:
        ends = time.monotonic() + min(self._target.timing_s, self._tools.left_s())
        times: dict[int, list[float]] = {0: [], 1: []}
        seconds: dict[int, list[float]] = {0: [], 1: []}
        for look in [_RUNS_ALONE] if after is before else _LOOKS:
            while len(times[1]) < look and (time.monotonic() < ends or not times[1]):
                # Every other round goes the other way, so that no version always has the same predecessor.
                turns = [(0, before), (1, after)][: 1 if after is before else 2]
                for number, version in turns[:: -1 if len(times[0]) % 2 else 1]:
                    times[number].append(self._kernel_ns(version))
                    seconds[number].append(version.results[-1].traced.ran.seconds)
                if after is before:
                    times[1], seconds[1] = times[0], seconds[0]
            ratio = ratio_of(times[0], times[1])
            if len(times[1]) < look or ratio.precise or ratio.high < least or ratio.low >= least:
                break
        program = judged_times(seconds[0], seconds[1])
        return InTurns(judged_times(times[0], times[1]), gain_of(program) if program.rounds >= FEW else None)

    def check(self, before: ProgramVersion, after: ProgramVersion, edit: Edit) -> Verification:
        """Whether a version does what the one before the edit does: its results, its launches, and its memory."""
        if mask := new_mask(edit):
            return Verification("unproven", "lanes", mask)
        try:
            for version in (before, after):
                while len(version.results) < 2:
                    self._run(version)
        except ProgramFailed as failed:
            return Verification("refuted", "launch", str(failed))
        verdict = self._results(before, after)
        if verdict.verdict == "refuted" and verdict.check == "outputs" and edit.approximates:
            verdict = Verification("unproven", verdict.check, f"{verdict.reason}. It assumes that {edit.assumes}")
        verdict = self._memory(before, after, verdict.passed) if verdict.verdict == "verified" else verdict
        if verdict.verdict != "verified":
            return verdict

        def wrong_of(was: Counted, now: Counted) -> str:
            return dropped(was, now, None)

        return conserved(verdict, self._counters, before, after, wrong_of, "its stores and loads by counters")

    def registers(self, version: ProgramVersion) -> int | None:
        """The registers per thread, from the machine code; None where it cannot be read."""
        try:
            return self._code_of(version).registers
        except NcuviewError:
            return None

    def end_to_end(self, before: ProgramVersion, after: ProgramVersion) -> Gain | None:
        """How many times as fast the runs of a version are from start to end; None where they were hardly timed."""
        timed = self._timed.get((before.folder, after.folder))
        return timed.program if timed else None

    def _run(self, version: ProgramVersion) -> Result:
        """Run a version once more.

        Raises:
            ProgramFailed: It failed, or took too long.
        """
        state = state_of(version.folder)
        traced = self._tools.run(version.folder, self._target.program, self._target.run_limit_s)
        if traced.ran.failure:
            raise ProgramFailed(f"{shlex.join(self._target.program)}: {traced.ran.failure}")
        files = written_in(version.folder, state)
        complaint = ""
        if self._target.check:
            checked = run_in(version.folder, ["/bin/sh", "-c", self._target.check], self._target.run_limit_s)
            complaint = f"{self._target.check}: {checked.failure}" if checked.failure else ""
        version.results.append(Result(traced, files, complaint))
        return version.results[-1]

    def _kernel_ns(self, version: ProgramVersion) -> float:
        try:
            traced = self._run(version).traced
        except ProgramFailed as failed:
            raise NotTimed(str(failed)) from failed
        found = sum(ns for name, ns in traced.kernel_ns.items() if is_named(name, self.kernel))
        if not traced.complete or not found:
            raise NotTimed(
                f"{self.kernel} was not launched" if traced.complete else "the times of launches are missing"
            )
        return float(found)

    def _results(self, before: ProgramVersion, after: ProgramVersion) -> Verification:
        first, *others = before.results
        if self._target.check:
            if wrong := next((each.complaint for each in before.results if each.complaint), ""):
                return Verification("unproven", "stability", f"the check fails on the original: {wrong}")
            if wrong := next((each.complaint for each in after.results if each.complaint), ""):
                return Verification("refuted", "outputs", wrong)
            passed = f"{self._target.check} passes"
        else:
            if unstable := next(filter(None, (difference(first, each) for each in others)), ""):
                return Verification("unproven", "stability", f"{unstable} differs from run to run: give --check")
            if not first.traced.ran.output and not first.files:
                return Verification("unproven", "outputs", "it prints nothing and writes no file: give --check")
            if wrong := next(filter(None, (difference(first, each) for each in after.results)), ""):
                return Verification("refuted", "outputs", f"its output is another: {wrong}")
            passed = f"equal output and {len(first.files)} equal files" if first.files else "equal output"
        if wrong := other_launches(first.launches, after.results[0].launches, self.kernel):
            return Verification("refuted", "launch", wrong)
        return Verification("verified", passed=(f"{passed} in {len(after.results)} runs",))

    def _memory(self, before: ProgramVersion, after: ProgramVersion, passed: tuple[str, ...]) -> Verification:
        found_by = findings_by_tool(self._sanitizer, (before, after), self._tools.at_once)
        for tool in TOOLS:
            try:
                old, new = found_by(tool)
            except Inconclusive as failed:
                return Verification("unproven", _CHECK_OF[tool], str(failed), passed=passed)
            if more := compared(old, new):
                return Verification("refuted", _CHECK_OF[tool], f"{tool} finds {more}", passed=passed)
            passed = (*passed, f"no new findings of {tool}")
        return Verification("verified", passed=passed)

    def _code_of(self, version: ProgramVersion) -> KernelCode:
        if version.folder not in self._codes:
            self._codes[version.folder] = self._tools.code_of(version.folder, self._target.program, self.kernel)
        return self._codes[version.folder]

    def _is_clean(self, version: ProgramVersion, without: ProgramVersion) -> bool | None:
        """Whether memcheck finds no more in an ablation than in the version; None where the tool failed."""
        try:
            before, after = (findings_of("memcheck", self._sanitizer("memcheck", each)) for each in (version, without))
        except Inconclusive:
            return None
        return not compared(before, after)


def built_copy(
    tree: Path, folder: Path, build: str, written: Mapping[Path, bytes], stopped: Callable[[], bool] = never
) -> None:
    """Copy a source tree, write files in the copy, and build there, unless it is stopped.

    Raises:
        NotBuilt: The build failed, or took too long.
        UsageError: The tree is too large.
    """
    copy_of(tree, folder)
    for path, content in written.items():
        (folder / path).write_bytes(content)
    ran = run_in(folder, ["/bin/sh", "-c", build], _BUILD_S, stopped=stopped) if build else None
    if ran and ran.failure:
        raise NotBuilt(ran.failure)


_CHECK_OF: Mapping[str, Check] = {"memcheck": "memcheck", "racecheck": "racecheck", "synccheck": "synccheck"}


def plain_name(kernel: str) -> str:
    """A kernel's name without namespaces and template arguments."""
    return kernel.partition("<")[0].rpartition("::")[2]


def is_named(mangled: str, kernel: str) -> bool:
    """Whether a mangled name is that of a kernel, in any namespace and with any template arguments."""
    plain = plain_name(kernel)
    return mangled == plain or re.search(rf"(?<!\d){len(plain)}{re.escape(plain)}", mangled) is not None


def difference(one: Result, other: Result) -> str:
    """What two runs do not have in common, as a clause; empty where they are equal."""
    if one.traced.ran.digest != other.traced.ran.digest:
        return "standard output"
    changed = sorted(
        str(path) for path in one.files.keys() | other.files.keys() if one.files.get(path) != other.files.get(path)
    )
    return f"the file {changed[0]}" if changed else ""


def other_launches(before: Mapping[str, int], after: Mapping[str, int], kernel: str) -> str:
    """How the launches of two runs differ, as a clause; empty where each kernel is launched as often.

    A change may add parameters to the kernel, which then has another mangled name.
    """
    was, now = _by_kernel(before, kernel), _by_kernel(after, kernel)
    name = next((each for each in sorted(was.keys() | now.keys()) if was[each] != now[each]), None)
    return f"{name} is launched {now[name]} times instead of {was[name]}" if name else ""


def _by_kernel(launches: Mapping[str, int], kernel: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, number in launches.items():
        found[kernel if is_named(name, kernel) else name] += number
    return found


def traced_by(library: Path) -> Callable[[Path, Sequence[str], float], TracedRun]:
    """Runs programs with the tracing library that ``traced.tracer`` made."""
    return lambda folder, program, limit_s: traced_run(library, folder, program, limit_s)
