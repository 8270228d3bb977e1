"""Terminal pages of ``ncuview calibrate``: ``calibration_page`` of a ``Calibration``, ``spread_page`` of ``Spreads``.

A calibration has two tables: each unit with low, best and high share and its kernel, then the figures with value and
kernel. The spread of each kernel's time and counters is a table per GPU.
"""

from __future__ import annotations

from rich.table import Column
from rich.text import Text

from ncuview.gate.spread import KernelSpread, Spreads
from ncuview.records.profile import Attained, Calibration, Figure
from ncuview.render.terminal import page_console, page_text, plain_table
from ncuview.render.text import safe_text
from ncuview.render.words import kernel_words

_MOST_NAMES = 4


def calibration_page(calibration: Calibration, width: int) -> str:
    """GPU and date, the shares of peak, and the other figures."""
    console = page_console(width, color=False)
    console.print(safe_text(f"{calibration.device}, measured {calibration.measured}"))
    console.print()
    shares = [
        (unit, f"{share.low:.3f}", f"{share.best:.3f}", f"{share.high:.3f}", _from(share))
        for unit, share in calibration.shares.items()
    ]
    console.print(plain_table(map(_column, ("unit", "low", "best", "high", "from")), shares))
    console.print()
    figures = [(name, f"{figure.value:g}", _from(figure)) for name, figure in calibration.figures.items()]
    console.print(plain_table(map(_column, ("figure", "value", "from")), figures))
    if any(share.assumed for share in calibration.shares.values()):
        console.print()
        console.print("Values that were not measured are those that ncuview ships for this GPU, else its defaults.")
    return page_text(console)


def _from(shown: Attained | Figure) -> str:
    return f"not measured: {shown.assumed}" if shown.assumed else shown.kernel


def _column(name: str) -> Column:
    number = name in {"low", "best", "high", "value"}
    return Column(name, justify="right" if number else "left", no_wrap=name != "from", overflow="fold")


def spread_page(spreads: Spreads, width: int) -> str:
    """A table for each GPU."""
    console = page_console(width, color=False)
    for gpu, kernels in spreads.gpus.items():
        console.print(Text(safe_text(gpu)))
        columns = [
            Column(name, justify="right" if name == "launches" else "left", overflow="fold")
            for name in ("kernel", "launches", "time spreads by", "counters that differ")
        ]
        rows = (
            (kernel_words(kernel), f"{found.repeats:,}", f"{found.time:.2%}", _counters(found))
            for kernel, found in kernels.items()
        )
        console.print(plain_table(columns, rows))
    return page_text(console)


def _counters(found: KernelSpread) -> str:
    """The counters that spread most; ``none`` where all repeat."""
    worst = sorted(found.metrics.items(), key=lambda item: -item[1])
    more = f" and {len(worst) - _MOST_NAMES} more" if len(worst) > _MOST_NAMES else ""
    return ", ".join(f"{name} {spread:.2%}" for name, spread in worst[:_MOST_NAMES]) + more if worst else "none"
