"""``Cluster``: the workers of a Dask cluster call functions, as ``Workers`` does with processes of this machine.

A worker that dies has its calls repeated by others, whose results count; a call at which several workers died fails
alone (``WorkerDied``). What functions name, such as files, must exist under the same name on all workers.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar
from uuid import uuid4

from ncuview.base.errors import ToolError, UsageError
from ncuview.base.version import VERSION
from ncuview.pipeline.workers import WorkerDied

WITHOUT_EXTRA = "pip install 'ncuview[dask]'"
_CONNECT_S = 30
Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Cluster:
    """A connection to the scheduler of a cluster.

    Raises:
        ToolError: Dask's ``distributed`` is not installed.
        UsageError: No scheduler answers at the address.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise ToolError("distributed, Dask's cluster, is not installed", hint=WITHOUT_EXTRA) from error
        try:
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"--scheduler {address}: no scheduler of Dask answers: {error}",
                hint="`dask scheduler` prints its address, as in tcp://host:8786.",
            ) from error

    @property
    def count(self) -> int:
        """How many calls can be made at once now; 1 where workers are yet to come."""
        return max(1, int(sum(self._client.nthreads().values())))

    def results(
        self, function: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterator[tuple[Argument, Result | WorkerDied]]:
        """Each argument with its result, in the order in which they are done.

        Raises:
            ToolError: The scheduler ended, or a worker has another ncuview, or none.
            Exception: What a function raised.
        """
        from distributed import KilledWorker, as_completed

        waiting = {
            self._client.submit(
                called, VERSION, function, each, key=f"{function.__name__}-{uuid4().hex}", pure=False
            ): each
            for each in arguments
        }
        for done in as_completed(tuple(waiting), loop=self._client.loop):
            argument = waiting.pop(done)
            try:
                result = done.result()
            except KilledWorker:
                yield argument, WorkerDied("each worker of the cluster that read it died")
            except ModuleNotFoundError as error:
                raise ToolError(
                    f"a module is missing on a worker of the cluster: {error}", hint=f"On the workers: {WITHOUT_EXTRA}"
                ) from error
            except CancelledError as error:
                raise ToolError("the cluster's scheduler ended", hint="Start it, and add the reports again.") from error
            else:
                yield argument, result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


def called(version: str, function: Callable[[Any], Any], argument: Any) -> Any:
    """Call a function on a worker.

    Raises:
        ToolError: The worker has another ncuview, which would judge differently.
    """
    if version != VERSION:
        raise ToolError(
            f"a worker of the cluster has ncuview {VERSION}, this machine {version}",
            hint="Install the same on both.",
        )
    return function(argument)
