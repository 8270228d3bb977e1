"""``addition_text``: what adding reports to a store did, as lines of text."""

from __future__ import annotations

from ncuview.pipeline.store_add import Addition
from ncuview.render.text import safe_lines


def addition_text(done: Addition, store: str) -> str:
    """The counts, then a line for each report that is not completely in the store."""
    launches = _counted(sum(each.launches for each in done.added), "launch", "launches")
    added = f"{_counted(len(done.added), 'report')} added with {launches}"
    lines = [f"{store}: {added}, {len(done.known):,} there already"]
    if done.damaged:
        lines.append(f"damaged: {len(done.damaged):,}")
        lines += [f"  {each.name}: {each.damage}" for each in done.damaged]
    if done.refused:
        lines.append(f"not added: {len(done.refused):,}")
        lines += [f"  {each.why.message}" for each in done.refused]
    return safe_lines("\n".join(lines)) + "\n"


def _counted(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"
