"""Lists of the catalogue's kernels and of the rules, as a terminal table (``*_page``) and as JSON (``*_json``)."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from ncuview.catalogue.kernel_file import Kernel
from ncuview.engine.rule_file import Rule
from ncuview.render.terminal import page_console, page_text
from ncuview.render.text import json_text, safe_text


def kernels_page(kernels: Sequence[Kernel], width: int) -> str:
    """Family, kernel and document, in the order of the ladders."""
    rows = [(k.text.family, k.name, f"{k.text.document}: {k.text.section}") for k in kernels]
    return _table(("family", "kernel", "document"), rows, width)


def kernels_json(kernels: Sequence[Kernel]) -> str:
    """The front matter of each kernel."""
    entries = [kernel.text.model_dump(by_alias=True, exclude={"schema_version"}) for kernel in kernels]
    return _json("ncuview.kernels/1", "kernels", entries)


def rules_page(rules: Sequence[Rule], width: int) -> str:
    """Code, name, optimization and summary of each rule."""
    rows = [(r.text.code, r.text.name, r.text.optimization, r.text.summary) for r in rules]
    return _table(("code", "rule", "advises", "when"), rows, width)


def rules_json(rules: Sequence[Rule]) -> str:
    """The content of the rule files without their examples."""
    entries = [rule.text.model_dump(by_alias=True, exclude={"schema_version", "example"}) for rule in rules]
    return _json("ncuview.rules/2", "rules", entries)


def _json(schema: str, key: str, entries: list[dict[str, object]]) -> str:
    return json_text({"schema": schema, key: entries})


def _table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]], width: int) -> str:
    console = page_console(width, color=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe_text(cell)) for cell in row))
    console.print(table)
    return page_text(console)
