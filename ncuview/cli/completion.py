"""Values that a shell completes: targets, families, rules, metrics and formats, each list loaded when it is asked for.

Typer's ``--install-completion`` and ``--show-completion`` set the shell up; what no function here names, the shell
completes as a file. Names of files give the names of what they hold, so that nothing is parsed while a user waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import get_args

from ncuview.base.paths import shipped

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
    words = (word for file in shipped("rules").glob("*/*-*.toml") for word in file.stem.split("-", 1))
    return _beginning(incomplete, words)


def rule_and_optimization_names(incomplete: str) -> list[str]:
    """Codes and names of the shipped rules, and what they advise."""
    from ncuview.records.diagnosis import Optimization

    return [*rule_names(incomplete), *_beginning(incomplete, get_args(Optimization))]


def metric_names(incomplete: str) -> list[str]:
    """Metrics of the textbooks, quantities of rules and short names of ncu's metrics."""
    from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS
    from ncuview.metrics.quantities import QUANTITIES
    from ncuview.metrics.textbook import definitions

    return _beginning(incomplete, {*definitions(), *QUANTITIES, *NAMES, *OF_INSTRUCTIONS})


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
