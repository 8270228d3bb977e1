"""Known names that an unknown one may stand for: ``did_you_mean`` as a hint, ``suggestion`` as the end of a message.

``did_you_mean_file`` does so for the name of a file that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from ncuview.base.files import may_be_read

_FEW = 20
"""The number of known names that a message lists."""
_MOST_NEAR = 3
_MOST_FILES = 1000
"""The number of files of a folder that are compared with a missing name."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """``Did you mean A or B?`` and ``otherwise`` after it; ``otherwise`` alone where no known name is near.

    Case is ignored.
    """
    return _hint(_nearest(name, known), otherwise)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known names, or all where they are few."""
    names = sorted(known)
    if near := _nearest(name, names):
        return f"; did you mean {' or '.join(near)}?"
    return f"; known here: {', '.join(names)}" if len(names) <= _FEW else ""


def did_you_mean_file(path: Path, otherwise: str) -> str:
    """``did_you_mean`` among the files beside a missing one, or in the folders that its folder may stand for."""
    return _hint([str(each) for each in _near_files(path)[:_MOST_NEAR]], otherwise)


def _near_files(path: Path) -> list[Path]:
    """Where its folder is missing: the file in the nearest folders, or near names in them, or these folders."""
    if not may_be_read(path.parent):
        return []
    try:
        if path.parent == path or path.parent.is_dir():
            beside = [each.name for each in islice(path.parent.iterdir(), _MOST_FILES)]
            return [path.with_name(name) for name in _nearest(path.name, beside)]
        folders = [each for each in _near_files(path.parent) if each.is_dir()]
        here = [each / path.name for each in folders if (each / path.name).exists()]
    except (OSError, ValueError):
        return []
    return here or [near for each in folders for near in _near_files(each / path.name)] or folders


def _hint(near: Sequence[str], otherwise: str) -> str:
    return " ".join(filter(None, [f"Did you mean {' or '.join(near)}?" if near else "", otherwise]))


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    by_letters = {each.lower(): each for each in sorted(known, reverse=True)}
    return [by_letters[each] for each in get_close_matches(name.lower(), by_letters, n=_MOST_NEAR)]
