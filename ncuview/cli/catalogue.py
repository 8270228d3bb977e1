"""``ncuview kernels`` lists the catalogue's kernels; ``ncuview ladder FAMILY`` diagnoses a family from naive to best.

The ladder shows the predicted and the measured gain of each step.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ncuview.cli.inputs import LiveOption, RulesOption
from ncuview.cli.outputs import (
    FormatOption,
    ListFormat,
    ListFormatOption,
    OutputOption,
    deliver,
    destinations,
    failures_delivered,
)
from ncuview.cli.printing import ShownProgress, print_text, width


def ladder(
    family: Annotated[str, typer.Argument(help="A family of the catalogue, such as transpose.")],
    live: LiveOption = None,
    rules: RulesOption = None,
    to: FormatOption = "terminal",
    output: OutputOption = None,
) -> None:
    """Walk a family from naive to best, with the gain that was promised and got at each step."""
    from ncuview import api

    files = destinations(to, output)
    with failures_delivered(None, to, files), ShownProgress() as progress:
        climbed = api.ladder(family, api.load_rules(rules or ()), live, progress.show)
    deliver(climbed, to, files)


def kernels(to: ListFormatOption = ListFormat.TERMINAL) -> None:
    """List the kernels of the catalogue, with the document that each is from."""
    from ncuview.catalogue.kernels import all_kernels
    from ncuview.render.lists import kernels_json, kernels_page

    print_text(kernels_json(all_kernels()) if to is ListFormat.JSON else kernels_page(all_kernels(), width()))
