"""Run ``launcher/variants.py`` on this machine, alone or under a tool of compute-sanitizer.

``Bench.run`` takes a job and returns the lines that the process wrote, ``Bench.sanitize`` what the tool printed.
Neither raises where the process fails: what it had written until then says where.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ncuview.base.errors import LauncherNotFound
from ncuview.base.figures import duration
from ncuview.catalogue.live import as_user
from ncuview.profiling.machine import find_nvcc

_LAST_WORDS = 5
_SANITIZER = "compute-sanitizer"


def find_sanitizer() -> Path | None:
    """compute-sanitizer on PATH or beside nvcc."""
    nvcc = find_nvcc()
    found = shutil.which(_SANITIZER) or (nvcc and shutil.which(_SANITIZER, path=str(nvcc.parent)))
    return Path(found) if found else None


@dataclass(frozen=True)
class Done:
    """A run of the process.

    Attributes:
        lines: The lines of its result file.
        output: What it and the tool around it printed.
        failure: Why it did not end by itself with success, as a clause; empty where it did.
    """

    lines: tuple[Mapping[str, Any], ...]
    output: str
    failure: str


@dataclass(frozen=True)
class Bench:
    """Where jobs run.

    Attributes:
        folder: A private folder for the files of all jobs.
        root: The folder that the process runs in.
        seconds: The time limit of a job.
    """

    folder: Path
    root: Path
    seconds: float
    _numbers: count[int] = field(default_factory=count)

    def run(self, job: Mapping[str, Any]) -> Done:
        """Do a job."""
        return self._run(job, [])

    def sanitize(self, tool: str, options: Sequence[str], job: Mapping[str, Any]) -> Done:
        """Do a job under a tool of compute-sanitizer.

        Raises:
            LauncherNotFound: There is no compute-sanitizer.
        """
        sanitizer = find_sanitizer()
        if sanitizer is None:
            raise LauncherNotFound("no compute-sanitizer here", hint="It is part of the CUDA toolkit, beside nvcc.")
        return self._run(job, [str(sanitizer), "--tool", tool, *options])

    def _run(self, job: Mapping[str, Any], prefix: Sequence[str]) -> Done:
        folder = self.folder / f"job{next(self._numbers)}"
        folder.mkdir()
        given, result = folder / "job.json", folder / "result.jsonl"
        given.write_text(json.dumps(job), encoding="utf-8")
        program = [*prefix, sys.executable, "-P", "-m", "ncuview.catalogue.launcher.variants", str(given), str(result)]
        output = ""
        try:
            done = as_user(program, folder, self.root, self.seconds)
        except subprocess.TimeoutExpired:
            failure = f"it did not end within {duration(1e9 * self.seconds)}"
        else:
            output = done.stdout + done.stderr
            words = " ".join(done.stderr.split("\n")[-_LAST_WORDS:]).strip()
            failure = f"it failed: {words or f'exit code {done.returncode}'}" if done.returncode else ""
        return Done(_lines(result), output, failure)


def _lines(result: Path) -> tuple[Mapping[str, Any], ...]:
    """The complete lines of a result file, whose last one the process's end may have cut."""
    if not result.exists():
        return ()
    *complete, _ = result.read_text(encoding="utf-8").split("\n")
    return tuple(json.loads(line) for line in complete)
