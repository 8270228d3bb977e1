"""ncuview turns a GPU profile into the next change to make.

The names below are the whole public surface; each is imported when it is first used, so that ``import ncuview`` is
cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ncuview.api import analyze, diagnose, ladder, load_rules, read
    from ncuview.errors import NcuviewError
    from ncuview.model import Diagnosis, Ladder, Profile
    from ncuview.render import render
    from ncuview.report.scrub import scrub

__version__ = "0.1.0"

_HOME = {
    "Diagnosis": "ncuview.model",
    "Ladder": "ncuview.model",
    "NcuviewError": "ncuview.errors",
    "Profile": "ncuview.model",
    "analyze": "ncuview.api",
    "diagnose": "ncuview.api",
    "ladder": "ncuview.api",
    "load_rules": "ncuview.api",
    "read": "ncuview.api",
    "render": "ncuview.render",
    "scrub": "ncuview.report.scrub",
}

__all__ = [
    "Diagnosis",
    "Ladder",
    "NcuviewError",
    "Profile",
    "analyze",
    "diagnose",
    "ladder",
    "load_rules",
    "read",
    "render",
    "scrub",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ncuview' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
