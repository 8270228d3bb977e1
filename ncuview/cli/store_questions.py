"""The questions of ``ncuview store``, such as ``top`` and ``history``; ``page`` answers several on one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncuview.base.errors import UsageError
from ncuview.base.suggestion import did_you_mean
from ncuview.cli.completion import one_of
from ncuview.cli.printing import print_text, print_written, width

if TYPE_CHECKING:
    from ncuview.store.answer import Answer
    from ncuview.store.opened import Store

_FORMATS = ("terminal", "json", "csv")
_ROWS, _ROWS_OF_PAGE, _ROWS_OF_QUERY = 20, 50, 1_000

StoreOption = Annotated[
    str, typer.Option("--from", metavar="STORE", help="The store: a folder, or a URL such as s3://bucket/store.")
]
AnswerFormatOption = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", help=f"Printed format: {', '.join(_FORMATS)}.", autocompletion=one_of(*_FORMATS)
    ),
]
LimitOption = Annotated[int, typer.Option("--limit", min=0, help="The most rows of a table, or points; 0 for all.")]


class By(StrEnum):
    """What differs between the launches that are compared."""

    GPU = "gpu"
    SHAPE = "shape"
    RANK = "rank"


def top(store: StoreOption, limit: LimitOption = _ROWS, to: AnswerFormatOption = "terminal") -> None:
    """Show which kernels and calls of all reports take the GPU time, and which advice saves most of it."""
    from ncuview.store import questions

    _print(store, to, lambda opened: questions.top(opened, limit))


def history(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help="Its name, also with namespaces and templates.")],
    store: StoreOption,
    limit: LimitOption = _ROWS,
    to: AnswerFormatOption = "terminal",
) -> None:
    """Show times and exact counters of a kernel over commits, drivers and ncu versions, and where they changed."""
    from ncuview.store import kernel_history

    _print(store, to, lambda opened: kernel_history.history(opened, kernel, limit))


def compare(
    store: StoreOption,
    by: Annotated[By, typer.Option("--by", help="What differs: GPU models, grid and block, or ranks.")],
    kernel: Annotated[
        str | None, typer.Argument(metavar="KERNEL", help="One kernel. Default: those of most time first.")
    ] = None,
    limit: LimitOption = _ROWS,
    to: AnswerFormatOption = "terminal",
) -> None:
    """Compare the time of the same kernel on GPU models, in configurations or on ranks."""
    from ncuview.store import questions

    _print(store, to, lambda opened: questions.compare(opened, by.value, kernel, limit))


def outliers(store: StoreOption, limit: LimitOption = _ROWS, to: AnswerFormatOption = "terminal") -> None:
    """Show launches whose time is far from that of the same kernel's others."""
    from ncuview.store import questions

    _print(store, to, lambda opened: questions.outliers(opened, limit))


def unprofiled(store: StoreOption, limit: LimitOption = _ROWS, to: AnswerFormatOption = "terminal") -> None:
    """Show kernels that were launched but never judged, and reports of which a part is missing."""
    from ncuview.store import questions

    _print(store, to, lambda opened: questions.unprofiled(opened, limit))


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT over the store's tables and views.")],
    store: StoreOption,
    limit: LimitOption = _ROWS_OF_QUERY,
    to: AnswerFormatOption = "terminal",
) -> None:
    """Answer a query in DuckDB's SQL, which can read the store and nothing else."""
    from ncuview.store import questions

    _print(store, to, lambda opened: questions.sql(opened, query, limit))


def page(
    store: StoreOption,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page, which ends in .html.")],
    limit: LimitOption = _ROWS_OF_PAGE,
) -> None:
    """Write one HTML page: costly kernels, calls and advice, what changed, and what was never judged."""
    from ncuview.render.html_report.store_page import store_html
    from ncuview.render.outputs import check_place, write_output
    from ncuview.store.opened import open_store
    from ncuview.store.overview import overview

    if output.suffix != ".html":
        raise UsageError(f"{output}: the file must end in .html")
    check_place(output)
    with open_store(store) as opened:
        found = overview(opened, limit)
    write_output(output, store_html(found))
    print_written(output)


def openmetrics(
    point: Annotated[str, typer.Argument(metavar="POINT", help="A commit, date or build, or the text of a label.")],
    store: StoreOption,
) -> None:
    """Print the kernels of a point as OpenMetrics, as analyze does from its reports: for Prometheus."""
    from ncuview.pipeline.stored import stored_diagnosis
    from ncuview.render.openmetrics import openmetrics as text

    print_text(text(stored_diagnosis(store, point), None))


def check_format(name: str, known: Sequence[str]) -> None:
    """Refuse a format that is not known.

    Raises:
        UsageError: It is not.
    """
    if name not in known:
        raise UsageError(
            f"--format {name}: unknown format", hint=did_you_mean(name, known, f"There are {', '.join(known)}.")
        )


def _print(store: str, to: str, ask: Callable[[Store], Answer]) -> None:
    check_format(to, _FORMATS)
    from ncuview.render.store_answers import FORMATS
    from ncuview.store.opened import open_store

    with open_store(store) as opened:
        answer = ask(opened)
    print_text(FORMATS[to](answer, width()))
