"""Print what is known of a kernel or program without performance counters, write it to files, and set the exit code.

For ``--no-counters``, and where ncu was refused the counters; ``is_about_counters`` recognises that error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ncuview.base.errors import NcuRefused, NcuviewError, UsageError
from ncuview.cli.inputs import Inputs
from ncuview.cli.printing import color, complain, print_text, width

if TYPE_CHECKING:
    from ncuview.pipeline.without_counters import WithoutCounters

_FORMS = {"terminal", "json"}


def is_about_counters(error: NcuviewError) -> bool:
    """Whether ncu was refused the counters, and nothing else is in its way."""
    return isinstance(error, NcuRefused) and error.id == "NCU-PERM"


def tell_without_counters(
    inputs: Inputs, to: str, files: Sequence[tuple[str, Path]], refusal: NcuviewError | None = None
) -> None:
    """Print what can be said without counters, and leave with the exit code that it stands for.

    Args:
        inputs: What is looked at.
        to: The format that is printed.
        files: Format and path of each output file.
        refusal: Why there are no counters; None where they were not asked for.

    Raises:
        NcuviewError: The refusal, where an output has no form for this or nothing can be said.
    """
    from ncuview.render.outputs import write_output
    from ncuview.render.without_counters import without_counters_document, without_counters_page

    if {to, *(form for form, _ in files)} - _FORMS:
        raise refusal or UsageError("what is said without counters is a page or JSON", hint="Use --format json.")
    try:
        told = _told(inputs, refusal)
    except NcuviewError as nothing:
        raise refusal or nothing from nothing
    pages = {"json": without_counters_document(told), "terminal": without_counters_page(told, width=100, color=False)}
    for form, path in files:
        write_output(path, pages[form])
    print_text(pages["json"] if to == "json" else without_counters_page(told, width=width(), color=color()))
    if refusal:
        complain(str(refusal), refusal.hint, refusal.id)
    if told.exit_code:
        raise typer.Exit(told.exit_code)


def _told(inputs: Inputs, refusal: NcuviewError | None) -> WithoutCounters:
    from ncuview.pipeline import without_counters as known

    if inputs.suffix == ".cu" and inputs.program is None:
        return known.source_without_counters(Path(inputs.named[0]), inputs.words, refusal)
    if inputs.runs_program:
        return known.program_without_counters(inputs.command, refusal)
    if len(inputs.named) != 1 or Path(inputs.named[0]).exists():
        raise UsageError("--no-counters is for kernels, .cu files and programs; a report has its counters")
    return known.kernel_without_counters(inputs.named[0], refusal)
