"""A store of thousands of reports: Parquet files of reports, launches, their sums, metrics, findings, lines and calls.

What enters are diagnosed reports (``rows``, ``files``), what leaves are tables to ask with SQL (DuckDB), Arrow or
pandas: ``ncuview.store.open("fleet").sql("SELECT ...").df()``, and ``Answer`` objects. ``schema`` documents the tables,
``batches`` says how a report becomes part of a store. The package knows the questions that users ask: ``views.sql`` has
them as views, which every opened store has, and ``questions`` and ``kernel_history`` make answers of them. It must not
know how a report is read or judged, nor how an answer looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ncuview.store.opened import Store

__all__ = ["open"]


def open(name: str | Path) -> Store:  # noqa: A001  (ncuview.store.open is what it does)
    """Open a store, a folder or a URL of fsspec, as it is now; see ``opened.open_store``."""
    from ncuview.store.opened import open_store

    return open_store(str(name))
