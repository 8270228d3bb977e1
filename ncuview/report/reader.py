"""From report files to one Profile: precheck, read each in a child process, put the launches into DataFrames."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncuview.errors import ReportDamaged, ReportUnreadable
from ncuview.model import Profile, ReportInfo
from ncuview.report.precheck import ReportHeader, precheck

READ_TIMEOUT_S = 600
CHILDREN = 4
"""Reports read at once; each child holds about 150 MB."""


@dataclass(frozen=True)
class _Read:
    """One report as its child process printed it."""

    info: ReportInfo
    launches: list[dict[str, Any]]


def read(paths: Sequence[str | Path], kernel: str = "") -> Profile:
    """Read one or more reports into a Profile.

    Args:
        paths: The report files.
        kernel: Only launches of the kernel with exactly this name; empty for all.

    Raises:
        ReportUnreadable: A path is no readable report.
        ReportDamaged: A report is cut, altered, or crashes NVIDIA's reader.
        ReportEmpty: A report holds no launch.
    """
    headers = [precheck(Path(path)) for path in paths]
    with ThreadPoolExecutor(CHILDREN) as pool:
        running = [
            pool.submit(_read_one, Path(path), header, kernel) for path, header in zip(paths, headers, strict=True)
        ]
        # The children start up while this process imports pandas, which takes about as long.
        from ncuview.report.frames import profile_of

        reads = [future.result() for future in running]
    return profile_of([(read.info, read.launches) for read in reads])


def _read_one(path: Path, header: ReportHeader, kernel: str) -> _Read:
    document = _document(path, kernel)
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
    return _Read(ReportInfo(str(path), header.ncu_version, header.created), launches)


def _document(path: Path, kernel: str) -> dict[str, Any]:
    package_root = str(Path(__file__).resolve().parents[2])
    search_path = os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH", "")]))
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-m", "ncuview.report.native", str(path.resolve()), kernel],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": search_path},
            timeout=READ_TIMEOUT_S,
            check=False,
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
