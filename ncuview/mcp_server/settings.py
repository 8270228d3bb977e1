"""``Settings``: what the user lets a client do, and how a worker gets it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True)
class Settings:
    """What a client may have done."""

    roots: tuple[str, ...]
    """Folders that files are read from, without links."""
    rules: tuple[str, ...]
    """Folders with further rules."""
    allow_run: bool
    """Whether programs may be started."""

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: bytes) -> Self:
        """The settings in a line."""
        return cls(**json.loads(line))
