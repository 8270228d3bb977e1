"""The types of an ablation: ``Ablation``, a ``Change`` of the source that removes one waste whatever the results."""

from __future__ import annotations

from dataclasses import dataclass

from ncuview.patch.patch import Change


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
        """The variant's source, from the original's; insertions at one place keep their order."""
        parts, at = list[bytes](), 0
        for each in sorted(self.change.replacements, key=lambda replacement: (replacement.start, replacement.end)):
            parts += [source[at : each.start], each.text.encode("utf-8", "surrogateescape")]
            at = each.end
        return b"".join([*parts, source[at:]])
