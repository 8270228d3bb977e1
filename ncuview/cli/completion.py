"""Values that a shell completes: names of kernels, families, rules and metrics, each list loaded when it is asked for.

Typer's ``--install-completion`` and ``--show-completion`` set the shell up; what no function here names, the shell
completes as a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ncuview.base.paths import shipped


def kernel_names(incomplete: str) -> Iterator[str]:
    """Kernels of the catalogue."""
    from ncuview.catalogue.kernels import all_kernels

    yield from _beginning(incomplete, (kernel.name for kernel in all_kernels()))


def family_names(incomplete: str) -> Iterator[str]:
    """Families of the catalogue."""
    yield from _beginning(incomplete, {file.parent.name for file in shipped("kernels").glob("*/*.cu")})


def rule_names(incomplete: str) -> Iterator[str]:
    """Codes and names of the shipped rules, by the names of their files."""
    words = (word for file in shipped("rules").glob("*/*-*.toml") for word in file.stem.split("-", 1))
    yield from _beginning(incomplete, words)


def metric_names(incomplete: str) -> Iterator[str]:
    """Metrics of the textbooks, quantities of rules and short names of ncu's metrics."""
    from ncuview.metrics.names import NAMES
    from ncuview.metrics.quantities import QUANTITIES
    from ncuview.metrics.textbook import definitions

    yield from _beginning(incomplete, {*definitions(), *QUANTITIES, *NAMES})


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if word.startswith(incomplete))
