"""Where a finding is, and what its change is called, in a few words that come from the user's source."""

from __future__ import annotations

from ncuview.records.diagnosis import Finding, LaunchDiagnosis
from ncuview.render.words import shown_file, subject_words


def place_of(launch: LaunchDiagnosis, finding: Finding) -> str:
    """``transpose.cu:63``; what else the finding is about, or its first instruction, where no line is known."""
    if finding.where:
        return f"{shown_file(finding.where[0].file)}:{finding.where[0].line}"
    if subject := subject_words(launch, finding):
        return subject
    return f"instruction {finding.instructions[0].address:#06x}" if finding.instructions else ""


def title_of(finding: Finding) -> str:
    """The edit of the user's source in a few words; else the change as the rule names it."""
    return finding.edit.title if finding.edit and finding.edit.title else finding.fix.title
