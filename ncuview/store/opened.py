"""``Store``: the reports of a store at the moment of opening, asked by SQL through DuckDB.

Each table is a view over the Parquet files of the published batches, so that a question reads only the columns, months
and row groups that it needs, and memory does not grow with the store. Queries can read the store and nothing else.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.util import find_spec
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Self, get_args
from weakref import finalize

from ncuview.base.errors import ReportDamaged, ReportEmpty, ToolError, UsageError
from ncuview.store.batches import FILE_ENDING, Added, Batch, Contents, contents_of
from ncuview.store.place import WITHOUT_EXTRA, Place, place_of
from ncuview.store.schema import SQL_TYPES, TABLE, TableName
from ncuview.store.series import SINCE as SERIES_SINCE
from ncuview.store.series import with_series
from ncuview.store.sums import SINCE as SUMS_SINCE
from ncuview.store.sums import added_up
from ncuview.store.versions import upgraded

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

_NAME = re.compile(r"\w+")
_MADE = re.compile(r"CREATE OR REPLACE (?:VIEW|MACRO) (\w+)")
MOST_MEMORY = "1500MB"
"""What DuckDB takes at most; larger intermediate results go to a private temporary folder."""


class Store:
    """The reports of a store at the moment of opening; what is added later is not in it.

    Attributes:
        name: The folder or URL.
        tables: DuckDB's connection, with a view for each table of ``ncuview.store.schema``.
    """

    def __init__(self, place: Place, contents: Contents) -> None:
        require_libraries()
        import duckdb

        self.name = place.name
        self._place, self._contents, self._unmade = place, contents, dict(_views())
        spilled = tempfile.mkdtemp(prefix="ncuview-")
        self._remove_spilled = finalize(self, rmtree, spilled, ignore_errors=True)
        self.tables = _connection(place, spilled)
        try:
            self._make_tables(place)
        except duckdb.Error as error:
            self.close()
            raise _damaged(place.name, error) from error
        self.tables.execute("SET lock_configuration = true")

    def _make_tables(self, place: Place) -> None:
        for table in TABLE:
            query = _query(place, self._contents, table) or _no_rows(table)
            self.tables.execute(f"CREATE VIEW {table} AS {query}")

    def _make_views(self, query: str) -> None:
        """Make the views of ``views.sql`` that a query names, with those that they name.

        To make all of them takes longer than a small answer.
        """
        for name in _NAME.findall(query.lower()):
            if statement := self._unmade.pop(name, ""):
                try:
                    self._make_views(statement)
                    self.tables.execute(statement)
                except Exception:  # a damaged file: the next query that names the view must say so too
                    self._unmade[name] = statement
                    raise

    @property
    def reports(self) -> tuple[Added, ...]:
        """The reports, in the order in which they were added."""
        return tuple(self._contents.reports.values())

    @property
    def damaged(self) -> tuple[Added, ...]:
        """The reports of which something could not be read, and why."""
        return self._contents.damaged

    def has_before(self, version: int) -> bool:
        """Whether a batch is of a version of the tables before this one."""
        return any(batch.version < version for batch in self._contents.batches)

    def of_reports(self, table: TableName, reports: Collection[int]) -> str:
        """The query of a table that reads no files but those of batches with these reports."""
        wanted = set(reports)
        batches = (each for each in self._contents.batches if any(report.report in wanted for report in each.reports))
        return _query(self._place, Contents(batches), table) or _no_rows(table)

    def sql(self, query: str, **values: Any) -> duckdb.DuckDBPyRelation:
        """The answer to a query, which is computed when its rows are asked for: ``.df()``, ``.fetchall()`` ...

        Args:
            query: One query of DuckDB's SQL over the tables; ``$name`` stands for a value.
            values: The values, which never become SQL.

        Raises:
            UsageError: It is no query alone, or DuckDB refuses it.
            ReportDamaged: A file of the store is damaged; where DuckDB finds that as rows are asked for, it raises an
                error of its own, and ``rows`` this one.
        """
        import duckdb

        try:
            kinds = [statement.type for statement in self.tables.extract_statements(query)]
            if kinds == [duckdb.StatementType.SELECT]:
                self._make_views(query)
                return self.tables.sql(query, params=values or None)
        except duckdb.Error as error:
            if _is_damage(error):
                raise _damaged(self.name, error) from error
            raise UsageError(
                f"the query cannot be answered: {error}", hint="docs/reference/store.md has the tables."
            ) from error
        raise UsageError("a store answers one query at a time, and changes nothing", hint="Write one SELECT.")

    def kept(self, name: str, query: str, **values: Any) -> str:
        """The name of a table with the rows of a query, for several questions; the next one of that name replaces it.

        Args:
            name: What it holds.
            query: The query; ``$name`` stands for a value.
            values: The values.

        Raises:
            ReportDamaged: A file of the store is damaged.
        """
        import duckdb

        try:
            self._make_views(query)
            self.tables.execute(f"CREATE OR REPLACE TEMP TABLE kept_{name} AS {query}", values or None)
        except duckdb.Error as error:
            if _is_damage(error):
                raise _damaged(self.name, error) from error
            raise
        return f"kept_{name}"

    def rows(self, asked: duckdb.DuckDBPyRelation) -> list[tuple[Any, ...]]:
        """The rows of an answer.

        Raises:
            ReportDamaged: A file of the store is damaged.
            duckdb.Error: They cannot be computed for another reason.
        """
        import duckdb

        try:
            return asked.fetchall()
        except duckdb.Error as error:
            if _is_damage(error):
                raise _damaged(self.name, error) from error
            raise

    def arrow(self, table: TableName) -> pa.Table:
        """A complete table in Arrow."""
        return self._all(table).to_arrow_table()

    def frame(self, table: TableName) -> pd.DataFrame:
        """A complete table as a DataFrame."""
        frame: pd.DataFrame = self._all(table).df()
        return frame

    def _all(self, table: TableName) -> duckdb.DuckDBPyRelation:
        if table not in get_args(TableName):
            raise UsageError(f"a store has no table {table!r}", hint=f"There are {', '.join(get_args(TableName))}.")
        return self.tables.table(table)

    def close(self) -> None:
        """Close the connection, and remove what did not fit into memory."""
        self.tables.close()
        self._remove_spilled()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(name: str) -> Store:
    """Open a store.

    Raises:
        UsageError: The name is that of no store.
        ReportUnreadable: It cannot be read.
        ReportDamaged: A part of it is damaged.
        ReportEmpty: There is no store.
        ToolError: DuckDB, or for a URL fsspec, is not installed.
    """
    place = place_of(name)
    contents = contents_of(place)
    if not contents.batches:
        raise ReportEmpty(f"{name} is no store", hint="ncuview store add REPORT... --to STORE makes one.")
    return Store(place, contents)


def require_libraries() -> None:
    """Check that what stores need is installed, before any work is done.

    Raises:
        ToolError: DuckDB or pyarrow is missing.
    """
    for name in ("duckdb", "pyarrow"):
        if find_spec(name) is None:
            raise ToolError(f"a store needs {name}, which is not installed", hint=WITHOUT_EXTRA)


def _is_damage(error: duckdb.Error) -> bool:
    """Whether DuckDB could not read a file: it names it, or its reader of Parquet raises an error of no kind."""
    import duckdb

    return type(error) is duckdb.Error or isinstance(error, duckdb.IOException) or FILE_ENDING in str(error)


def _damaged(name: str, error: duckdb.Error) -> ReportDamaged:
    return ReportDamaged(
        f"{name}: a file of the store cannot be read: {error}",
        hint="Restore it from a backup, or add the reports to a new store.",
    )


def _connection(place: Place, spilled: str) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MOST_MEMORY, "temp_directory": spilled})
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
        connection.execute(f"SET {setting} = false")
    if place.filesystem is not None:
        connection.register_filesystem(place.filesystem)
    connection.execute("SET parquet_metadata_cache = true")
    connection.execute(f"SET allowed_directories = [{_quoted(place.full_name(''))}]")
    connection.execute("SET enable_external_access = false")
    return connection


def _query(place: Place, contents: Contents, table: TableName) -> str | None:
    """The query of a table's rows; None where no batch has any."""
    if table != "sums":
        return _rows(place, contents, table, contents.batches)
    has = {batch.id for batch in contents.batches if batch.version >= SUMS_SINCE} - contents.twice.keys()
    added = _rows(place, contents, "sums", [batch for batch in contents.batches if batch.id in has])
    others = _rows(place, contents, "launches", [batch for batch in contents.batches if batch.id not in has])
    return _union(filter(None, (added, others and added_up(others))))


