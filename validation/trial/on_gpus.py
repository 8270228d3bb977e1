"""Try targets on all GPUs of this machine: a process for each, so many at once on a GPU.

    python3 -m validation.trial.on_gpus OUT [--each N] [--deadline SECONDS] [--budget SECONDS] [--jobs N] [TARGET ...]

Each process is a ``run`` of one target; those on one GPU take turns. What has not ended by the deadline is ended, and
left for the next time.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated

import typer

from validation.trial.run import listed_targets
from validation.trial.tables import rows_of

LEFT_S = 100.0
"""Before the deadline no trial begins: most would not end."""
SAID = 300
"""Characters of what a run printed last."""


def main(
    out: Path,
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET")] = None,
    *,
    each: Annotated[int, typer.Option(metavar="N", help="Trials at once on a GPU.")] = 1,
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="End by then.")] = math.inf,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="For each target.")] = 45.0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Versions of a target that are compiled at once.")] = 2,
) -> None:
    """Try the targets that OUT does not have, in their order."""
    ends, left = time.monotonic() + deadline, SimpleQueue[str]()
    done = {row["target"] for row in rows_of(out / "trials.tsv")}
    for target in targets or listed_targets():
        if target not in done:
            left.put(target)
    gpus = subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True).stdout.count("GPU ")
    options = [f"--budget={budget}", f"--jobs={jobs}", f"--beside={each * gpus - 1}"]

    def work(folder: Path, gpu: int) -> None:
        # ncu's lock lies there: GPUs do not wait for each other.
        folder.mkdir(exist_ok=True)
        variables = {**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu), "TMPDIR": str(folder)}
        while ends - time.monotonic() > LEFT_S:
            try:
                target = left.get_nowait()
            except Empty:
                return
            command = [sys.executable, "-m", "validation.trial.run", str(out), target, *options]
            said = _ended([*command, f"--turns={folder / 'turns'}"], variables, ends)
            print(f"GPU {gpu}: {said or f'{target}: left at the deadline'}", flush=True)

    with tempfile.TemporaryDirectory(prefix="ncuview-") as text, ThreadPoolExecutor(each * gpus) as pool:
        for begun in [pool.submit(work, Path(text) / str(gpu), gpu) for _ in range(each) for gpu in range(gpus)]:
            begun.result()
    print(f"{left.qsize()} targets were not begun")


def _ended(command: Sequence[str], variables: Mapping[str, str], ends: float) -> str:
    """The last line of a command, which is killed with all its children at the end; empty where it was."""
    run = subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    limit_s = None if math.isinf(ends) else max(1.0, ends - time.monotonic())
    try:
        said, _ = run.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return ""
    return (said.strip().splitlines() or [f"nothing was printed, exit code {run.returncode}"])[-1][-SAID:]


if __name__ == "__main__":
    typer.run(main)
