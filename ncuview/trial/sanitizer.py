"""Read what compute-sanitizer prints, and compare a variant's findings with the original's.

``findings_of`` a tool's output -> the number of findings of each kind; ``compared`` two -> whether there are new ones.
A tool that did not come to its end is no evidence: ``Inconclusive`` is raised. ``remembered`` runs a tool once for each
version, so that an original is not examined again for each of its variants; ``findings_by_tool`` runs all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from ncuview.base.at_once import AtOnce

TOOLS = ("memcheck", "racecheck", "synccheck")
OPTIONS = ("--report-api-errors", "no", "--show-backtrace", "no", "--print-limit", "1000")
"""Errors of API calls are left out: the process reports its own, and drivers probe for functions that are missing."""
_MARK = "========="
_SUMMARY = {
    "memcheck": re.compile(r"ERROR SUMMARY: (?P<count>\d+) errors?"),
    "synccheck": re.compile(r"ERROR SUMMARY: (?P<count>\d+) errors?"),
    "racecheck": re.compile(r"RACECHECK SUMMARY: (?P<count>\d+) hazards? displayed"),
}
_NO_FINDING = re.compile(
    r"COMPUTE-SANITIZER|.*SUMMARY:|Target application returned|Error: process didn't terminate|Process ID|Program hit",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"Internal (?:Sanitizer )?Error|No attachable process|Unable to|Failed to|not supported"
    r"|Error: (?!Race|Potential|process)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\s+(?:at\s+(?:__\w+__\s+)?(?:0x|[\w./]+[.(:+]).*|in block .*)$")
_SEVERITY = re.compile(r"^(?:error|warning|info):\s*", re.IGNORECASE)


V = TypeVar("V")


class Inconclusive(Exception):
    """The tool failed, or its output is not understood; the text says which."""


@dataclass(frozen=True)
class Printed:
    """A run of a tool.

    Attributes:
        output: What it printed.
        ended: Whether the program under it came to its end.
    """

    output: str
    ended: bool


def findings_of(tool: str, printed: Printed) -> Counter[str]:
    """The number of findings of each kind, without their places.

    Raises:
        Inconclusive: The tool failed, or ended without its summary, or the program failed without a finding.
    """
    said = [line.removeprefix(_MARK).rstrip() for line in printed.output.splitlines() if line.startswith(_MARK)]
    if not any("COMPUTE-SANITIZER" in line for line in said):
        raise Inconclusive(f"{tool} did not start")
    if failed := next((line.strip() for line in said if _FAILED.search(line)), ""):
        raise Inconclusive(f"{tool} failed: {failed}")
    summaries = [int(found["count"]) for line in said if (found := _SUMMARY[tool].search(line))]
    if not summaries:
        raise Inconclusive(f"{tool} ended without a summary")
    # Only a finding's first line has one space after the mark; its places and details have more.
    heads = [line[1:] for line in said if re.match(r" \S", line) and not _NO_FINDING.match(line[1:])]
    kinds = Counter(_kind(head) for head in heads)
    if (unknown := sum(summaries) - kinds.total()) > 0:
        kinds["findings beyond the printed ones"] = unknown
    if not kinds and not printed.ended:
        raise Inconclusive(f"the program ended early under {tool}, which found nothing")
    return kinds


def remembered(sanitizer: Callable[[str, V], Printed], key: Callable[[V], Hashable]) -> Callable[[str, V], Printed]:
    """The same function, which runs a tool once over each version; it raises ``Inconclusive``, and runs that again.

    Several threads may call it.

    Args:
        sanitizer: Runs a tool, the first argument, over a version.
        key: What distinguishes versions, sizes and contents.
    """
    known: dict[tuple[str, Hashable], Printed] = {}

    def asked(tool: str, version: V) -> Printed:
        name = tool, key(version)
        if name not in known:
            printed = sanitizer(tool, version)
            findings_of(tool, printed)
            known[name] = printed
        return known[name]

    return asked


def findings_by_tool(
    sanitizer: Callable[[str, V], Printed], versions: Sequence[V], at_once: AtOnce
) -> Callable[[str], list[Counter[str]]]:
    """Run all tools over versions -> what gives a tool's findings in each; it raises ``Inconclusive`` where one failed.

    A run that fails beside others, which may have taken its memory or time, is made once more alone.

    Args:
        sanitizer: Runs a tool, the first argument, over a version.
        versions: The versions.
        at_once: Makes the runs.
    """
    found: dict[tuple[str, int], Counter[str]] = {}

    def examine(tool: str, number: int) -> None:
        with suppress(Inconclusive):
            found[tool, number] = findings_of(tool, sanitizer(tool, versions[number]))

    def findings(tool: str) -> list[Counter[str]]:
        return [
            found[tool, number] if (tool, number) in found else findings_of(tool, sanitizer(tool, version))
            for number, version in enumerate(versions)
        ]

    at_once([partial(examine, tool, number) for tool in TOOLS for number in range(len(versions))])
    return findings


def _kind(head: str) -> str:
    """A finding without its place: ``Race reported between Write access``."""
    return _PLACE.sub("", _SEVERITY.sub("", head)).strip().rstrip(".")


def compared(original: Mapping[str, int], variant: Mapping[str, int]) -> str:
    """The variant's new findings, as a clause; empty where the original has as many of each kind."""
    new = {kind: count - original.get(kind, 0) for kind, count in variant.items() if count > original.get(kind, 0)}
    return "; ".join(
        f"{kind} ({count} more)" if kind in original else f"{kind} ({count})" for kind, count in new.items()
    )
