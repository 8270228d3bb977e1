"""The questions of a store: ``top``, ``compare``, ``outliers``, ``unprofiled``, ``sql``; see also ``kernel_history``.

Each reads a view of ``views.sql`` in the user's ``Store`` and returns an ``Answer`` with a table for each setting of
the profiler. What the user names are values of parameters, and never become SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any, Literal

from ncuview.base.errors import UnknownKernel, UsageError
from ncuview.base.suggestion import did_you_mean
from ncuview.store.answer import Answer, AnswerTable, Cell, Settings
from ncuview.store.names import parts_of
from ncuview.store.opened import Store

By = Literal["gpu", "shape", "rank"]
SETTINGS = ("clock_control", "cache_control", "replay_mode")
SHAPE = "concat_ws('x', grid_x, grid_y, grid_z) AS grid, concat_ws('x', block_x, block_y, block_z) AS block"
SPLIT = (
    "Launches of different clock control, cache control or replay are not comparable: they stand in separate tables."
)
_COMPARED: Mapping[By, str] = {
    "gpu": f"name, {SHAPE}, gpu, launches, time_ns, ratio",
    "shape": f"gpu, name, {SHAPE}, launches, time_ns, ratio, ns_per_block",
    "rank": f"gpu, name, {SHAPE}, rank, launches, time_ns, ratio",
}
_RATIOS: Mapping[By, str] = {
    "gpu": "ratio: the time over that of the fastest GPU model.",
    "shape": "ratio: the time over that of the fastest configuration.",
    "rank": "ratio: the time over the median of the ranks.",
}
OF_NAME = "kernel IN $kernels AND $given IN (kernel, function, function || coalesce(template_arguments, ''), demangled)"
"""The launches of a kernel that is named with or without namespaces, template arguments and parameters."""
_MANY = 1_000
"""From this limit on all rows are ordered."""
_OF_KERNEL = "$given IN (kernel, function, name)"


def top(store: Store, limit: int) -> Answer:
    """Which kernels and calls take the GPU time, and which advice saves most of it.

    Args:
        store: The store.
        limit: The most rows of a table; 0 for all.
    """
    kernels = "name, gpu, launches, time_ns, share, saved_ns, rule"
    calls = "file, line, function, operator, gpu, launches, time_ns, share"
    advice = "rule, optimization, about, gpu, findings, saved_ns, most_in"
    source = store.kept("advised", "FROM advised")
    of_kernels, of_advice = f"top_kernels_of('{source}')", f"top_advice_of('{source}')"
    return _answer(
        "top",
        [
            *_tables(store, "kernels by GPU time", of_kernels, kernels, "time_ns", "name, gpu", limit),
            *_tables(store, "calls by GPU time", "top_calls", calls, "time_ns", "file, line, gpu", limit),
            *_tables(store, "advice by saved time", of_advice, advice, "saved_ns", "rule, gpu", limit),
        ],
    )


def compare(store: Store, by: By, kernel: str | None, limit: int) -> Answer:
    """The same kernel on GPU models, in configurations, or on ranks: the kernels that take most time first.

    Args:
        store: The store.
        by: What differs.
        kernel: One kernel by its name; None for all.
        limit: The most rows of a table; 0 for all.

    Raises:
        UnknownKernel: No launch has this name.
    """
    if kernel is None:
        values: dict[str, Any] = {}
        view, where, size = f"compare_{by}_of(NULL, nullif($most, 0))", "true", "any_value(of_settings)"
    else:
        values = names_of(kernel)
        count = f"SELECT count(*) FROM launches WHERE {OF_NAME}"  # noqa: S608  (a constant)
        if store.rows(store.sql(count, **values)) == [(0,)]:
            raise unknown_kernel(store, kernel)
        view, where, size = f"compare_{by}_of($kernels, NULL)", _OF_KERNEL, "count(*)"
    ties = "name, grid_x, grid_y, grid_z, block_x, block_y, block_z, gpu, time_ns" + ", rank" * (by == "rank")
    found = list(_tables(store, f"by {by}", view, _COMPARED[by], "group_ns", ties, limit, where, values, size))
    return _answer(f"compare --by {by}", found, _RATIOS[by])


def outliers(store: Store, limit: int) -> Answer:
    """Launches whose time is far from that of the others of the same kernel, code and configuration.

    Args:
        store: The store.
        limit: The most rows of a table; 0 for all.
    """
    columns = f"name, gpu, {SHAPE}, time_ns, usual_ns, ratio, of_launches, point, rank, report, launch"
    title, by = "launches far from their kernel's others", "abs(time_ns - usual_ns)"
    return _answer("outliers", _tables(store, title, "outliers", columns, by, "report, launch", limit))


def unprofiled(store: Store, limit: int) -> Answer:
    """Kernels that were launched on a GPU model but never judged there, and reports of which a part is missing.

    Args:
        store: The store.
        limit: The most rows of a table; 0 for all.
    """
    columns = "name, gpu, owner, launches, time_ns, share, why"
    found = list(_tables(store, "kernels that were never judged", "unprofiled", columns, "time_ns", "name, gpu", limit))
    damaged = [(added.name, added.damage) for added in store.damaged]
    if damaged:
        shown = damaged[: limit or None]
        title = "reports of which launches may be missing"
        found.append(AnswerTable(title, None, ("name", "damage"), tuple(shown), len(damaged) - len(shown)))
    return _answer("unprofiled", found)


def sql(store: Store, query: str, limit: int) -> Answer:
    """The answer to a query of the user's, which may only read.

    Args:
        store: The store.
        query: One SELECT of DuckDB over the tables and views.
        limit: The most rows; 0 for all.

    Raises:
        UsageError: The query does something else, or DuckDB refuses it.
    """
    import duckdb

    try:
        query.encode()  # DuckDB takes no lone surrogates
        asked = store.sql(query)
        columns = tuple(asked.columns)
        rows = store.rows(asked.limit(limit + 1) if limit else asked)
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise UsageError(
            f"the query cannot be answered: {error}", hint="docs/reference/store.md has the tables and views."
        ) from error
    shown = tuple(tuple(map(cell, row)) for row in rows[: limit or None])
    return Answer("sql", (AnswerTable("", None, columns, shown, -1 if len(rows) > len(shown) else 0),))


def names_of(kernel: str) -> dict[str, Any]:
    """The parameters of ``OF_NAME``: the kernel's name, and what its bare name may be.

    One bare name is compared as the files are read; of several, DuckDB would read all columns first.
    """
    given = kernel.encode("utf-8", "replace").decode()  # DuckDB takes no lone surrogates
    return {"given": given, "kernels": sorted({given, parts_of(given).function.rpartition("::")[2] or given})}


def unknown_kernel(store: Store, kernel: str) -> UnknownKernel:
    """The error that no launch has this name, with the one that is most like it."""
    known = [name for (name,) in store.rows(store.sql("SELECT DISTINCT kernel FROM launches ORDER BY ALL"))]
    return UnknownKernel(
        f"no launch in the store is of the kernel {kernel}",
        hint=did_you_mean(kernel, known, "`ncuview store top` has the kernels of most GPU time."),
    )


def _answer(question: str, tables: Iterator[AnswerTable] | list[AnswerTable], *notes: str) -> Answer:
    found = tuple(tables)
    split = [SPLIT] if len({table.settings for table in found if table.settings}) > 1 else []
    return Answer(question, found, (*split, *(notes if found else ())))


def _tables(
    store: Store,
    title: str,
    view: str,
    columns: str,
    by: str,
    ties: str,
    limit: int,
    where: str = "true",
    values: Mapping[str, Any] | None = None,
    size: str = "count(*)",
) -> Iterator[AnswerTable]:
    """A table for each setting, from constants of this module; only ``values`` come from the user.

    Those with the largest ``by`` come first. Rows that are not among them are left out before the others are ordered,
    some of them by the view already; ``size`` is how many rows of the same settings there are.
    """
    settings = ", ".join(SETTINGS)
    place = f"row_number() OVER (PARTITION BY {settings} ORDER BY {by} DESC NULLS LAST, {ties})"
    least = f"CASE WHEN count({by}) >= $most THEN list_last(max({by}, $most)) END" if 0 < limit < _MANY else "NULL"
    same = " AND ".join(f"found.{name} IS NOT DISTINCT FROM sizes.{name}" for name in SETTINGS)
    found = store.sql(
        f"WITH found AS MATERIALIZED (SELECT * FROM {view} WHERE {where}), sizes AS MATERIALIZED ("  # noqa: S608
        f"SELECT {settings}, {size} AS rows_of_settings, {least} AS least FROM found GROUP BY ALL) "
        f"SELECT {settings}, rows_of_settings, {columns} "
        f"FROM (SELECT found.*, rows_of_settings FROM found JOIN sizes ON {same} WHERE least IS NULL OR {by} >= least) "
        f"QUALIFY $most = 0 OR {place} <= $most ORDER BY rows_of_settings DESC, {settings}, {place}",
        most=limit,
        **(values or {}),
    )
    names = tuple(found.columns[len(SETTINGS) + 1 :])
    for of, rows in groupby(store.rows(found), lambda row: row[: len(SETTINGS)]):
        members = list(rows)
        cells = tuple(tuple(map(cell, row[len(SETTINGS) + 1 :])) for row in members)
        yield AnswerTable(title, Settings(*of), names, cells, members[0][len(SETTINGS)] - len(members))


def cell(value: Any) -> Cell:
    """A value of DuckDB as one that every format has: times in ISO 8601, lists and maps as text."""
    if value is None or isinstance(value, str | int | float):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)
