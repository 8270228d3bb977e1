"""From report files to one Profile: precheck, read each in a child process, put the launches into DataFrames."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncuview.errors import ReportDamaged, ReportEmpty, ReportUnreadable, UsageError
from ncuview.model import Profile, ReportInfo
from ncuview.report.precheck import ReportHeader, precheck

READ_TIMEOUT_S = 600
CHILDREN = 4
"""Reports read at once; each child holds about 150 MB."""
_NAMED = 12


@dataclass(frozen=True)
class _Read:
    """One report as its child process printed it."""

    info: ReportInfo
    kernels: list[str]
    launches: list[dict[str, Any]]


def read(paths: Sequence[str | Path], kernel: str = "") -> Profile:
    """Read one or more reports into a Profile.

    Args:
        paths: The report files.
        kernel: Only launches of kernels with exactly this name, or ``regex:`` and a pattern, as ncu has it; empty for
            all.

    Raises:
        ReportUnreadable: A path is no readable report.
        ReportDamaged: A report is cut, altered, or crashes NVIDIA's reader.
        ReportEmpty: A report holds no launch, or none holds a launch of the kernel.
        UsageError: The pattern is no regular expression.
    """
    _check_pattern(kernel)
    headers = [precheck(Path(path)) for path in paths]
    children = _Children()
    with ThreadPoolExecutor(CHILDREN) as pool:
        try:
            running = [
                pool.submit(_read_one, Path(path), header, kernel, children)
                for path, header in zip(paths, headers, strict=True)
            ]
            # The children start up while this process imports pandas, which takes about as long.
            from ncuview.report.frames import profile_of

            reads = [future.result() for future in running]
        except BaseException:  # Ctrl-C and SIGTERM too: leaving the pool waits for its threads, and they for children
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill()
            raise
    if not any(read.launches for read in reads):
        known = sorted({name for read in reads for name in read.kernels})
        raise ReportEmpty(f"no launch of a kernel {kernel!r}", hint=f"There are: {', '.join(known[:_NAMED])}.")
    return profile_of([(read.info, read.launches) for read in reads])


def _check_pattern(kernel: str) -> None:
    try:
        re.compile(kernel.removeprefix("regex:"))
    except re.error as error:
        if kernel.startswith("regex:"):
            raise UsageError(f"{kernel!r} is no pattern: {error}") from error


class _Children:
    """The processes that read reports now, all to be killed when one fails or the user gives up."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._given_up = threading.Event()

    def output(self, command: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end, or until ``kill`` or the time limit."""
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        ) as child:
            self._running.add(child)
            if self._given_up.is_set():
                child.kill()
            try:
                out, err = child.communicate(timeout=READ_TIMEOUT_S)
            except BaseException:
                child.kill()
                raise
            finally:
                self._running.discard(child)
        return subprocess.CompletedProcess(command, child.returncode, out, err)

    def kill(self) -> None:
        self._given_up.set()
        for child in tuple(self._running):
            child.kill()


def _read_one(path: Path, header: ReportHeader, kernel: str, children: _Children) -> _Read:
    document = _document(path, kernel, children)
    launches = document["launches"]
    if document["total"] != header.results:
        raise ReportDamaged(
            f"{path} is damaged: it announces {header.results} launches and {document['total']} can be read",
            hint="Record the report again.",
        )
    for launch in launches:
        if not launch["numbers"]:
            raise ReportDamaged(
                f"{path} is damaged: launch {launch['index']} has no metrics", hint="Record the report again."
            )
    return _Read(ReportInfo(str(path), header.ncu_version, header.created), document["kernels"], launches)


def _document(path: Path, kernel: str, children: _Children) -> dict[str, Any]:
    package_root = str(Path(__file__).resolve().parents[2])
    search_path = os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH", "")]))
    try:
        child = children.output(
            [sys.executable, "-P", "-m", "ncuview.report.native", str(path.resolve()), kernel],
            {**os.environ, "PYTHONPATH": search_path},
        )
    except subprocess.TimeoutExpired as error:
        raise ReportDamaged(
            f"{path} could not be read within {READ_TIMEOUT_S} s", hint="Record the report again, with fewer launches."
        ) from error
    if child.returncode == 0:
        document: dict[str, Any] = json.loads(child.stdout)
        return document
    complaint = child.stderr.decode(errors="backslashreplace").strip().splitlines()[-1:]
    if "No module named 'ncu_report'" in "".join(complaint):
        raise ReportUnreadable(
            "ncu-report, NVIDIA's reader of reports, is not installed", hint="pip install ncu-report"
        )
    how = f"signal {-child.returncode}" if child.returncode < 0 else "".join(complaint)
    raise ReportDamaged(f"{path} is damaged: NVIDIA's reader failed on it ({how})", hint="Record the report again.")
