"""``Workers``: the child processes that work on requests, some at a time, each ended where its request is cancelled."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from ncuview.base.system import usable_processors
from ncuview.mcp_server.problems import error_document

if TYPE_CHECKING:
    from anyio.abc import Process

_LEAST = 2
"""So many requests are worked on at once also on one processor: a long one must not keep a short one waiting."""
_SHORT = frozenset({"explain", "plan", "try"})
"""Tools that read no report, or a shipped one. They have processes of their own, and so do not wait for those that do.
"""
_LONGEST_ANSWER = 1 << 24
"""Bytes; that of a trial holds the patches of all changes."""
_MOST_TRIALS = 4
"""How many of the last trials are kept for requests of further parts of them."""
_IDLE_S = 300.0
"""Seconds after which a process without a request is ended; it holds the last diagnosis."""
_GRACE_S = 10.0
"""Seconds for a process to end what it has started."""


class _Worker:
    """A process, the private folder that it writes in, and what it was asked for last."""

    def __init__(self, process: Process, folder: str) -> None:
        assert process.stdin is not None  # noqa: S101  (it was opened with pipes)
        assert process.stdout is not None  # noqa: S101  (as above)
        self._process, self._requests = process, process.stdin
        self._folder = folder
        self._answers = BufferedByteReceiveStream(process.stdout)
        self.last: object = None
        self.idle_since = math.inf

    async def send(self, line: bytes) -> None:
        """Send a line.

        Raises:
            anyio.BrokenResourceError: The process has ended.
        """
        await self._requests.send(line)

    async def ask(self, line: bytes) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            anyio.BrokenResourceError, anyio.IncompleteRead, anyio.EndOfStream: The process has ended.
        """
        await self.send(line)
        answer: dict[str, Any] = json.loads(await self._answers.receive_until(b"\n", _LONGEST_ANSWER))
        return answer

    async def end(self) -> int:
        """End the process and what it has started; its exit code."""
        with anyio.CancelScope(shield=True):
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                await self._requests.aclose()
            with anyio.move_on_after(_GRACE_S) as patience:
                await self._process.wait()
            if patience.cancelled_caught:
                self._process.kill()
            await self._process.wait()
            await self._process.aclose()
            await anyio.to_thread.run_sync(partial(shutil.rmtree, self._folder, ignore_errors=True))
        return self._process.returncode or 0


class Workers:
    """The processes, which are started when they are needed and used again."""

    def __init__(self, settings: str) -> None:
        """Take the line that each process gets first."""
        self._settings = settings.encode() + b"\n"
        self._idle: list[_Worker] = []
        self._room = anyio.CapacityLimiter(max(_LEAST, usable_processors()))
        self._room_for_short = anyio.CapacityLimiter(_LEAST)
        self._room_for_trials = anyio.CapacityLimiter(1)
        self._trials: dict[str, Any] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """End processes that are idle for long, and in the end all."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_idle)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
        await self._end_all(self._idle)

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a tool, or an error. Where this is cancelled, the process ends with all that it has started."""
        if tool == "try":
            arguments = {**arguments, "kept": self._trials.get(_trial_of(arguments))}
        line = json.dumps({"tool": tool, "arguments": arguments}).encode() + b"\n"
        about = arguments.get("reports") or arguments.get("kernel")
        async with self._room_for(tool, arguments):
            while True:
                idle = self._taken(about)
                worker = idle or await self._started()
                try:
                    answer = await worker.ask(line)
                except (anyio.BrokenResourceError, anyio.IncompleteRead, anyio.EndOfStream, anyio.DelimiterNotFound):
                    code = await worker.end()
                    if not idle:  # else it may have ended while it was idle, as where memory runs out
                        return _ended(code)
                except BaseException:
                    await worker.end()
                    raise
                else:
                    worker.last, worker.idle_since = about or worker.last, anyio.current_time()
                    self._idle.append(worker)
                    if trial := answer.pop("kept", None):
                        self._keep(trial)
                    return answer

    def _room_for(self, tool: str, arguments: Mapping[str, Any]) -> anyio.CapacityLimiter:
        if tool == "try" and not (arguments["dry_run"] or arguments["kept"]):
            return self._room_for_trials  # the times of one would disturb those of another
        return self._room_for_short if tool in _SHORT else self._room

    def _keep(self, trial: dict[str, Any]) -> None:
        self._trials[trial["document"]] = trial
        while len(self._trials) > _MOST_TRIALS:
            del self._trials[next(iter(self._trials))]

    def _taken(self, about: object) -> _Worker | None:
        """An idle process: the one that has worked on the same reports, else one that holds no others, if possible."""
        chosen = min(self._idle, key=lambda each: (each.last != about, each.last is not None), default=None)
        if chosen:
            self._idle.remove(chosen)
        return chosen

    async def _started(self) -> _Worker:
        folder = tempfile.mkdtemp(prefix="ncuview-")
        command = [sys.executable, "-P", "-m", "ncuview.mcp_server.worker", folder]
        try:
            process = await anyio.open_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        worker = _Worker(process, folder)
        with suppress(anyio.BrokenResourceError, OSError):  # what it is asked next says that it has ended
            await worker.send(self._settings)
        return worker

    async def _end_idle(self) -> None:
        while True:
            await anyio.sleep(_IDLE_S / 10)
            long = [each for each in self._idle if anyio.current_time() - each.idle_since > _IDLE_S]
            self._idle = [each for each in self._idle if each not in long]
            await self._end_all(long)

    @staticmethod
    async def _end_all(workers: list[_Worker]) -> None:
        async with anyio.create_task_group() as tasks:
            for each in workers:
                tasks.start_soon(each.end)


def _trial_of(arguments: Mapping[str, Any]) -> str:
    """The trial that a key or cursor belongs to; empty where none is given."""
    name: str = (arguments["cursor"] or arguments["key"]).partition("/")[0]
    return name


def _ended(code: int) -> dict[str, Any]:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return error_document(
        f"the process that worked on this ended ({how}), as where memory runs out",
        "Ask for fewer launches: a single report, or one kernel by kernel_name.",
        "WorkerEnded",
        70,
    )
