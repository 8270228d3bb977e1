"""``ProgramBench``: versions of a program, each built and run in a copy of its source tree.

The program checks its own results: what it prints and the files that it writes are compared with the original's, or a
command of the user says whether they are right. Its inputs are its own, so that no others are tried.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ncuview.base.errors import ProgramFailed, UsageError
from ncuview.patch import Edit
from ncuview.records.diagnosis import Finding, Gain, LaunchDiagnosis
from ncuview.records.trial import Bound
from ncuview.trial.scratch import Ran, copy_of, run_in, state_of, written_in
from ncuview.trial.search import NotBuilt, Verification
from ncuview.trial.traced import TracedRun, traced_run

Judge = Callable[[Path, Sequence[str]], LaunchDiagnosis | None]
"""Profiles a program in a folder: the launch of the kernel; None where counters cannot be read."""


@dataclass(frozen=True)
class ProgramTarget:
    """A program, how it is built, and the source that is changed."""

    tree: Path
    """The folder of its sources, in which it is built and run."""
    source: Path
    """The file with the kernel, below the tree."""
    kernel: str
    build: str
    """The shell command that builds it; empty where nothing is built."""
    program: tuple[str, ...]
    check: str = ""
    """The shell command that says with exit code 0 that its results are right; empty to compare them."""
    build_limit_s: float = 600.0
    run_limit_s: float = 120.0


@dataclass
class ProgramVersion:
    """A version that is built."""

    folder: Path
    runs: list[Result] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """What one run of a version did."""

    traced: TracedRun
    output: str
    """The digest of its standard output."""
    printed: bool
    files: Mapping[Path, str]
    """The digest of every file that it wrote."""

    @cached_property
    def launches(self) -> Mapping[str, int]:
        """How often each kernel was launched, by its mangled name."""
        return Counter(launch.name for launch in self.traced.launches)


class ProgramBench:
    """Builds, judges, checks and times versions of a program's source."""

    def __init__(self, target: ProgramTarget, folder: Path, library: Path, judge: Judge) -> None:
        """``folder`` is a private one for the copies, ``library`` what ``traced.tracer`` made."""
        self.path, self.kernel = str(target.source), target.kernel
        self._target, self._folder, self._library, self._judge = target, folder, library, judge
        self._built = 0

    def build(self, source: str) -> ProgramVersion:
        """Build a version in a copy of its own.

        Raises:
            NotBuilt: The build failed.
        """
        folder = self._folder / str(self._built)
        self._built += 1
        copy_of(self._target.tree, folder)
        (folder / self._target.source).write_bytes(source.encode("utf-8", "surrogateescape"))
        if self._target.build:
            ran = run_in(folder, ["/bin/sh", "-c", self._target.build], self._target.build_limit_s)
            if ran.failure:
                raise NotBuilt(ran.failure)
        return ProgramVersion(folder)

    def judge(self, version: ProgramVersion) -> LaunchDiagnosis | None:
        """The diagnosis of the kernel's longest launch."""
        return self._judge(version.folder, self._target.program)

    def bound(self, version: ProgramVersion, finding: Finding) -> Bound | None:
        raise NotImplementedError

    def check(self, before: ProgramVersion, after: ProgramVersion, edit: Edit, *, thorough: bool) -> Verification:
        raise NotImplementedError

    def time(self, before: ProgramVersion, after: ProgramVersion) -> Gain:
        raise NotImplementedError

    def run(self, version: ProgramVersion) -> Result:
        """Run a version once, with the times of its kernels.

        Raises:
            ProgramFailed: It failed, or took too long.
        """
        before = state_of(version.folder)
        traced = traced_run(self._library, version.folder, self._target.program, self._target.run_limit_s)
        if traced.ran.failure:
            raise ProgramFailed(f"{shlex.join(self._target.program)}: {traced.ran.failure}")
        files = written_in(version.folder, before)
        result = Result(traced, traced.ran.digest, bool(traced.ran.output), files)
        version.runs.append(result)
        return result
