"""``run_bare``: run a Python program once more without ncu, and measure its time and that between its kernels.

ncu makes launches take longer and the host wait for each, so its reports do not show how the GPU waits for the host.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ncuview.base.log import LOG
from ncuview.profiling.ncu import absolute_program
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.privileges import invoking_user, variables_for_ncu
from ncuview.profiling.python_hook import is_python, trace_variables
from ncuview.profiling.runner import Watch, supervise
from ncuview.records.program import BareRun, KernelTrace

_WHOLE = frozenset({"--profile-from-start"})
"""Of the options that leave out launches, what the trace can leave out as well."""


def run_bare(
    program: Sequence[str],
    options: NcuOptions,
    variables: Mapping[str, str],
    cwd: Path,
    timeout_s: float = math.inf,
) -> BareRun | None:
    """Run a program without ncu, and trace its kernels where its CUPTI can be loaded.

    What the program does happens once more: it may write files, or send messages. Its output is dropped.

    Args:
        program: The program and its arguments, as under ncu.
        options: ncu's options, of which a range of the profiler also counts here.
        variables: Environment variables for the program in addition to those of this process.
        cwd: The folder that it runs in.
        timeout_s: How long it may take, in seconds.

    Returns:
        None where the program is not Python, failed or took too long, or options leave out launches that a trace
        cannot leave out.

    Raises:
        UsageError: There is no such program.
    """
    if options.no_bare_run or not is_python(program[0]) or not _WHOLE.issuperset(options.chosen_by()):
        return None
    with tempfile.TemporaryDirectory(prefix="ncuview-") as private:
        folder = Path(private)
        command = [absolute_program(program[0]), *program[1:]]
        added = {**variables, **trace_variables(folder, only_ranges=not options.profile_from_start)}
        if user := invoking_user():
            user.hand_over([folder])
            command, added = user.runs(command, added), {}
        started, watch = time.monotonic(), Watch(timeout_s, math.inf)
        ended = supervise(
            command,
            cwd=cwd,
            environment={**variables_for_ncu(), **added},
            overdue=lambda: watch.overdue,
            stdout=len,
            stderr=len,
            remove=[folder],
        )
        wall_s = time.monotonic() - started
        if ended.stopped or ended.returncode:
            LOG.info("the run without ncu ended with %d %s", ended.returncode, ended.stopped)
            return None
        return BareRun(wall_s, _trace(folder))


def _trace(folder: Path) -> KernelTrace | None:
    """The trace of the one process that launched kernels; None where none or several did, or it is not complete."""
    found = [each for path in sorted(folder.glob("*.json")) if (each := _read(path)) and each.launches]
    return found[0] if len(found) == 1 else None


def _read(path: Path) -> KernelTrace | None:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                return None
            found: dict[str, Any] = json.load(file)
        numbers = {name: found[name] for name in _FIELDS}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        LOG.info("the trace of the run without ncu cannot be read: %s", error)
        return None
    whole = all(type(number) is int and 0 <= number < _MOST for number in numbers.values())
    pytorch = found.get("pytorch") is True
    return KernelTrace(**numbers, pytorch=pytorch) if whole and found.get("cut") is False else None


_FIELDS = ("launches", "busy_ns", "span_ns", "launch_gap_ns", "waits", "waits_ns", "copied_ns", "once_ns")
_LARGEST = 4096
_MOST = 1 << 53
