"""The types of an ablation: ``Ablation``, a ``Change`` of the source that removes one waste whatever the results."""

from __future__ import annotations

from dataclasses import dataclass

from ncuview.patch.patch import Change, Edit


@dataclass(frozen=True)
class Ablation:
    """A variant of a kernel that is compiled and timed, and whose results are wrong.

    Attributes:
        change: What it replaces; the title says what stays.
        in_bounds: Whether every access is inside its array by construction where those of the original are; otherwise
            compute-sanitizer has to show it.
    """

    change: Change
    in_bounds: bool

    def of(self, source: bytes) -> bytes:
        """The variant's source, from the original's."""
        return Edit("", "", source, self.change.replacements).edited.encode("utf-8", "surrogateescape")
