"""ncuview turns a GPU profile into the next change to make.

The names below are the whole public surface; each is imported when it is first used, so that ``import ncuview`` is
cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ncuview.api import analyze, diagnose, ladder, load_rules, profile, read
    from ncuview.collect.options import NcuOptions
    from ncuview.errors import NcuviewError
    from ncuview.model import Diagnosis, Ladder, LaunchDiagnosis, Profile
    from ncuview.render import render
    from ncuview.render.frames import findings_frame, metrics_frame, walls_frame
    from ncuview.render.plots import plot_ladder, plot_walls
    from ncuview.report.scrub import scrub

__version__ = "0.1.0"

_HOME = {
    "Diagnosis": "ncuview.model",
    "Ladder": "ncuview.model",
    "LaunchDiagnosis": "ncuview.model",
    "NcuOptions": "ncuview.collect.options",
    "NcuviewError": "ncuview.errors",
    "Profile": "ncuview.model",
    "analyze": "ncuview.api",
    "diagnose": "ncuview.api",
    "findings_frame": "ncuview.render.frames",
    "ladder": "ncuview.api",
    "load_rules": "ncuview.api",
    "metrics_frame": "ncuview.render.frames",
    "plot_ladder": "ncuview.render.plots",
    "plot_walls": "ncuview.render.plots",
    "profile": "ncuview.api",
    "read": "ncuview.api",
    "render": "ncuview.render",
    "scrub": "ncuview.report.scrub",
    "walls_frame": "ncuview.render.frames",
}

__all__ = [
    "Diagnosis",
    "Ladder",
    "LaunchDiagnosis",
    "NcuOptions",
    "NcuviewError",
    "Profile",
    "analyze",
    "diagnose",
    "findings_frame",
    "ladder",
    "load_rules",
    "metrics_frame",
    "plot_ladder",
    "plot_walls",
    "profile",
    "read",
    "render",
    "scrub",
    "walls_frame",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ncuview' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def _leave_names_to_functions() -> None:
    """Load the packages that share their name with a public function, so that they do not hide it later.

    The import system names a package in ours once, when it first loads it.
    """
    for name in ("diagnose", "render"):
        import_module(f"ncuview.{name}")
        globals().pop(name, None)  # gone already when a notebook reloads us


def _shown_in_notebooks(answer: Any) -> str:
    """The answer as HTML; notebooks ask for it under the name ``_repr_html_``."""
    from ncuview.render.notebook import answer_html

    return answer_html(answer)


def _show_answers_in_notebooks() -> None:
    """Give answers their HTML here, as the model itself imports nothing of ours."""
    model = import_module("ncuview.model")
    for answer in (model.Profile, model.Diagnosis, model.Ladder, model.LaunchDiagnosis):
        answer._repr_html_ = _shown_in_notebooks


_leave_names_to_functions()
_show_answers_in_notebooks()
