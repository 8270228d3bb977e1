"""``ncuview diff A B``: compares two profiles and prints each kernel's changes, and predicted and measured gain.

A and B are reports or folders of reports; ``--renamed`` pairs renamed kernels, ``--force`` ignores other settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import UsageError
from ncuview.cli.inputs import RulesOption, option
from ncuview.cli.outputs import FormatOption, OutputOption, destinations, errors_written, exit_with, write_answer


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A report, or a folder of reports.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The same after a change.")],
    kernel_name: Annotated[str, option("Only this kernel, or regex:PATTERN.", "--kernel-name", "-k")] = "",
    renamed: Annotated[list[str] | None, option("OLD=NEW: a kernel with a new name. Repeatable.", "--renamed")] = None,
    force: Annotated[bool, option("Compare what was profiled differently.", "--force")] = False,
    rules: RulesOption = None,
    to: FormatOption = "terminal",
    output: OutputOption = None,
) -> None:
    """Compare two profiles: what changed in each kernel, and whether the prediction of the advice taken held."""
    from ncuview import api

    files = destinations(to, output)
    names = [each.partition("=") for each in renamed or ()]
    if not all(old and new for old, _, new in names):
        raise UsageError("--renamed takes OLD=NEW")
    new_names = {old: new for old, _, new in names}
    with errors_written(None, to, files):
        compared = api.compare(before, after, api.load_rules(rules or ()), kernel_name, new_names, force=force)
    write_answer(compared, to, files)
    exit_with(compared.failure)
