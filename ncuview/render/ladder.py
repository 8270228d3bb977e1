"""A family's ladder as a table: time, bandwidth, wall, advice, and what was promised beside what was got."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from ncuview.model import Ladder, Rung
from ncuview.render.terminal import duration, page_console, page_text, provenance, wall_words

_COLUMNS = ("rung", "time", "GB/s", "wall", "advice", "promised", "got", "with")
_RIGHT = frozenset({"time", "GB/s", "promised", "got"})
_NARROW = 100


def ladder_page(ladder: Ladder, *, width: int, color: bool) -> str:
    """The table, and under it what its columns mean."""
    console = page_console(width, color=color)
    launches = tuple(rung.diagnosis for rung in ladder.rungs)
    console.print(provenance(ladder.reports, launches, ladder.remark), style="dim")
    console.print()
    table = Table(box=None, padding=(0, 1 if width < _NARROW else 2, 0, 0))
    for name in _COLUMNS:
        table.add_column(name, justify="right" if name in _RIGHT else "left", overflow="fold")
    for rung in ladder.rungs:
        table.add_row(*_cells(rung))
    console.print(table)
    console.print()
    console.print(
        "promised: gain of the first advice. got: measured gain of the kernel that applies it, in bandwidth where"
        " its sizes differ.",
        style="dim",
    )
    return page_text(console)


def _cells(rung: Rung) -> list[Text]:
    launch = rung.diagnosis
    advice = launch.findings[0] if launch.findings else None
    cells = [
        rung.kernel,
        duration(launch.duration_ns),
        f"{rung.useful_bandwidth:,.3g}" if rung.useful_bandwidth < 100 else f"{rung.useful_bandwidth:,.0f}",
        wall_words(launch),
        advice.optimization if advice else launch.verdict,
        f"{advice.predicted_speedup.best:,.2f}x" if advice else "",
        f"{rung.measured_speedup:,.2f}x" if rung.measured_speedup else "",
        rung.better,
    ]
    return [Text(cell) for cell in cells]
