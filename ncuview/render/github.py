"""GitHub workflow annotations (``::error file=...`` lines) from a ``Diagnosis`` and a ``Gate``: ``workflow_commands``.

Failed checks and advice become annotations, at most ten per level, which GitHub shows at the changed lines.
"""

from __future__ import annotations

from pathlib import Path

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.gate_words import gate_sentence
from ncuview.render.remarks import Remark, Severity, place_in, remarks
from ncuview.render.text import safe_text

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
_SHOWN = 10
"""GitHub shows this many annotations of each level from one step and silently drops the others."""


def workflow_commands(diagnosis: Diagnosis, gate: Gate | None, source_root: Path) -> str:
    """A line for each remark, at most ten of a level; the tenth gives the number of further ones."""
    found = remarks(diagnosis, gate)
    lines = [gate_sentence(gate)] if gate else []
    for severity, command in _COMMANDS.items():
        of_level = [remark for remark in found if remark.severity == severity]
        shown = of_level if len(of_level) <= _SHOWN else of_level[: _SHOWN - 1]
        lines += (_command(command, remark, source_root) for remark in shown)
        if left := len(of_level) - len(shown):
            lines.append(
                f"::{command} title=ncuview::{left:,} more of this level are not shown; other outputs have them"
            )
    return "".join(f"{line}\n" for line in lines)


def _command(command: str, remark: Remark, source_root: Path) -> str:
    place = place_in(remark, source_root)
    properties = {"file": place[0], "line": str(place[1])} if place else {}
    properties["title"] = remark.title
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {listed}::{_data(remark.message)}"


def _data(text: str) -> str:
    return safe_text(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