def _rows(place: Place, contents: Contents, table: TableName, batches: Iterable[Batch]) -> str | None:
    """The query of the rows of some batches.

    Files with the same columns are read together, those of a batch with reports that an earlier batch holds apart.
    """
    together: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for batch in batches:
        hidden = contents.twice.get(batch.id, frozenset())
        for file in batch.files:
            if file.table == table:
                together[batch.version, file.metrics, hidden].append(place.full_name(file.name))
    query = _union(upgraded(_read(files, hidden), table, version) for (version, _, hidden), files in together.items())
    older = any(batch.version < SERIES_SINCE for batch in contents.batches)
    return with_series(query) if query and older and table in ("launches", "sums") else query


def _union(parts: Iterable[str]) -> str | None:
    return " UNION ALL BY NAME ".join(f"({part})" for part in parts) or None


def _no_rows(table: TableName) -> str:
    columns = (f"NULL::{SQL_TYPES[column.type]} AS {column.name}" for column in TABLE[table].columns)
    return f"SELECT {', '.join(columns)} WHERE false"


def _read(files: Iterable[str], hidden: frozenset[int]) -> str:
    listed = ", ".join(map(_quoted, files))
    where = f" WHERE report NOT IN ({', '.join(map(str, sorted(hidden)))})" if hidden else ""
    return f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false){where}"  # noqa: S608  (quoted)


@cache
def _views() -> Mapping[str, str]:
    """The statements of ``views.sql``, by the names of what they make."""
    text = resources.files(__package__).joinpath("views.sql").read_text(encoding="utf-8")
    statements = re.split(r"^(?=CREATE )", re.sub("--.*", "", text), flags=re.MULTILINE)[1:]
    return {_MADE.match(each)[1]: each for each in statements}  # type: ignore[index]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
