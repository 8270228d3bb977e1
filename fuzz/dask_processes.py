"""``dask_processes``: a scheduler and workers of Dask in processes of their own, as on a real cluster.

A ``LocalCluster`` closes a worker that died and is not back after 15 s (``distributed.deploy.lost-worker-timeout``),
for ever; on a busy machine a start takes longer. ``dask worker`` waits for the worker that it started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_START_S = 120
_ASK_S = 0.05


class DaskProcesses:
    """A cluster.

    Attributes:
        address: The scheduler's.
    """

    def __init__(self, address: str, scheduler: subprocess.Popen[bytes]) -> None:
        self.address = address
        self._scheduler = scheduler

    def end_scheduler(self) -> None:
        """End the scheduler with SIGKILL."""
        self._scheduler.kill()
        self._scheduler.wait()

    def wait_for(self, workers: int) -> dict[str, int]:
        """Wait until so many workers run: the process of each, by its address."""
        from distributed import Client

        with Client(self.address, timeout=_START_S, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=_START_S)
            found: dict[str, int] = client.run(os.getpid, on_error="ignore")
            return found


@contextmanager
def dask_processes(workers: int, *, restarted: bool = True) -> Iterator[DaskProcesses]:
    """A cluster of so many workers with a thread each.

    Args:
        workers: How many worker processes.
        restarted: Whether a worker that dies is started anew.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")
        common = ["--scheduler-file", str(file), "--no-dashboard"]
        started = [_started(folder, "scheduler", *common, "--host", "127.0.0.1", "--port", "0")]
        try:
            address = _address(file, started[0])
            if workers:
                count = ["--nworkers", str(workers)] if restarted else ["--no-nanny"]
                started.append(_started(folder, "worker", *common, *count, "--nthreads", "1"))
            cluster = DaskProcesses(address, started[0])
            if workers:
                cluster.wait_for(workers)
            yield cluster
        finally:
            for process in started:
                with suppress(ProcessLookupError):  # the scheduler may have been ended
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _address(file: Path, scheduler: subprocess.Popen[bytes]) -> str:
    """What a scheduler writes into its file, which is there before its text is."""
    end = time.monotonic() + _START_S
    while time.monotonic() < end and scheduler.poll() is None:
        with suppress(FileNotFoundError, ValueError):
            return str(json.loads(file.read_text())["address"])
        time.sleep(_ASK_S)
    raise SystemExit(f"no scheduler: {file.with_suffix('.log').read_text()}")


def _started(folder: str, kind: str, *words: str) -> subprocess.Popen[bytes]:
    """A process of Dask, with a process group of its own that its workers belong to."""
    with Path(folder, f"{kind}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
