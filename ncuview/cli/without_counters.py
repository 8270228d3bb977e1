"""Print what is known of a kernel or program without performance counters, write it to files, and set the exit code.

``report_without_counters`` does so; ``is_about_counters`` recognises the error of ncu that makes it necessary.

It serves ``--no-counters``, and targets for which ncu was refused the counters.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ncuview.base.errors import NcuRefused, NcuviewError, UsageError
from ncuview.base.files import exists
from ncuview.cli.inputs import Inputs
from ncuview.cli.printing import color, print_error, print_text, print_written, width

if TYPE_CHECKING:
    from ncuview.pipeline.without_counters import WithoutCounters

_FORMS = {"terminal", "json"}


def is_about_counters(error: NcuviewError) -> bool:
    """Whether ncu failed only because the counters were refused."""
    return isinstance(error, NcuRefused) and error.id == "NCU-PERM"


def report_without_counters(
    inputs: Inputs, to: str, files: Sequence[tuple[str, Path]], refusal: NcuviewError | None = None
) -> None:
    """Print the report without counters, and exit with its code.

    Args:
        inputs: The target.
        to: The printed format.
        files: Format and path of each output file.
        refusal: Why there are no counters; None where they were not requested.

    Raises:
        NcuviewError: The refusal, where an output has no form for this or no part of the report can be computed.
    """
    from ncuview.render.outputs import write_output
    from ncuview.render.without_counters import without_counters_document, without_counters_page

    if {to, *(form for form, _ in files)} - _FORMS:
        raise refusal or UsageError(
            "the report without counters is a page or JSON",
            hint="Use --format json, or files that end in .txt or .json.",
        )
    try:
        found = _report(inputs, refusal)
    except NcuviewError as nothing:
        raise refusal or nothing from nothing
    pages = {"json": without_counters_document(found), "terminal": without_counters_page(found, width=100, color=False)}
    for form, path in files:
        write_output(path, pages[form])
        print_written(path)
    print_text(pages["json"] if to == "json" else without_counters_page(found, width=width(), color=color()))
    if refusal:
        print_error(str(refusal), refusal.hint, refusal.id)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _report(inputs: Inputs, refusal: NcuviewError | None) -> WithoutCounters:
    from ncuview.pipeline import without_counters

    if inputs.suffix == ".cu" and inputs.program is None:
        return without_counters.source_without_counters(Path(inputs.named[0]), inputs.words, refusal)
    if inputs.runs_program:
        return without_counters.program_without_counters(inputs.command, refusal)
    if len(inputs.named) != 1 or exists(Path(inputs.named[0])):
        raise UsageError("--no-counters is for kernels, .cu files and programs; a report has its counters")
    return without_counters.kernel_without_counters(inputs.named[0], refusal)
