"""Public names of ncuview, loaded on first use; the records get their notebook HTML here on import.

The names in ``__all__`` are the whole public surface, and all that ``dir`` shows: functions, records, options, errors
and plots. Functions are imported on first use, so that ``import ncuview`` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ncuview.base.version import VERSION

if TYPE_CHECKING:
    from ncuview.api import analyze, check, compare, diagnose, ladder, read, run
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
    from ncuview.render.frames import findings_frame, metrics_frame, walls_frame
    from ncuview.render.plots import plot_ladder, plot_walls

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
    "check": "ncuview.api",
    "compare": "ncuview.api",
    "diagnose": "ncuview.api",
    "findings_frame": "ncuview.render.frames",
    "ladder": "ncuview.api",
    "metrics_frame": "ncuview.render.frames",
    "plot_ladder": "ncuview.render.plots",
    "plot_walls": "ncuview.render.plots",
    "read": "ncuview.api",
    "render": "ncuview.render",
    "run": "ncuview.api",
    "walls_frame": "ncuview.render.frames",
}
_EARLIER = {"load_rules": "ncuview.api", "profile": "ncuview.api", "scrub": "ncuview.reader.scrub"}
"""Names of 0.1 that work as before and are not shown."""

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
    "check",
    "compare",
    "diagnose",
    "findings_frame",
    "ladder",
    "metrics_frame",
    "plot_ladder",
    "plot_walls",
    "read",
    "render",
    "run",
    "walls_frame",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name) or _EARLIER.get(name)
    if home is None:
        raise AttributeError(f"module 'ncuview' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return list(__all__)


def _leave_render_to_the_function() -> None:
    """Load the package that shares its name with a public function, so that it does not hide it later.

    The import system names a package in ours once, when it first loads it.
    """
    import_module("ncuview.render")
    globals().pop("render", None)  # gone already when a notebook reloads us


def _shown_in_notebooks(answer: Any) -> str:
    """The answer as HTML; notebooks ask for it under the name ``_repr_html_``."""
    from ncuview.render.notebook import answer_html

    return answer_html(answer)


def _show_answers_in_notebooks() -> None:
    """Give answers their HTML here, as the records themselves import no page."""
    for name in ("Profile", "Diagnosis", "Ladder", "LaunchDiagnosis"):
        __getattr__(name)._repr_html_ = _shown_in_notebooks


_leave_render_to_the_function()
_show_answers_in_notebooks()
