"""Type alias ``Answer``, the input of output formats: ``Diagnosis``, ``Ladder`` or ``Comparison``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.ladder import Ladder

    Answer: TypeAlias = Diagnosis | Ladder | Comparison
