"""Run ``launcher/variants.py`` on this machine, alone or under a tool of compute-sanitizer.

``Bench.run`` takes a job and returns the lines that the process wrote, ``Bench.sanitize`` what the tool printed.
Neither raises where the process fails: what it had written until then says where. Several threads may call them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ncuview.base.errors import LauncherNotFound
from ncuview.base.figures import duration
from ncuview.base.log import log_command
from ncuview.catalogue.live import for_user
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
    _running: set[int] = field(default_factory=set)
    """The process groups of the jobs that run now."""

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

    def end(self) -> None:
        """End the processes of the jobs that run now."""
        for group in tuple(self._running):
            _end(group)

    def _run(self, job: Mapping[str, Any], prefix: Sequence[str]) -> Done:
        folder = self.folder / f"job{next(self._numbers)}"
        folder.mkdir()
        given, result = folder / "job.json", folder / "result.jsonl"
        given.write_text(json.dumps(job), encoding="utf-8")
        program = [*prefix, sys.executable, "-P", "-m", "ncuview.catalogue.launcher.variants", str(given), str(result)]
        words, environment = for_user(program, folder)
        output, errors, code = _run_to_its_end(words, self.root, environment, self.seconds, self._running)
        if code is None:
            failure = f"it did not end within {duration(1e9 * self.seconds)}"
        else:
            said = " ".join(errors.split("\n")[-_LAST_WORDS:]).strip()
            failure = f"it failed: {said or f'exit code {code}'}" if code else ""
        return Done(_lines(result), output + errors, failure)


def _run_to_its_end(
    words: Sequence[str], root: Path, environment: Mapping[str, str], seconds: float, running: set[int]
) -> tuple[str, str, int | None]:
    """What a program printed, and its exit code; None where it took too long. No process of it is left.

    The tool starts the process with the kernel as a child, which would go on after the tool was ended.
    """
    log_command(words)
    with subprocess.Popen(
        words,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        running.add(process.pid)
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "", "", None
        finally:
            running.discard(process.pid)
            _end(process.pid)
    return output, errors, process.returncode


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _lines(result: Path) -> tuple[Mapping[str, Any], ...]:
    """The complete lines of a result file, whose last one the process's end may have cut."""
    if not result.exists():
        return ()
    *complete, _ = result.read_text(encoding="utf-8").split("\n")
    return tuple(json.loads(line) for line in complete)
