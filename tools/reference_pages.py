"""Write the reference pages that are made from the code: docs/reference/quantities.md.

python -m tools.reference_pages
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ncuview.metrics.names import NAMES
from ncuview.metrics.quantities import QUANTITIES
from ncuview.render.quantity_page import quantity_reference

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"


def pages() -> Mapping[Path, str]:
    """Each page and its text."""
    return {DOCS / "quantities.md": quantity_reference(QUANTITIES.values(), NAMES)}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
