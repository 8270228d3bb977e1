"""``ncuview metrics [NAME]``: defines a textbook or nvprof metric in Nsight Compute's metrics, or lists all."""

from __future__ import annotations

from typing import Annotated

import typer

from ncuview.cli.printing import print_text, width


def metrics(
    name: Annotated[str | None, typer.Argument(help="A metric of the textbooks or of nvprof.")] = None,
) -> None:
    """Define a metric of the textbooks in Nsight Compute's terms, or list them all."""
    from ncuview.metrics.textbook import definition, definitions
    from ncuview.render.metric_page import metric_list, metric_page

    print_text(metric_page(definition(name), width()) if name else metric_list(definitions().values(), width()))
