"""The table of all output formats (``FORMATS``): choose one by name or file ending, produce its content, write a file.

``output_text`` takes a diagnosis, ladder or comparison, returns text or bytes; ``destination`` parses ``FORMAT:FILE``.

``output_parts`` returns large text in parts, and ``write_output`` writes a file atomically.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base.errors import UsageError
from ncuview.base.files import exists, is_file, is_folder, replace_file
from ncuview.base.log import LOG
from ncuview.base.suggestion import did_you_mean
from ncuview.base.system import installed, used

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from ncuview.comparison.compare import Comparison
    from ncuview.engine.rule_file import Rule
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.gate import Gate
    from ncuview.records.ladder import Ladder
    from ncuview.records.profile import Profile


@dataclass(frozen=True)
class OutputFormat:
    """One output format."""

    about: str
    """Its purpose, in a few words."""
    endings: tuple[str, ...] = ()
    """File endings that select it; without endings it must be named, as in ``gitlab:FILE``."""
    compares: bool = False
    """Whether it also shows a comparison of two diagnoses."""
    binary: bool = False
    """Whether it is binary, and only written to files."""


FORMATS: Mapping[str, OutputFormat] = {
    "terminal": OutputFormat("the page for people", (".txt",), compares=True),
    "json": OutputFormat("everything, for programs", (".json",), compares=True),
    "markdown": OutputFormat("a comment on a pull request, below 64 KB", (".md",), compares=True),
    "summary": OutputFormat("a job's summary page, Markdown below 900 KB", compares=True),
    "html": OutputFormat("one page for a browser", (".html",), compares=True),
    "junit": OutputFormat("test results, for most CI systems", (".xml",)),
    "sarif": OutputFormat("findings on source lines, for code scanning", (".sarif",)),
    "github": OutputFormat("annotations of a GitHub workflow, for standard output"),
    "gitlab": OutputFormat("GitLab's code quality report"),
    "openmetrics": OutputFormat("time series, for Prometheus and GitLab", (".prom", ".om")),
    "csv": OutputFormat("one row per launch, for spreadsheets", (".csv",)),
    "parquet": OutputFormat("one row per launch, for data frames", (".parquet",), binary=True),
}
"""Name -> format."""

GROUP = "ncuview.formats"
"""The entry points of output formats of installed packages, functions from a ``Diagnosis`` to text."""
_GITLAB_NAME = "gl-code-quality-report.json"
"""The file name in GitLab's documentation; it selects ``gitlab`` in spite of its ending."""


def format_of(path: Path) -> str:
    """The format that a file's name selects.

    Raises:
        UsageError: No format has this ending.
    """
    if path.name == _GITLAB_NAME:
        return "gitlab"
    for name, each in FORMATS.items():
        if path.suffix.lower() in each.endings:
            return name
    endings = [ending for each in FORMATS.values() for ending in each.endings]
    form, colon, _ = str(path).partition(":")
    otherwise = f"Otherwise name the format before the file, as in gitlab:FILE; there are {', '.join(format_names())}."
    raise UsageError(
        f"{path}: an output file ends in one of {', '.join(endings)}",
        hint=did_you_mean(form, format_names(), otherwise) if colon else did_you_mean(path.suffix, endings, otherwise),
    )


def is_format(name: str) -> bool:
    """Whether there is such a built-in format, or one of an installed package, which is loaded now.

    Raises:
        PluginError: The package's format cannot be loaded.
    """
    if name in FORMATS:
        return True
    if name not in further_formats():
        return False
    check_format(name)
    return True


def format_names(*, binary: bool = True) -> tuple[str, ...]:
    """The names of all formats, built-in ones first."""
    built_in = tuple(name for name, form in FORMATS.items() if binary or not form.binary)
    return (*built_in, *(name for name in further_formats() if name not in FORMATS))


def destination(word: str) -> tuple[str, Path]:
    """Format and file of ``FILE`` or ``FORMAT:FILE``, checked before any work is done.

    Raises:
        UsageError: The format is unknown or cannot be loaded, or no file can be written there.
    """
    name, colon, file = word.partition(":")
    named = bool(colon) and is_format(name)
    path = Path(file) if named else Path(word)
    to = name if named else format_of(path)
    check_place(path)
    return to, path


def check_place(path: Path) -> None:
    """Refuse the name of an output file that is a folder or in no folder.

    Raises:
        UsageError: No file can be written there.
    """
    if not path.name or is_folder(path):
        raise UsageError(f"{path} cannot be written: it is a folder", hint="Name a file.")
    if not is_folder(path.parent):
        raise UsageError(f"{path} cannot be written: the folder {path.parent} does not exist", hint="Create it.")


def output_text(
    answer: Diagnosis | Ladder | Comparison,
    gate: Gate | None,
    to: str,
    *,
    source_root: Path | None = None,
    rules: Sequence[Rule] | None = None,
    profile: Profile | None = None,
) -> str | bytes:
    """An answer in one of ``FORMATS``, or in a format of an installed package, which gets only the diagnosis.

    Args:
        answer: The result to show. Formats without a form for ladders show a ladder as the launches of its steps.
        gate: The result of a budget and a baseline; None where there is none.
        to: The format's name.
        source_root: The folder that paths of source files are relative to; None for the current folder.
        rules: The evaluated rules, which some formats describe; None for the shipped ones.
        profile: The profile of the answer; with it, HTML shows every source line.

    Returns:
        Text, or bytes where the format is ``binary``.

    Raises:
        UsageError: There is no such format, or it cannot show the answer.
        ToolError: A package that the format needs is not installed.
    """
    if to not in FORMATS:
        if not is_format(to):
            raise UsageError(f"no output format {to!r}", hint=f"There are {', '.join(format_names())}.")
        return further_text(_diagnosis_in(answer, to), to)
    match to:  # each format is imported on use
        case "terminal":
            from ncuview.render import render

            page = render(answer)
            if gate is None:
                return page
            from ncuview.render.gate import gate_page

            return f"{page}\n{gate_page(gate)}"
        case "json":
            from ncuview.render.document import as_json

            return as_json(answer, gate)
        case "html":
            return _html(answer, gate, profile)
        case "markdown" | "summary":
            from ncuview.render.markdown import COMMENT, SUMMARY, markdown

            return markdown(answer, gate, COMMENT if to == "markdown" else SUMMARY)
    return _of_launches(_diagnosis_in(answer, to), gate, to, source_root or Path(), rules)


