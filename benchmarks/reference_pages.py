"""Write the reference pages, and the parts of others, that are made from the code.

python -m benchmarks.reference_pages

Parts of docs/how-to/write-a-rule.md stand between ``<!-- NAME: ... -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

from ncuview.engine.rule_file import OPTIMIZATIONS
from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS
from ncuview.metrics.quantities import QUANTITIES
from ncuview.render.quantity_page import quantity_reference
from ncuview.speedup.effects import ADDED, EFFECTS, LATENCY_HIDDEN, TIME_LEFT

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH = 120


def pages() -> Mapping[Path, str]:
    """Each page and its text."""
    rules = DOCS / "how-to" / "write-a-rule.md"
    text = rules.read_text(encoding="utf-8")
    for name, part in (("optimizations", _optimizations()), ("effects", _effects())):
        marked = re.compile(rf"(<!-- {name}: [^\n]* -->\n).*?(<!-- end -->)", re.DOTALL)
        text = marked.sub(rf"\g<1>{part}\g<2>", text)
    return {
        DOCS / "reference" / "quantities.md": quantity_reference(QUANTITIES.values(), NAMES, OF_INSTRUCTIONS),
        rules: text,
    }


def _optimizations() -> str:
    return textwrap.fill(", ".join(f"`{word}`" for word in OPTIMIZATIONS) + ".", WIDTH) + "\n"


def _effects() -> str:
    rows = "".join(f"| `{name}` | {', '.join(units)} |\n" for name, units in EFFECTS.items())
    added = ", ".join(f"`{name}`" for name in ADDED)
    others = (
        f"`{LATENCY_HIDDEN}` is the share of the waiting that goes away, `{TIME_LEFT}` the share of the time that is "
        f"left at least, and a table `[effects.added]` holds work that the change adds, of warps: {added}."
    )
    return f"| effect: share left | of the work of |\n| --- | --- |\n{rows}\n{textwrap.fill(others, WIDTH)}\n"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
