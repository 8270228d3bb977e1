"""Terminal page of a ``Ladder`` (``ladder_page``): a table of its steps with bottleneck, predicted and measured gain.

``step_cells`` returns the cells of one step by column, for other pages too.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.padding import Padding
from rich.text import Text

from ncuview.base.figures import duration, factor
from ncuview.records.ladder import Ladder, LadderStep
from ncuview.render.fitted_table import Column, fits, print_table
from ncuview.render.terminal import page_console, page_text
from ncuview.render.text import safe_text
from ncuview.render.words import bottleneck_words, ladder_meaning, notes_title, provenance, textbook_notes

_NUMBER = Column("#", right=True)
_STEP = (
    _NUMBER,
    Column("kernel", least=18),
    Column("time", right=True),
    Column("rate", right=True),
    Column("bottleneck"),
)
_ADVICE = (
    Column("first advice"),
    Column("predicted", right=True),
    Column("low to high", right=True),
    Column("measured", right=True),
    Column("by", right=True),
)
_REPORTED = (_NUMBER, Column("document", least=22))
HTML_COLUMNS = (
    "#",
    "kernel",
    "time",
    "rate",
    "bottleneck",
    "first advice",
    "predicted",
    "low to high",
    "measured",
    "by",
)
HTML_NUMBERS = frozenset({"#", "time", "rate", "predicted", "low to high", "measured", "by"})
"""The columns of the HTML pages, which have the bounds of a prediction and no figure of the document."""
_ROUND_FROM = 100
_DOCUMENT = " document: the document's own figure, on the GPU that it names."


def ladder_page(ladder: Ladder, *, width: int, color: bool, bounds: bool = False) -> str:
    """The table with a line per step, in two parts where it does not fit; below it the meaning of its columns.

    With ``bounds`` it has those of the predictions.
    """
    console = page_console(width, color=color)
    launches = tuple(step.diagnosis for step in ladder.steps)
    console.print(provenance(ladder.reports, launches, ladder.remark), style="dim")
    console.print()
    numbers = {step.kernel: step.number for step in ladder.steps}
    cells = [step_cells(step, numbers) for step in ladder.steps]
    rows = [{name: safe_text(cell) for name, cell in row.items()} for row in cells]
    advice = [each for each in _ADVICE if bounds or each.name != "low to high"]
    whole = (*_STEP, *advice)
    reported = [row for row in rows if row["document"]]
    for columns in (whole,) if fits(console, whole, rows) else (_STEP, (_NUMBER, *advice)):
        print_table(console, columns, rows)
        console.print()
    if reported:
        print_table(console, _REPORTED, reported)
        console.print()
    if notes := textbook_notes(ladder):
        console.print(Text(safe_text(f"{notes_title(ladder)}:")))
        for note in notes:
            console.print(Padding(Text(safe_text(note)), (0, 0, 0, 2)))
        console.print()
    console.print(ladder_meaning(ladder) + (_DOCUMENT if reported else ""), style="dim")
    return page_text(console)


def step_cells(step: LadderStep, numbers: Mapping[str, int]) -> dict[str, str]:
    """The cells of a step, by column.

    Args:
        step: The step.
        numbers: Kernel -> the number of its step on this ladder; other kernels are shown by name.
    """
    launch = step.diagnosis
    advice = launch.findings[0] if launch.findings else None
    gain = advice.predicted_speedup if advice else None
    return {
        "#": str(step.number),
        "kernel": step.kernel,
        "time": duration(launch.whole_ns),
        "rate": _rate(step),
        "document": step.reported,
        "bottleneck": bottleneck_words(launch),
        "first advice": advice.optimization if advice else launch.verdict,
        "predicted": factor(gain.best) if gain else "",
        "low to high": gain.bounds if gain else "",
        "measured": factor(step.measured_speedup) if step.measured_speedup else "",
        "by": f"#{numbers[step.better]}" if step.better in numbers else step.better,
    }


def _rate(step: LadderStep) -> str:
    """Useful work per second: ``3,786 GB/s``, ``8.3 GFLOP/s``."""
    digits = f"{step.useful_rate:,.0f}" if step.useful_rate >= _ROUND_FROM else f"{step.useful_rate:,.3g}"
    return f"{digits} {step.rate_unit}"
