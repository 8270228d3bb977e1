"""The public names of ncuview, in ``__all__``: functions, records, options, errors and plots, imported on first use.

On import it also sets what notebooks show of ``Profile``, ``Diagnosis``, ``Ladder`` and ``LaunchDiagnosis``.

Names of 0.1 that are not in ``__all__`` still work.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ncuview.base.version import VERSION
from ncuview.records.shown import Shown

if TYPE_CHECKING:
    from ncuview.api import analyze, check, compare, diagnose, ladder, read, run, view
    from ncuview.api import load_rules as load_rules
    from ncuview.api import profile as profile
    from ncuview.base.errors import NcuviewError
    from ncuview.comparison.compare import Comparison
    from ncuview.profiling.options import NcuOptions
    from ncuview.reader.scrub import scrub as scrub
    from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
    from ncuview.records.gate import Gate
    from ncuview.records.ladder import Ladder
    from ncuview.records.profile import Profile
    from ncuview.render import render
    from ncuview.render.frames import calls_frame, findings_frame, metrics_frame, units_frame
    from ncuview.render.plots import plot_ladder, plot_units

__version__ = VERSION

_HOME = {
    "Comparison": "ncuview.comparison.compare",
    "Diagnosis": "ncuview.records.diagnosis",
    "Gate": "ncuview.records.gate",
    "Ladder": "ncuview.records.ladder",
    "LaunchDiagnosis": "ncuview.records.diagnosis",
    "NcuOptions": "ncuview.profiling.options",
    "NcuviewError": "ncuview.base.errors",
    "Profile": "ncuview.records.profile",
    "analyze": "ncuview.api",
    "calls_frame": "ncuview.render.frames",
    "check": "ncuview.api",
    "compare": "ncuview.api",
    "diagnose": "ncuview.api",
    "findings_frame": "ncuview.render.frames",
    "ladder": "ncuview.api",
    "metrics_frame": "ncuview.render.frames",
    "plot_ladder": "ncuview.render.plots",
    "plot_units": "ncuview.render.plots",
    "read": "ncuview.api",
    "render": "ncuview.render",
    "run": "ncuview.api",
    "units_frame": "ncuview.render.frames",
    "view": "ncuview.api",
}
_EARLIER = {
    "load_rules": ("ncuview.api", "load_rules"),
    "plot_walls": ("ncuview.render.plots", "plot_units"),
    "profile": ("ncuview.api", "profile"),
    "scrub": ("ncuview.reader.scrub", "scrub"),
    "walls_frame": ("ncuview.render.frames", "units_frame"),
}
"""Names of 0.1 that still work; ``__all__`` and ``dir`` omit them."""

__all__ = [
    "Comparison",
    "Diagnosis",
    "Gate",
    "Ladder",
    "LaunchDiagnosis",
    "NcuOptions",
    "NcuviewError",
    "Profile",
    "analyze",
    "calls_frame",
    "check",
    "compare",
    "diagnose",
    "findings_frame",
    "ladder",
    "metrics_frame",
    "plot_ladder",
    "plot_units",
    "read",
    "render",
    "run",
    "units_frame",
    "view",
]


def __getattr__(name: str) -> Any:
    home, current = (_HOME[name], name) if name in _HOME else _EARLIER.get(name, (None, name))
    if home is None:
        raise AttributeError(f"module 'ncuview' has no attribute {name!r}")
    return getattr(import_module(home), current)


def __dir__() -> list[str]:
    return list(__all__)


def _leave_render_to_the_function() -> None:
    """Load the package ``ncuview.render``, which has the name of a public function, so that it cannot hide it later.

    The import system binds a package's name in this one once, when it first loads the package.
    """
    import_module("ncuview.render")
    globals().pop("render", None)  # already absent when a notebook reloads this package


def _shown_in_notebooks(answer: Any) -> str:
    """The answer as HTML; notebooks call it as the method ``_repr_html_``."""
    from ncuview.render.notebook import answer_html

    return answer_html(answer)


_leave_render_to_the_function()
Shown.as_html = staticmethod(_shown_in_notebooks)
