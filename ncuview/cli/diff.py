"""``ncuview diff A B``: compares two profiles and prints each kernel's changes, and predicted and measured gain.

A and B are reports or folders of reports; ``--renamed`` pairs renamed kernels, ``--force`` ignores other settings.
``ncuview diff A -k OLD --with NEW`` compares two kernels of one report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import UsageError
from ncuview.cli.inputs import RulesOption, option
from ncuview.cli.outputs import (
    ComparisonFormatOption,
    OutputOption,
    destinations,
    errors_written,
    exit_with,
    write_answer,
)


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A report, or a folder of reports.")],
    after: Annotated[
        Path | None, typer.Argument(metavar="B", help="The same after a change; --with compares within A.")
    ] = None,
    kernel_name: Annotated[
        str, option("Only this kernel, or regex:PATTERN.", "--kernel-name", "-k", value="NAME")
    ] = "",
    kernel_after: Annotated[
        str, option("The kernel to compare -k with, as the one after a change.", "--with", value="NAME")
    ] = "",
    renamed: Annotated[
        list[str] | None, option("A kernel with a new name. Repeatable.", "--renamed", value="OLD=NEW")
    ] = None,
    force: Annotated[bool, option("Compare what was profiled differently.", "--force")] = False,
    rules: RulesOption = None,
    to: ComparisonFormatOption = "terminal",
    output: OutputOption = None,
) -> None:
    """Compare two profiles: what changed in each kernel, and whether the prediction of the advice taken held."""
    from ncuview import api

    files = destinations(to, output, of_comparison=True)
    if kernel_after and not kernel_name:
        raise UsageError("--with needs the kernel before", hint="Add -k NAME: -k A --with B compares A with B.")
    if kernel_after and renamed:
        raise UsageError("--with and --renamed both name pairs of kernels", hint="Leave out one of them.")
    if not after and not kernel_after:
        raise UsageError(
            "there is nothing to compare with",
            hint="Name a second report, or two kernels of this one: -k A --with B.",
        )
    names = [each.partition("=") for each in renamed or ()]
    if not all(old and new for old, _, new in names):
        raise UsageError("--renamed takes OLD=NEW")
    new_names = {old: new for old, _, new in names}
    with errors_written(None, to, files):
        compared = api.compare(
            before,
            after or before,
            api.load_rules(rules or ()),
            kernel_name,
            new_names,
            kernel_after=kernel_after,
            force=force,
        )
    write_answer(compared, to, files)
    exit_with(compared.failure)
