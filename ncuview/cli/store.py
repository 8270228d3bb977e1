"""``ncuview store add PATHS... --to STORE``: keeps thousands of reports as Parquet files, to ask with SQL.

``store_app`` is the group; each of its commands is a function here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import UsageError
from ncuview.cli.commands import Command, Group
from ncuview.cli.completion import one_of
from ncuview.cli.inputs import MineOption, RulesOption
from ncuview.cli.outputs import exit_with
from ncuview.cli.printing import print_note, print_text
from ncuview.cli.store_questions import (
    check_format,
    compare,
    history,
    openmetrics,
    outliers,
    page,
    sql,
    top,
    unprofiled,
)
from ncuview.cli.verbosity import with_verbosity

store_app = typer.Typer(
    cls=Group, no_args_is_help=True, rich_markup_mode=None, help="Keep thousands of reports, to ask with SQL."
)

_FORMATS = ("terminal", "json")
AdditionFormatOption = Annotated[
    str,
    typer.Option("--format", metavar="NAME", help="Printed format: terminal, json.", autocompletion=one_of(*_FORMATS)),
]


def add(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Reports, CSV exports, and folders of reports.")
    ],
    to: Annotated[
        str, typer.Option("--to", metavar="STORE", help="The store: a folder, or a URL such as s3://bucket/store.")
    ],
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="What these reports have in common: a commit. Repeatable."),
    ] = None,
    mine: MineOption = None,
    rules: RulesOption = None,
    keep_paths: Annotated[
        bool, typer.Option("--keep-paths", help="Keep the folders of files; only their names are kept otherwise.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="Worker processes. Default: one per processor.")
    ] = None,
    scheduler: Annotated[
        str, typer.Option("--scheduler", metavar="ADDRESS", help="Read on a Dask cluster, as at tcp://host:8786.")
    ] = "",
    to_format: AdditionFormatOption = "terminal",
) -> None:
    """Judge reports and add them to a store. Adding a report again changes nothing; a run may be killed at any time."""
    from ncuview.pipeline.store_add import add_reports
    from ncuview.render.store import FORMATS

    check_format(to_format, _FORMATS)
    if scheduler and processes:
        raise UsageError("--processes and --scheduler exclude each other", hint="A cluster has workers of its own.")

    def say(done: int, new: int) -> None:
        print_note(f"{done:,} of {new:,} new reports are done")

    done = add_reports(
        *paths,
        to=to,
        labels=_labels(label or ()),
        mine=mine or (),
        rules=rules or (),
        keep_paths=keep_paths,
        processes=processes,
        scheduler=scheduler,
        progress=say,
    )
    print_text(FORMATS[to_format](done, to))
    exit_with(done.failure)


def _labels(words: list[str] | tuple[()]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key.strip() and equals) or key in found:
            raise UsageError(f"--label {word!r}: a label is a new name, = and its text", hint="As in commit=4f2a91c.")
        found[key] = value
    return found


for command in (add, top, history, compare, outliers, unprofiled, sql, page, openmetrics):
    store_app.command(cls=Command)(with_verbosity(command))
