"""Which kernel first: a table of kernels by the time that their first advice saves, and what all of it brings."""

from __future__ import annotations

from collections import Counter

from rich.table import Table
from rich.text import Text

from ncuview.diagnose.compare import extent_words
from ncuview.diagnose.priority import Priorities, Priority
from ncuview.model import Diagnosis
from ncuview.render.terminal import launch_section, page_console, page_text, print_head
from ncuview.render.text import safe_text
from ncuview.render.words import duration, factor

_COLUMNS = ("#", "kernel", "grid, block", "runs", "time", "share", "first advice", "gain", "saves")
_RIGHT = frozenset({"#", "runs", "time", "share", "gain", "saves"})
_LEFT_OUT_BELOW = {
    100: frozenset({"time"}),
    72: frozenset({"grid, block"}),
    56: frozenset({"runs", "share", "gain"}),
}
"""Columns that a terminal narrower than this does without."""
_FOLDS_ADVICE_BELOW = 48
_UNEVEN = 1.1
"""From this ratio of the longest to the shortest launch on, both are shown."""


def priorities_page(diagnosis: Diagnosis, ranked: Priorities, *, top: int, width: int, color: bool) -> str:
    """The table, the bound for all kernels together, and the most worthwhile ``top`` kernels in full."""
    console = page_console(width, color=color)
    print_head(console, diagnosis)
    console.print()
    console.print(_table(ranked, width))
    console.print()
    console.print(Text(bound_sentence(ranked)))
    for note in _notes(ranked):
        console.print(Text(note), style="yellow")
    for group in ranked.groups[:top]:
        console.print()
        launch_section(console, group.example)
    return page_text(console)


def bound_sentence(ranked: Priorities) -> str:
    """What taking all first advice brings, in one sentence."""
    total = f"Together they take {duration(ranked.total_ns)}"
    if ranked.saved.best <= 0:
        known = [group for group in ranked.groups if group.example.verdict not in {"not-judged", "not-yours"}]
        return f"{total}, and no advice takes any of it away." if known else f"{total}."
    gain = ranked.speedup
    return (
        f"{total}; with all first advice taken {duration(ranked.left_ns)} are left, {factor(gain.best)} faster"
        f" ({factor(gain.low)} to {factor(gain.high)}). The first alone brings {factor(_alone(ranked))}. What the"
        " program does between its kernels stays as it is."
    )


def _alone(ranked: Priorities) -> float:
    """Amdahl's bound when the first group takes its advice and the others stay as they are."""
    return ranked.total_ns / (ranked.total_ns - ranked.groups[0].saved.best)


def _table(ranked: Priorities, width: int) -> Table:
    left_out = frozenset().union(*(columns for limit, columns in _LEFT_OUT_BELOW.items() if width < limit))
    shown = [name for name in _COLUMNS if name not in left_out]
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in shown:
        justify = "right" if name in _RIGHT else "left"
        folds = name == "kernel" or (name == "first advice" and width < _FOLDS_ADVICE_BELOW)
        table.add_column(name, justify=justify, no_wrap=not folds, overflow="fold")  # type: ignore[arg-type]
    ambiguous = _ambiguous(ranked)
    for rank, group in enumerate(ranked.groups, start=1):
        cells = _cells(rank, group, by_types=group.kernel in ambiguous)
        table.add_row(*(Text(safe_text(cells[name])) for name in shown))
    return table


def _ambiguous(ranked: Priorities) -> set[str]:
    """Kernels of which several templates or overloads were launched, so that the bare name does not tell them apart."""
    names = Counter(name for name, _ in {(group.kernel, group.demangled) for group in ranked.groups})
    return {name for name, count in names.items() if count > 1}


def _cells(rank: int, group: Priority, *, by_types: bool) -> dict[str, str]:
    advice = group.advice
    return {
        "#": str(rank),
        "kernel": group.demangled if by_types else group.kernel,
        "grid, block": f"{extent_words(group.grid)}, {extent_words(group.block)}",
        "runs": f"{group.launches:,}",
        "time": _time_words(group),
        "share": f"{group.share:.0%}",
        "first advice": advice.optimization if advice else group.example.verdict,
        "gain": factor(group.promise.best) if advice else "",
        "saves": duration(group.saved.best) if advice else "",
    }


def _time_words(group: Priority) -> str:
    """The time of all launches, and how far single ones differ where they do."""
    if group.profiled < 2 or not group.longest_ns > group.shortest_ns * _UNEVEN:
        return duration(group.time_ns)
    return f"{duration(group.time_ns)} ({duration(group.shortest_ns)} to {duration(group.longest_ns)} each)"


def _notes(ranked: Priorities) -> list[str]:
    """What the total leaves out."""
    notes = []
    if ranked.untimed:
        notes.append(f"{ranked.untimed:,} launches are not in these times: their durations were not collected.")
    if ranked.unprofiled:
        notes.append(
            f"{ranked.unprofiled:,} launches are not in these times: none of their configuration was profiled."
        )
    return notes
