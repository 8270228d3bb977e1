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
        str,
        typer.Argument(
            metavar="FAMILY", help="A family of the catalogue, such as transpose.", autocompletion=family_names
        ),
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


def kernels(
    family: Annotated[
        str | None,
        typer.Argument(
            metavar="FAMILY", help="Only this family, with what each kernel shows.", autocompletion=family_names
        ),
    ] = None,
    to: ListFormatOption = ListFormat.TERMINAL,
) -> None:
    """List the kernels of the catalogue by family, or those of one family with what each shows."""
    from ncuview.catalogue import kernels as catalogue
    from ncuview.render.lists import families_page, family_page, kernels_json

    listed = catalogue.family(family) if family else catalogue.all_kernels()
    if to is ListFormat.JSON:
        print_text(kernels_json(listed))
    else:
        print_text(family_page(listed, width()) if family else families_page(listed, width()))
