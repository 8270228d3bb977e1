"""Read the marked code region of a kernel file that a rule's fix names, such as ``kernels/family/name.cu#region``.

``region`` returns the text between ``ncuview: begin NAME`` and ``ncuview: end NAME``, without its indentation.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from ncuview.base.errors import RuleFileError
from ncuview.base.files import text_of
from ncuview.base.paths import shipped

_MARK = re.compile(r"^\s*(?://|#) ncuview: (?P<edge>begin|end) (?P<name>\S+)$")


def region(reference: str, rule_file: Path) -> str:
    """The code of ``kernels/family/name.cu#region``, without its indentation.

    Args:
        reference: File and region; a path that begins with ``kernels/`` is one of the shipped kernels.
        rule_file: The rule file, which any other path is relative to.

    Raises:
        RuleFileError: The file or the region does not exist.
    """
    path, _, name = reference.partition("#")
    file = (
        shipped("kernels") / path.removeprefix("kernels/") if path.startswith("kernels/") else rule_file.parent / path
    )
    try:
        lines = text_of(file).splitlines()
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise RuleFileError(f"{rule_file}: fix: {path}: {problem}") from error
    marks = {(mark["edge"], mark["name"]): at for at, line in enumerate(lines) if (mark := _MARK.match(line))}
    try:
        begin, end = marks["begin", name], marks["end", name]
    except KeyError as error:
        known = sorted(region for edge, region in marks if edge == "begin")
        problem = f"no region {name!r} in {path}" if name else f"{path} without a region: write {path}#NAME"
        regions = f"; its regions: {', '.join(known)}" if known else "; it has no `// ncuview: begin NAME`"
        raise RuleFileError(f"{rule_file}: fix: {problem}{regions}") from error
    inner = [line for line in lines[begin + 1 : end] if not _MARK.match(line)]
    return textwrap.dedent("\n".join(inner)).strip("\n")
