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
    from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS
    from ncuview.metrics.quantities import QUANTITIES
    from ncuview.metrics.textbook import definition, definitions
    from ncuview.render.metric_page import (
        metric_list,
        metric_of_instructions_page,
        metric_of_ncu_page,
        metric_page,
        quantity_list,
        quantity_page,
    )

    if quantities:
        print_text(quantity_list(QUANTITIES.values(), NAMES, OF_INSTRUCTIONS, width()))
    elif name is None:
        print_text(metric_list(definitions().values(), width()))
    elif name in definitions() and name in QUANTITIES:  # nvprof's stall_wait is in %, the quantity a share
        print_text(f"{metric_page(definition(name), width())}\n{quantity_page(QUANTITIES[name], width())}")
    elif name in QUANTITIES:
        print_text(quantity_page(QUANTITIES[name], width()))
    elif name in NAMES and name not in definitions():
        print_text(f"{name}: {NAMES[name]}\n")
    elif name in OF_INSTRUCTIONS:
        print_text(metric_of_instructions_page(name, OF_INSTRUCTIONS[name], width()))
    elif page := metric_of_ncu_page(name, definitions().values(), QUANTITIES.values(), width()):
        print_text(page)
    else:
        print_text(metric_page(definition(name, also=(*QUANTITIES, *NAMES, *OF_INSTRUCTIONS)), width()))
