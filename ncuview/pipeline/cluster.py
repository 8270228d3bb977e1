"""``Cluster``: the workers of a Dask cluster call functions, as ``Workers`` does with processes of this machine.

A worker that dies has its calls repeated by others, whose results count; a call at which several workers died fails
alone (``WorkerDied``). What functions name, such as files, must exist under the same name on all workers.

Dask keeps calls for workers that may come, without end. Not all clusters start workers anew: a ``SpecCluster``, such as
``LocalCluster`` or those of dask-jobqueue, gives one up that is not back after 15 s
(``distributed.deploy.lost-worker-timeout``), which a start on a busy machine takes. So calls of which none is made for
``_IDLE_S`` fail.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from time import monotonic
from typing import Any, Self, TypeVar
from uuid import uuid4

from ncuview.base.errors import ToolError, UsageError
from ncuview.base.version import VERSION
from ncuview.pipeline.workers import WorkerDied

WITHOUT_EXTRA = "pip install 'ncuview[dask]'"
_CONNECT_S = 30
_LOOK_S, _IDLE_S = 30.0, 600.0
"""How often the cluster is asked whether it does anything, and for how long it may do nothing."""
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
        self._client = Client.__new__(Client)
        try:
            self._client.__init__(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            # Else the garbage collector closes it, maybe in the client's own thread, which would wait for itself.
            self._client.close()
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
            ToolError: The scheduler ended, or no worker is left, or a worker has another ncuview, or none.
            Exception: What a function raised.
        """
        from distributed import KilledWorker

        waiting = {
            self._client.submit(
                called, VERSION, function, each, key=f"{function.__name__}-{uuid4().hex}", pure=False
            ): each
            for each in arguments
        }
        for done in self._done(waiting):
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

    def _done(self, waiting: Collection[Any]) -> Iterator[Any]:
        """The futures as they are done; whoever takes one removes it from those that wait.

        Raises:
            ToolError: The cluster did nothing for too long.
        """
        from distributed import as_completed

        busy = monotonic()
        while waiting:
            try:
                for done in as_completed(tuple(waiting), loop=self._client.loop, timeout=_LOOK_S):
                    yield done
                    busy = monotonic()
            except TimeoutError:
                with suppress(OSError):  # where the connection has ended, which cancels the futures
                    if any(self._client.processing().values()):
                        busy = monotonic()
                if monotonic() - busy > _IDLE_S:
                    raise ToolError(
                        f"the cluster's workers, if it has any, have done nothing for {_IDLE_S / 60:.0f} minutes",
                        hint="Start workers, and add the reports again: what was reported as added stays.",
                    ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        log = logging.getLogger("distributed.client")
        level = log.level
        log.setLevel(logging.CRITICAL)  # a client that has lost its scheduler logs tracebacks of being closed
        self._client.close()
        log.setLevel(level)


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
