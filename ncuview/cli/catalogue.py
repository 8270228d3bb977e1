"""``ncuview kernels`` lists the catalogue's kernels; ``ncuview ladder FAMILY`` diagnoses a family from naive to best.

``ladder`` shows the predicted and the measured gain of each step.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ncuview.cli.completion import family_names
from ncuview.cli.inputs import LiveOption, RulesOption
from ncuview.cli.outputs import (
    FormatOption,
    ListFormat,
    ListFormatOption,
    OutputOption,
    destinations,
    errors_written,
    write_answer,
)
from ncuview.cli.printing import ProgressDisplay, print_text, width


def ladder(
    family: Annotated[
        str, typer.Argument(help="A family of the catalogue, such as transpose.", autocompletion=family_names)
    ],
    live: LiveOption = None,
    rules: RulesOption = None,
    to: FormatOption = "terminal",
    output: OutputOption = None,
) -> None:
    """Diagnose a family from naive to best, with the predicted and the measured gain of each step."""
    from ncuview import api

    files = destinations(to, output)
    with errors_written(None, to, files), ProgressDisplay() as progress:
        answer = api.ladder(family, api.load_rules(rules or ()), live, progress.show)
    write_answer(answer, to, files)


def kernels(to: ListFormatOption = ListFormat.TERMINAL) -> None:
    """List the kernels of the catalogue, each with its source document."""
    from ncuview.catalogue.kernels import all_kernels
    from ncuview.render.lists import kernels_json, kernels_page

    print_text(kernels_json(all_kernels()) if to is ListFormat.JSON else kernels_page(all_kernels(), width()))
