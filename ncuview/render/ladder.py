"""A family's ladder as a table: time, bandwidth, wall, advice, and what was promised beside what was got."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from ncuview.model import Ladder, Rung
from ncuview.render.terminal import page_console, page_text
from ncuview.render.text import safe_text
from ncuview.render.words import LADDER_MEANING, duration, factor, provenance, textbook_notes, wall_words

_COLUMNS = ("#", "kernel", "time", "rate", "document", "wall", "first advice", "promised", "got", "by")
_RIGHT = frozenset({"#", "time", "rate", "promised", "got", "by"})
_LEFT_OUT_BELOW = {
    116: frozenset({"document"}),
    96: frozenset({"rate"}),
    72: frozenset({"wall"}),
    62: frozenset({"time", "by"}),
}
"""Columns that a terminal narrower than this does without."""
_FOLDS_ADVICE_BELOW = 54
_ROUND_FROM = 100
_DOCUMENT = " document: the document's own figure, and its GPU."


def ladder_page(ladder: Ladder, *, width: int, color: bool) -> str:
    """The table, and under it what its columns mean."""
    console = page_console(width, color=color)
    launches = tuple(rung.diagnosis for rung in ladder.rungs)
    console.print(provenance(ladder.reports, launches, ladder.remark), style="dim")
    console.print()
    console.print(_table(ladder, width))
    console.print()
    for note in textbook_notes(ladder):
        console.print(Text(safe_text(note)))
        console.print()
    console.print(LADDER_MEANING + (_DOCUMENT if _reported(ladder) else ""), style="dim")
    return page_text(console)


def _table(ladder: Ladder, width: int) -> Table:
    left_out = frozenset().union(*(columns for limit, columns in _LEFT_OUT_BELOW.items() if width < limit))
    left_out |= frozenset() if _reported(ladder) else {"document"}
    shown = [name for name in _COLUMNS if name not in left_out]
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in shown:
        justify = "right" if name in _RIGHT else "left"
        folds = name == "kernel" or (name == "first advice" and width < _FOLDS_ADVICE_BELOW)
        table.add_column(name, justify=justify, no_wrap=not folds, overflow="fold")  # type: ignore[arg-type]
    numbers = {rung.kernel: rung.rung for rung in ladder.rungs}
    for rung in ladder.rungs:
        cells = rung_cells(rung, numbers)
        table.add_row(*(Text(safe_text(cells[name])) for name in shown))
    return table


def rung_cells(rung: Rung, numbers: Mapping[str, int]) -> dict[str, str]:
    """What a table says of a rung, by column.

    Args:
        rung: The rung.
        numbers: Kernel -> the number of its rung on this ladder; one that is not there is called by its name.
    """
    launch = rung.diagnosis
    advice = launch.findings[0] if launch.findings else None
    gain = advice.predicted_speedup if advice else None
    return {
        "#": str(rung.rung),
        "kernel": rung.kernel,
        "time": duration(launch.whole_ns),
        "rate": _rate(rung),
        "document": rung.reported,
        "wall": wall_words(launch),
        "first advice": advice.optimization if advice else launch.verdict,
        "promised": factor(gain.best) if gain else "",
        "low to high": f"{factor(gain.low)} to {factor(gain.high)}" if gain else "",
        "got": factor(rung.measured_speedup) if rung.measured_speedup else "",
        "by": f"#{numbers[rung.better]}" if rung.better in numbers else rung.better,
    }


def _rate(rung: Rung) -> str:
    """Useful work per second: ``3,786 GB/s``, ``8.3 GFLOP/s``."""
    digits = f"{rung.useful_rate:,.0f}" if rung.useful_rate >= _ROUND_FROM else f"{rung.useful_rate:,.3g}"
    return f"{digits} {rung.rate_unit}"


def _reported(ladder: Ladder) -> bool:
    return any(rung.reported for rung in ladder.rungs)
