"""Values that a shell completes: targets, families, rules, metrics and formats, each list loaded when it is asked for.

Typer's ``--install-completion`` and ``--show-completion`` set the shell up; what no function here names, the shell
completes as a file. Names of files give the names of what they hold, so that nothing is parsed while a user waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

import typer  # noqa: TC002  (typer reads the type of the context)

from ncuview.base.paths import shipped

_LARGEST_REPORT = 1 << 20
"""Bytes of a report that is read for its kernels' names while a user waits."""
_TARGETS = {".ncu-rep", ".ncu-repz", ".cu", ".py"}


def targets(incomplete: str) -> Iterator[str]:
    """Kernels and families of the catalogue, with the files that begin so; without a kernel the shell takes files."""
    names = [*kernel_names(incomplete), *family_names(incomplete)]
    yield from names
    if names and incomplete:
        yield from _files(incomplete)


def kernel_names(incomplete: str) -> Iterator[str]:
    """Kernels of the catalogue; the variants of a kernel once its name is complete."""
    files = {file.stem: file for file in shipped("kernels").glob("*/*.cu")}
    yield from _beginning(incomplete, files)
    if file := files.get(incomplete.partition("[")[0]):
        from ncuview.catalogue.kernel_file import load_kernels

        yield from _beginning(incomplete, (kernel.name for kernel in load_kernels(file)[1:]))


def family_names(incomplete: str) -> list[str]:
    """Families of the catalogue."""
    return _beginning(incomplete, {file.parent.name for file in shipped("kernels").glob("*/*.cu")})


def rule_names(incomplete: str) -> list[str]:
    """Codes and names of the shipped rules."""
    return _beginning(incomplete, _words(file for file in _rule_files() if file.parent.name != "program"))


def _rule_files() -> Iterable[Path]:
    return shipped("rules").glob("*/*-*.toml")


def _words(files: Iterable[Path]) -> Iterable[str]:
    return (word for file in files for word in file.stem.split("-", 1))


def rule_and_optimization_names(incomplete: str) -> list[str]:
    """Codes and names of the shipped rules, those about programs too, and what rules advise."""
    from ncuview.records.diagnosis import Optimization

    return _beginning(incomplete, [*_words(_rule_files()), *get_args(Optimization)])


def metric_names(incomplete: str) -> list[str]:
    """Metrics of the textbooks, quantities of rules and short names of ncu's metrics."""
    from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS
    from ncuview.metrics.quantities import QUANTITIES
    from ncuview.metrics.textbook import definitions

    return _beginning(incomplete, {*definitions(), *QUANTITIES, *NAMES, *OF_INSTRUCTIONS})


def launched_kernels(context: typer.Context, incomplete: str) -> list[str]:
    """Kernels of the reports that are typed before, by the names that ``-k`` takes; none of large reports."""
    from ncuview.base.errors import NcuviewError
    from ncuview.base.report_files import REPORT_ENDINGS
    from ncuview.reader.precheck import precheck

    found: set[str] = set()
    # The words are no parameters yet where -k, without its value, has ended the parsing of the line.
    for target in map(Path, [*(context.params.get("targets") or ()), *context.args]):
        # A name of the shell may stand for anything, and an unfinished line has no errors.
        with suppress(NcuviewError, OSError):
            if target.suffix in REPORT_ENDINGS and target.stat().st_size <= _LARGEST_REPORT:
                found |= {function_of(launch.mangled) for launch in precheck(target).launches}
    return _beginning(incomplete, found - {""})


def function_of(mangled: str) -> str:
    """The function's name in a mangled name: the last of a nested one, without its types."""
    rest = re.sub(r"^_Z(?:N[rVK]*)?L?", "", mangled)
    if rest == mangled:
        return mangled
    name = ""
    while length := re.match(r"[1-9]\d{0,3}", rest):
        name, rest = rest[length.end() :][: int(length[0])], rest[length.end() + int(length[0]) :]
        if not mangled.startswith("_ZN"):
            break
    return name


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    """The words that begin so, sorted."""
    return sorted(word for word in words if word.startswith(incomplete))


def one_of(*words: str) -> Callable[[str], list[str]]:
    """The function that completes one of these words."""

    def words_of(incomplete: str) -> list[str]:
        return _beginning(incomplete, words)

    return words_of


def _files(incomplete: str) -> Iterator[str]:
    """Folders, and files that can be targets, of the current folder."""
    for each in sorted(Path().iterdir()):
        if each.name.startswith(incomplete) and (each.suffix in _TARGETS or each.is_dir()):
            yield f"{each}/" if each.is_dir() else str(each)
