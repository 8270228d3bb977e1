"""Terminal page of ``Priorities`` (``priorities_page``): kernels ranked by the time that their first advice saves.

The first few kernels follow in full; ``bound_sentence`` gives the speedup of taking all first advice.
"""

from __future__ import annotations

from collections import Counter
from math import fsum
from typing import TYPE_CHECKING

from rich.text import Text

from ncuview.base.figures import duration, factor
from ncuview.comparison.compare import extent_words
from ncuview.engine.priority import Priorities, Priority
from ncuview.records.diagnosis import Diagnosis
from ncuview.render.fitted_table import Column, print_table
from ncuview.render.terminal import launch_section, page_console, page_text, print_head, program_section
from ncuview.render.text import safe_text
from ncuview.render.words import step_words

if TYPE_CHECKING:
    from ncuview.render.words import Detail

_COLUMNS = (
    Column("#", right=True),
    Column("kernel", least=20),
    Column("grid, block"),
    Column("runs", right=True),
    Column("time", right=True),
    Column("each launch", moves=True),
    Column("share", right=True),
    Column("first advice"),
    Column("gain", right=True),
    Column("saves", right=True),
)
_UNEVEN = 1.1
"""From this ratio of the longest to the shortest launch, both times are shown."""


def priorities_page(
    diagnosis: Diagnosis,
    ranked: Priorities,
    *,
    listed: int,
    full: int,
    width: int,
    color: bool,
    detail: Detail = "normal",
) -> str:
    """A table of the first ``listed`` kernels, the bound for all together, and the first ``full`` kernels in full."""
    console = page_console(width, color=color)
    print_head(console, diagnosis)
    if diagnosis.program:
        program_section(console, diagnosis.program)
    console.print()
    ambiguous = ambiguous_names(ranked)
    rows = [
        _cells(rank, group, by_types=group.kernel in ambiguous)
        for rank, group in enumerate(ranked.groups[:listed], start=1)
    ]
    print_table(console, _COLUMNS, rows)
    if others := ranked.groups[listed:]:
        share = fsum(group.share for group in others)
        console.print(f"and {len(others):,} more with {share:.0%} of the time; --top N shows more")
    console.print()
    console.print(Text(bound_sentence(ranked)))
    for note in _notes(ranked):
        console.print(Text(note), style="yellow")
    own = [group for group in ranked.groups if not (diagnosis.program and group.example.verdict == "not-yours")]
    for group in own[:full]:
        console.print()
        launch_section(console, group.example, detail)
    return page_text(console)


def bound_sentence(ranked: Priorities) -> str:
    """The gain of taking all first advice, in one sentence."""
    total = f"Together they take {duration(ranked.total_ns)}"
    if ranked.saved.best <= 0:
        known = [group for group in ranked.groups if group.example.verdict not in {"not-judged", "not-yours"}]
        return f"{total}, and no advice saves any of it." if known else f"{total}."
    gain = ranked.speedup
    return (
        f"{total}; with all first advice for kernels taken {duration(ranked.left_ns)} are left,"
        f" {factor(gain.best)} faster ({gain.bounds}). The first alone gains {factor(_alone(ranked))}. The time"
        " between the kernels of the program is not included."
    )


def _alone(ranked: Priorities) -> float:
    """Amdahl's bound when only the first group takes its advice."""
    return ranked.total_ns / (ranked.total_ns - ranked.groups[0].saved.best)


def ambiguous_names(ranked: Priorities) -> set[str]:
    """Kernels with several templates or overloads, which need their types to be distinguished."""
    names = Counter(name for name, _ in {(group.kernel, group.demangled) for group in ranked.groups})
    return {name for name, count in names.items() if count > 1}


def _cells(rank: int, group: Priority, *, by_types: bool) -> dict[str, str]:
    advice = group.advice
    cells = {
        "#": str(rank),
        "kernel": group.demangled if by_types else group.kernel,
        "grid, block": f"{extent_words(group.grid)}, {extent_words(group.block)}",
        "runs": f"{group.launches:,}",
        "time": duration(group.time_ns),
        "each launch": _range_words(group),
        "share": f"{group.share:.0%}",
        "first advice": advice.optimization if advice else step_words(group.example, with_time=False),
        "gain": factor(group.predicted_speedup.best) if advice else "",
        "saves": duration(group.saved.best) if advice else "",
    }
    return {name: safe_text(cell) for name, cell in cells.items()}


def _range_words(group: Priority) -> str:
    """The range of single launches' times, where it is wide."""
    if group.profiled < 2 or not group.longest_ns > group.shortest_ns * _UNEVEN:
        return ""
    return f"{duration(group.shortest_ns)} to {duration(group.longest_ns)}"


def _notes(ranked: Priorities) -> list[str]:
    """The launches that the total leaves out."""
    notes = []
    if ranked.untimed:
        notes.append(f"{ranked.untimed:,} launches are not in these times: their durations were not collected.")
    if ranked.unprofiled:
        notes.append(
            f"{ranked.unprofiled:,} launches are not in these times: no launch of their configuration was profiled."
        )
    return notes
