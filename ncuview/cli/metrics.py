"""``ncuview metrics [NAME]``: defines a textbook or nvprof metric, or a quantity of rules, by Nsight Compute metrics.

Without a name it lists the textbook metrics; with ``--quantities``, the quantities and names that rules may read.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ncuview.cli.completion import metric_names
from ncuview.cli.printing import print_text, width


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A metric of the textbooks or of nvprof, or a quantity of rules.",
            autocompletion=metric_names,
        ),
    ] = None,
    quantities: Annotated[
        bool, typer.Option("--quantities", help="List what the expressions of rules may read.")
    ] = False,
) -> None:
    """Define a metric of the textbooks or a quantity of rules in Nsight Compute's terms, or list them all."""
    if quantities:
        from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS
        from ncuview.metrics.quantities import QUANTITIES
        from ncuview.render.metric_page import quantity_list

        print_text(quantity_list(QUANTITIES.values(), NAMES, OF_INSTRUCTIONS, width()))
    elif name is None:
        from ncuview.metrics.textbook import definitions
        from ncuview.render.metric_page import metric_list

        print_text(metric_list(definitions().values(), width()))
    else:
        from ncuview.render.explanation import metric_words

        print_text(metric_words(name, width()))
