"""Terminal page of ``Spreads`` (``spread_page``), per GPU: the spread of each kernel's time and counters."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from ncuview.gate.spread import KernelSpread, Spreads
from ncuview.render.terminal import page_console, page_text
from ncuview.render.text import safe_text
from ncuview.render.words import kernel_words

_MOST_NAMES = 4


def spread_page(spreads: Spreads, width: int) -> str:
    """A table for each GPU."""
    console = page_console(width, color=False)
    for gpu, kernels in spreads.gpus.items():
        console.print(Text(safe_text(gpu)))
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("kernel", "launches", "time spreads by", "counters that differ"):
            table.add_column(name, justify="right" if name == "launches" else "left", overflow="fold")
        for kernel, found in kernels.items():
            cells = (kernel_words(kernel), f"{found.repeats:,}", f"{found.time:.2%}", _counters(found))
            table.add_row(*(Text(safe_text(cell)) for cell in cells))
        console.print(table)
    return page_text(console)


def _counters(found: KernelSpread) -> str:
    """The counters that spread most; ``none`` where all repeat."""
    worst = sorted(found.metrics.items(), key=lambda item: -item[1])
    more = f" and {len(worst) - _MOST_NAMES} more" if len(worst) > _MOST_NAMES else ""
    return ", ".join(f"{name} {spread:.2%}" for name, spread in worst[:_MOST_NAMES]) + more if worst else "none"