def output_parts(
    answer: Diagnosis | Ladder | Comparison,
    gate: Gate | None,
    to: str,
    *,
    source_root: Path | None = None,
    rules: Sequence[Rule] | None = None,
    profile: Profile | None = None,
) -> Iterable[str] | bytes:
    """``output_text`` in parts, so that JSON, the largest format with 44 kB a launch, is never one text in memory."""
    if to == "json":
        from ncuview.render.document import json_parts

        return json_parts(answer, gate)
    content = output_text(answer, gate, to, source_root=source_root, rules=rules, profile=profile)
    return content if isinstance(content, bytes) else (content,)


def _of_launches(
    diagnosis: Diagnosis, gate: Gate | None, to: str, root: Path, rules: Sequence[Rule] | None
) -> str | bytes:
    """The formats that show launches only."""
    match to:
        case "junit":
            from ncuview.render.junit import junit

            return junit(diagnosis, gate)
        case "sarif":
            from ncuview.render.sarif import sarif

            return sarif(diagnosis, gate, rules, root)
        case "github":
            from ncuview.render.annotations import workflow_commands

            return workflow_commands(diagnosis, gate, root)
        case "gitlab":
            from ncuview.render.annotations import code_quality

            return code_quality(diagnosis, gate, root)
        case "openmetrics":
            from ncuview.render.openmetrics import openmetrics

            return openmetrics(diagnosis, gate)
        case "csv":
            from ncuview.render.table import csv_table

            return csv_table(diagnosis, gate)
        case _:
            from ncuview.render.table import parquet_table

            return parquet_table(diagnosis, gate)


def _html(answer: Diagnosis | Ladder | Comparison, gate: Gate | None, profile: Profile | None) -> str:
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.ladder import Ladder
    from ncuview.render.html_report import html_report

    if isinstance(answer, Diagnosis):
        return html_report(answer, gate, profile=profile)
    if isinstance(answer, Ladder):
        return html_report(answer.diagnosis, gate, ladders=[answer], profile=profile)
    return html_report(answer.after, gate, comparison=answer, profile=profile)


def _diagnosis_in(answer: Diagnosis | Ladder | Comparison, to: str) -> Diagnosis:
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.ladder import Ladder

    if isinstance(answer, Diagnosis):
        return answer
    if isinstance(answer, Ladder):
        return answer.diagnosis
    raise _shows_no_comparison(to)


def check_compares(to: str) -> None:
    """Refuse a format that does not show comparisons.

    Raises:
        UsageError: It shows launches only.
    """
    if to not in FORMATS or not FORMATS[to].compares:
        raise _shows_no_comparison(to)


def _shows_no_comparison(to: str) -> UsageError:
    able = ", ".join(name for name, each in FORMATS.items() if each.compares)
    return UsageError(f"{to} does not show a comparison", hint=f"These do: {able}.")


def further_formats() -> tuple[str, ...]:
    """The names of formats that packages add; a name of a built-in format has no effect."""
    return tuple(entry.name for entry in installed(GROUP))


def check_format(name: str) -> None:
    """Load a format before any work is done.

    Raises:
        PluginError: It cannot be loaded, or is not a function.
    """
    used(_entry(name), _function)


def further_text(diagnosis: Diagnosis, name: str) -> str:
    """A diagnosis in a format of an installed package.

    Raises:
        PluginError: The format cannot be loaded, fails, or returns no text.
        UsageError: There is no such format.
    """
    text: str = used(_entry(name), lambda function: _text(_function(function)(diagnosis)))
    return text


def _entry(name: str) -> EntryPoint:
    for entry in installed(GROUP):
        if entry.name == name:
            return entry
    raise UsageError(f"no output format {name!r}", hint="`pip install` the package that has it.")


def _function(given: object) -> Callable[[Diagnosis], object]:
    if not callable(given):
        raise TypeError(f"{given!r} is no function")
    return given


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"gives {type(given).__name__}, no text")
    return given


def write_output(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file atomically: a concurrent reader sees the old content until the new one is complete.

    A special file, such as /dev/stdout, is written directly.

    Args:
        path: The file.
        content: The complete content, or text in parts. An exception from the parts is raised; the file stays as it
            was.

    Raises:
        UsageError: It cannot be written; the file stays as it was.
    """
    LOG.info("writes %s", path)
    try:
        if exists(path) and not is_file(path):
            with path.open("wb") as file:
                file.writelines(_encoded(content))
        else:
            replace_file(Path(os.path.realpath(path)), _encoded(content))  # replace the target of a link, not the link
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", hint="Name a file in a folder that can be written."
        ) from error


def _encoded(content: str | bytes | Iterable[str]) -> Iterable[bytes]:
    if isinstance(content, bytes):
        return (content,)
    return (part.encode("utf-8") for part in ((content,) if isinstance(content, str) else content))
