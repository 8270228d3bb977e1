"""``Failure``: why an answer is missing or incomplete, as id, message, hint and exit code, to be stored in a result.

``failure_of`` makes one from an ``NcuviewError``, with secrets masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ncuview.base.errors import NcuviewError
from ncuview.base.masking import masked
from ncuview.records.schema import Limits


@dataclass(frozen=True)
class Failure:
    """Why an answer is missing or incomplete."""

    id: Annotated[str, Limits(shortest=1)]
    """Its stable name, as ``NcuviewError.id``: ``NCU-PERM``, ``ReportDamaged``."""
    message: str
    """What happened."""
    hint: str
    """What the user can do next; may be empty."""
    exit_code: Annotated[int, Limits(one_of=(2, 3, 4, 5, 6, 70))]
    """The exit code of the run, unless a worse failure happened too."""


def failure_of(error: NcuviewError) -> Failure:
    """An error as part of an answer."""
    return Failure(error.id, masked(str(error)), masked(error.hint), error.exit_code)
