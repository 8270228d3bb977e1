"""``addition_text`` and ``addition_json``: what adding reports to a store did."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ncuview.pipeline.store_add import Addition
from ncuview.render.text import json_text, safe_lines

SCHEMA = "ncuview.store-addition/1"


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


def addition_json(done: Addition, store: str) -> str:
    """The reports by what became of them; ``content`` is the key of a report in the store's table ``reports``."""
    lists = {
        name: [
            {"name": each.name, "content": each.content, "launches": each.launches, "damage": each.damage or None}
            for each in reports
        ]
        for name, reports in (("added", done.added), ("known", done.known))
    }
    refused = [{"file": each.file, "error": each.why.id, "why": each.why.message} for each in done.refused]
    return json_text({"schema": SCHEMA, "store": store, **lists, "refused": refused, "complete": done.failure is None})


FORMATS: Mapping[str, Callable[[Addition, str], str]] = {"terminal": addition_text, "json": addition_json}


def _counted(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"
