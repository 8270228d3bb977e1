"""Terminal page of a ``Calibration`` (``calibration_page``): attainable shares of a GPU's peaks, and other figures.

Two tables: each unit with low, best and high share and its kernel, then the figures with value and kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from ncuview.records.profile import Attained, Calibration, Figure
from ncuview.render.terminal import page_console, page_text
from ncuview.render.text import safe_text


def calibration_page(calibration: Calibration, width: int) -> str:
    """GPU and date, the shares of peak, and the other figures."""
    console = page_console(width, color=False)
    console.print(safe_text(f"{calibration.device}, measured {calibration.measured}"))
    console.print()
    shares = [
        (unit, f"{share.low:.3f}", f"{share.best:.3f}", f"{share.high:.3f}", _from(share))
        for unit, share in calibration.shares.items()
    ]
    console.print(_table(("unit", "low", "best", "high", "from"), shares))
    console.print()
    figures = [(name, f"{figure.value:g}", _from(figure)) for name, figure in calibration.figures.items()]
    console.print(_table(("figure", "value", "from"), figures))
    if any(share.assumed for share in calibration.shares.values()):
        console.print()
        console.print("Values that were not measured are those that ncuview ships for this GPU, else its defaults.")
    return page_text(console)


def _from(shown: Attained | Figure) -> str:
    return f"not measured: {shown.assumed}" if shown.assumed else shown.kernel


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        number = name in {"low", "best", "high", "value"}
        table.add_column(name, justify="right" if number else "left", no_wrap=name != "from", overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe_text(cell)) for cell in row))
    return table
