"""``Batches``: shards of reports -> their ``Salvaged``, by threads; one child process reads a batch of small reports.

To start NVIDIA's disassembler takes as long as reading 4 MB, and most reports are smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future

from ncuview.reader.child import Shard
from ncuview.reader.recover import Salvaged
from ncuview.reader.task import MOST_REPORTS

MOST_BYTES = 8 << 20
"""Of the reports of a batch, for which a child holds 360 MB; for one small report it holds 260 MB."""
_Waiting = Sequence[tuple[Shard, "Future[Salvaged]"]]


class Batches:
    """What is read by the threads of ``pool`` with ``read``, which takes the shards of a batch, at most ``most``."""

    def __init__(self, pool: Executor, read: Callable[[Sequence[Shard]], list[Salvaged]], most: int) -> None:
        self._pool, self._read, self._most = pool, read, min(most, MOST_REPORTS)
        self._waiting: list[tuple[Shard, Future[Salvaged]]] = []

    def add(self, shard: Shard) -> Future[Salvaged]:
        """Read a complete, undamaged report with others; until ``flush`` it may wait for them."""
        held = sum(each.report.size for each, _ in self._waiting)
        if len(self._waiting) == self._most or held + shard.report.size > MOST_BYTES:
            self.flush()
        self._waiting.append((shard, Future()))
        return self._waiting[-1][1]

    def alone(self, shard: Shard) -> Future[Salvaged]:
        """Read a shard by a child process of its own."""
        future: Future[Salvaged] = Future()
        self._pool.submit(self._fill, [(shard, future)])
        return future

    def flush(self) -> None:
        """Read those that wait."""
        if self._waiting:
            self._pool.submit(self._fill, self._waiting)
            self._waiting = []

    def _fill(self, batch: _Waiting) -> None:
        try:
            found = self._read([shard for shard, _ in batch])
        except BaseException as error:  # noqa: BLE001  (whoever waits for the result raises it)
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), each in zip(batch, found, strict=True):
            future.set_result(each)
