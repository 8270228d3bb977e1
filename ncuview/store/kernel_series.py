"""``KernelSeries``: the launches of one kernel as series of points, the series of most time first.

A kernel may have thousands of configurations and template arguments. What is asked of all of them stays in DuckDB; the
points of the series that are shown leave it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from ncuview.store.answer import Settings
from ncuview.store.counters import KEYS, Counter, Place, counters_of
from ncuview.store.opened import Store
from ncuview.store.questions import OF_NAME, names_of, unknown_kernel
from ncuview.store.sums import TIMED
from ncuview.store.work import CYCLES, SINCE, exact_of, with_work

_KEY = (
    "clock_control, cache_control, replay_mode, gpu, function, template_arguments, "
    "grid_x, grid_y, grid_z, block_x, block_y, block_z, point, cuda_version, ncu_version"
)
_PLACE = "hash(series, point, cuda_version, ncu_version)"
"""One number for the columns of _KEY."""
_NAME_OF = "function || coalesce(template_arguments, '')"
_CODES = "list_sort(list_distinct(coalesce(list(code) FILTER ({}), [])))"
"""The distinct ones; list(DISTINCT) would group all launches once more."""
_SERIES = "clock_control, cache_control, replay_mode, gpu, name, grid, block"


class Series(NamedTuple):
    """What is compared over time."""

    settings: Settings
    gpu: str | None
    name: str
    """With namespaces and template arguments; the newest one of a kernel that was renamed."""
    grid: str
    block: str


class Point(NamedTuple):
    """What is the same for all launches of a point."""

    point: str | None
    cuda_version: str | None
    ncu_version: str | None


@dataclass(frozen=True)
class AtPoint:
    """The launches of a kernel at a point, of one series, whose time says something."""

    point: Point
    created: datetime | None
    """Of the first launch."""
    launches: int
    time_ns: float
    """The median."""
    codes: tuple[int, ...]
    """The hashes of their machine code, ascending; none where they are unknown."""
    clock: float | None
    """The median of all launches; None where it is unknown."""
    place: int
    """The number of the point in this series; see _PLACE."""


class KernelSeries:
    """The launches of the asked kernel: of the names that match, and of those that its code had at other points.

    Attributes:
        renamed: The other names, each with the name that continues it.
        count: How many series there are.
        settings: Of how many settings of the profiler.
    """

    def __init__(self, store: Store, kernel: str) -> None:
        """Find them.

        Args:
            store: The store.
            kernel: The name, with or without namespaces and template arguments.

        Raises:
            UnknownKernel: No launch has this name.
        """
        self._store, self._condition = store, OF_NAME
        self._values: dict[str, Any] = names_of(kernel)
        self._group()
        found = self._fetched(
            "SELECT kernel, function, name, list_distinct(flatten(list(all_codes))) FROM kept_points GROUP BY ALL"
        )
        if not found:
            raise unknown_kernel(store, kernel)
        names = {(kernel, name): codes for kernel, _, name, codes in found}
        of_code = {code: name for (_, name), codes in sorted(names.items(), reverse=True) for code in codes}
        others = self._others(list(of_code)) if of_code else []
        self.renamed = tuple((name, of_code[codes[0]]) for _, name, codes in others)
        if others or any(self._values["given"] not in each for *each, _ in found):
            both = [*names, *((kernel, name) for kernel, name, _ in others)]
            self._condition = f"kernel IN $kernels AND {_NAME_OF} IN $names"
            self._values = {"kernels": sorted({of for of, _ in both}), "names": sorted({name for _, name in both})}
            self._group()
        store.kept(
            "series",
            "SELECT clock_control, cache_control, replay_mode, gpu, coalesce(now, name) AS name, "
            "concat_ws('x', grid_x, grid_y, grid_z) AS grid, concat_ws('x', block_x, block_y, block_z) AS block, "
            "sum(launches * time_ns) AS time_ns, list(DISTINCT series) AS members FROM kept_points "
            "LEFT JOIN (SELECT unnest($old::VARCHAR[]) AS name, unnest($new::VARCHAR[]) AS now) USING (name) "
            "WHERE launches > 0 GROUP BY ALL",
            old=[old for old, _ in self.renamed],
            new=[new for _, new in self.renamed],
        )
        settings = "(clock_control, cache_control, replay_mode)"
        ((self.count, self.settings),) = self._fetched(f"SELECT count(*), count(DISTINCT {settings}) FROM kept_series")  # noqa: S608

    def most_costly(self, limit: int) -> dict[Series, list[AtPoint]]:
        """The series of most time, each with its points in the order of their reports; 0 for all."""
        most = f" LIMIT {limit}" if limit else ""
        found: dict[Series, list[AtPoint]] = {}
        of_member: dict[int, list[AtPoint]] = {}
        query = f"SELECT {_SERIES}, members FROM kept_series ORDER BY time_ns DESC, {_SERIES}{most}"  # noqa: S608
        for *settings, gpu, name, grid, block, members in self._fetched(query):
            points = found[Series(Settings(*settings), gpu, name, grid, block)] = []
            of_member |= dict.fromkeys(members, points)
        at_points = self._fetched(
            "SELECT series, point, cuda_version, ncu_version, created, launches, time_ns, codes, clock, place "
            "FROM kept_points WHERE launches > 0 AND series IN $members",
            members=list(of_member),
        )
        for member, point, cuda, ncu, created, launches, time_ns, codes, clock, place in at_points:
            at = AtPoint(Point(point, cuda, ncu), created, launches, time_ns, tuple(codes), clock, place)
            of_member[member].append(at)
        for points in found.values():
            points.sort(key=lambda at: (at.created is None, at.created, str(at.point.point)))
        return found

    def counters(self, series: Sequence[Sequence[AtPoint]]) -> list[list[Counter]]:
        """The exact counters of each series that do not have one value throughout."""
        launches = f"SELECT {_PLACE} AS place, work, report, launch FROM ({self._launches()})"  # noqa: S608
        places = [[Place(at.place, at.codes) for at in points] for points in series]
        return counters_of(self._store, launches, self._values, places)

    def _group(self) -> None:
        """Keep the launches of the names by point."""
        times = [f"{of} FILTER ({TIMED})" for of in ("min(created)", "count(*)", "median(duration_ns)")]
        self._store.kept(
            "points",
            f"SELECT *, {_PLACE} AS place, {_NAME_OF} AS name FROM (SELECT {_KEY}, any_value(kernel) AS kernel, "  # noqa: S608
            f"{_CODES.format('true')} AS all_codes, {times[0]} AS created, {times[1]} AS launches, "
            f"{times[2]} AS time_ns, {_CODES.format(TIMED)} AS codes, median(cycles / duration_ns) AS clock, "
            f"any_value(series) AS series FROM ({self._launches()}) GROUP BY ALL)",
            **self._values,
        )

    def _launches(self) -> str:
        """The query of the launches of the names."""
        query = f"SELECT * FROM launches WHERE {self._condition}"  # noqa: S608
        if not self._store.has_before(SINCE):
            return query
        known = set(self._store.tables.table("metrics").columns)
        return with_work(query, exact_of(known - KEYS), cycles=CYCLES in known)

    def _others(self, codes: Sequence[int]) -> list[Any]:
        """Bare name, name and codes of kernels that have the code, and are at none of the points of the asked names.

        Most kernels have none: to look for the code alone reads one column.
        """
        values = {**self._values, "codes": codes}
        with_code = f"code IN $codes AND ({OF_NAME}) IS NOT TRUE"
        if self._fetched(f"SELECT count(*) FROM launches WHERE {with_code}", **values) == [(0,)]:  # noqa: S608
            return []
        place = "coalesce(point, report::VARCHAR)"
        return self._fetched(
            f"SELECT kernel, {_NAME_OF} AS name, list(DISTINCT code) FROM launches WHERE {with_code} GROUP BY ALL "  # noqa: S608
            f"HAVING NOT bool_or({place} IN (SELECT {place} FROM launches WHERE {OF_NAME})) ORDER BY ALL",
            **values,
        )

    def _fetched(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        return self._store.rows(self._store.sql(query, **values))
