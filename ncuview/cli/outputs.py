"""Options ``--format`` and ``--output``; ``write_answer`` prints a diagnosis, ladder or comparison and writes files.

``errors_written`` writes an error to the same outputs; ``exit_with`` exits with the code of missing parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ncuview.base.errors import NcuviewError, PluginError, UsageError
from ncuview.base.suggestion import did_you_mean
from ncuview.cli.completion import one_of
from ncuview.cli.printing import color, detail, print_error, print_text, print_written, width
from ncuview.cli.without_counters import is_about_counters, report_without_counters
from ncuview.render.outputs import (
    FORMATS,
    check_compares,
    destination,
    format_names,
    is_format,
    output_parts,
    output_text,
    write_output,
)

if TYPE_CHECKING:
    from ncuview.cli.inputs import Inputs
    from ncuview.comparison.compare import Comparison
    from ncuview.engine.rule_file import Rule
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.gate import Gate
    from ncuview.records.ladder import Ladder
    from ncuview.records.profile import Failure, Profile

_TEXTS = tuple(name for name, form in FORMATS.items() if not form.binary)

BRIEF = "brief"
"""The printed format of a view of a diagnosis as text; see ``cli.views``."""
_OF_COMPARISONS = tuple(name for name in _TEXTS if FORMATS[name].compares)


def _format_option(names: Sequence[str]) -> Any:
    shown = f"Printed format: {', '.join(names)}."
    return typer.Option("--format", metavar="NAME", help=shown, autocompletion=one_of(*names))


FormatOption = Annotated[str, _format_option(_TEXTS)]
ViewFormatOption = Annotated[str, _format_option((*_TEXTS, BRIEF))]
ComparisonFormatOption = Annotated[str, _format_option(_OF_COMPARISONS)]
OutputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Also write the answer to a file; its ending gives the format, or FORMAT:FILE does. Repeatable.",
    ),
]
SourceRootOption = Annotated[
    Path | None,
    typer.Option(
        "--source-root", metavar="DIR", help="The folder that source paths are relative to. Default: this one."
    ),
]


class ListFormat(StrEnum):
    """The printed format of a list."""

    TERMINAL = "terminal"
    JSON = "json"


ListFormatOption = Annotated[ListFormat, typer.Option("--format", help="For people, or for programs.")]


def destinations(
    to: str, output: Sequence[str] | None, *, of_comparison: bool = False, views: bool = False
) -> tuple[tuple[str, Path], ...]:
    """Format and path of each output file. All formats are checked before any work is done.

    With ``views``, ``to`` may be ``brief`` too.
    """
    further = (BRIEF,) if views else ()
    if to not in {*_TEXTS, *further} and (to in FORMATS or not is_format(to)):
        known = _OF_COMPARISONS if of_comparison else (*format_names(binary=False), *further)
        raise UsageError(
            f"--format {to}: unknown format",
            hint=did_you_mean(to, known, f"There are {', '.join(known)}."),
        )
    files = tuple(destination(word) for word in output or ())
    if of_comparison:
        for form in (to, *(form for form, _ in files)):
            check_compares(form)
    return files


@contextmanager
def errors_written(
    inputs: Inputs | None,
    to: str,
    files: Sequence[tuple[str, Path]],
    written: Callable[[Diagnosis], str] | None = None,
) -> Iterator[None]:
    """Write an error inside to every requested output, so that no file keeps the answer of an earlier run.

    A terminal shows it on standard error. Where ncu was refused only the counters, the report without counters of
    ``inputs`` is written instead, unless ``written`` prints a view.
    """
    try:
        yield
    except NcuviewError as error:
        if inputs and is_about_counters(error) and not written:
            with suppress(NcuviewError):
                report_without_counters(inputs, to, files, error)
        from ncuview.records.diagnosis import Diagnosis
        from ncuview.records.profile import failure_of

        nothing = Diagnosis((), (), failure=failure_of(error))
        for form, path in files:
            with suppress(NcuviewError):  # the user must see the first error
                write_output(path, output_text(nothing, None, form))
        if written:
            print_text(written(nothing))
        elif to != "terminal":
            with suppress(PluginError):
                _print(nothing, to)
        raise


def exit_with(*missing: Failure | None, code: int = 0) -> None:
    """Exit with the code of missing parts of a delivered answer, or with ``code``; return where there are neither.

    Raises:
        Exit: With the code of the highest precedence.
    """
    failures = [failure for failure in missing if failure]
    if not failures and not code:
        return
    from ncuview.gate.verdict import most_serious

    for failure in failures:
        print_error(failure.message, failure.hint, failure.id)
    if ends_with := most_serious([code, *(failure.exit_code for failure in failures)]):
        raise typer.Exit(ends_with)


def _print(answer: Diagnosis, to: str) -> None:
    text = output_text(answer, None, to)
    assert isinstance(text, str)  # noqa: S101  (destinations refuses binary formats)
    print_text(text)


def write_answer(
    answer: Diagnosis | Ladder | Comparison,
    to: str,
    files: Sequence[tuple[str, Path]],
    *,
    gate: Gate | None = None,
    top: int | None = None,
    rules: Sequence[Rule] | None = None,
    source_root: Path | None = None,
    profile: Profile | None = None,
) -> None:
    """Write an answer to its files, then print it.

    ``profile`` is the profile of a diagnosis, where there is one. Files hold the checks that passed; the terminal shows
    them with ``--verbose``.
    """
    content = partial(_content, answer, gate, top=top, rules=rules, source_root=source_root, profile=profile)
    broken = _write_each(files, content)
    printed = content(to) if to != "terminal" else (_page(answer, gate, top),)
    assert not isinstance(printed, bytes)  # noqa: S101  (destinations refuses binary formats)
    for part in printed:
        print_text(part)
    if broken:
        raise broken


def write_files(
    answer: Diagnosis,
    files: Sequence[tuple[str, Path]],
    *,
    top: int | None,
    rules: Sequence[Rule] | None,
    source_root: Path | None,
    profile: Profile | None,
) -> None:
    """Write a diagnosis to its files, and print nothing of it."""
    content = partial(_content, answer, None, top=top, rules=rules, source_root=source_root, profile=profile)
    if broken := _write_each(files, content):
        raise broken


def _write_each(
    files: Sequence[tuple[str, Path]], content: Callable[[str], Iterable[str] | bytes]
) -> PluginError | None:
    """Write each output; the error of a plugin, which must not keep the other outputs from being written."""
    broken: PluginError | None = None
    for form, path in files:
        try:
            write_output(path, content(form))
            print_written(path)
        except PluginError as error:
            broken = error
    return broken


def _content(
    answer: Diagnosis | Ladder | Comparison,
    gate: Gate | None,
    form: str,
    *,
    top: int | None,
    rules: Sequence[Rule] | None,
    source_root: Path | None,
    profile: Profile | None,
) -> Iterable[str] | bytes:
    if form == "terminal" and gate is None:
        from ncuview.render import render

        return (render(answer, top=top),)
    return output_parts(answer, gate, form, source_root=source_root, rules=rules, profile=profile)


def _page(answer: Diagnosis | Ladder | Comparison, gate: Gate | None, top: int | None) -> str:
    """The page for this terminal: only the gate, where there is one."""
    if gate is not None:
        from ncuview.render.gate import gate_page

        return gate_page(gate, width=width(), color=color(), detail=detail())
    from ncuview.render import render

    return render(answer, width=width(), color=color(), top=top, detail=detail())
