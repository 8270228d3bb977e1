"""Name the metrics that a ``Rule`` needs and a launch does not have, and explain why the rule was skipped.

``missing_metrics`` returns ncu's names; ``why_missing``, ``why_unknown`` and ``no_code`` the cause and the remedy.

In reports of other tools most metrics are missing, the same ones for all launches, so each answer is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ncuview.base.report_files import is_csv_export
from ncuview.engine.rule_file import Rule
from ncuview.gpus import FIGURE_NAMES
from ncuview.metrics.quantities import metrics_of
from ncuview.metrics.quantities.stalls import OF_SOME_CHIPS, SAMPLED

if TYPE_CHECKING:
    from ncuview.metrics.analysis import Analysis

_Names = tuple[str, ...]
_DIFFERENT = 1 << 12


def missing_metrics(rule: Rule, analysis: Analysis, launch: int) -> _Names:
    """The metrics that a rule needs and this launch does not have, under ncu's names."""
    return _missing(rule.inputs, analysis.known_metrics[launch], frozenset(analysis.refused(launch)))


def why_missing(missing: _Names, analysis: Analysis, launch: int) -> str:
    """Why there is no value of these metrics, each cause with its metrics where there are several, and what helps."""
    refused, known = analysis.refused(launch), analysis.known_metrics[launch]
    # Of metrics that are only used together, some may be there.
    unknown = [name for name in missing if name not in known] or list(missing)
    wrong = [f"{name} is {refused[name]:g}" for name in unknown if name in refused]
    absent: dict[str, list[str]] = {}
    for name in unknown:
        if name not in refused:
            cause = "no value in the report" if name in analysis.profile.metrics.columns else "not collected"
            absent.setdefault(cause, []).append(name)
    causes = [f"the report gives an impossible value: {', '.join(wrong)}"] if wrong else []
    if not absent:
        return f"{causes[0]}. Profile again"
    is_only_cause = len(causes) + len(absent) == 1
    for cause, names in sorted(absent.items()):
        causes.append(cause if is_only_cause else f"{cause}: {', '.join(names)}")
    return f"{'; '.join(causes)}. Collect with: ncu --metrics {','.join(missing)}"


def why_unknown(rule: Rule, values: Mapping[str, float], analysis: Analysis, launch: int) -> str:
    """Why a value is unknown although the launch has all metrics that it needs."""
    profile = analysis.profile
    if unknown := [FIGURE_NAMES[name] for name in rule.gpu_figures if np.isnan(values[name])]:
        device = str(profile.launches.at[launch, "device"]) or "this GPU"
        return f"{', '.join(unknown)} of {device} is not known: run `ncuview calibrate` on it"
    if launch not in analysis.instructions:
        return no_code(str(profile.launches.at[launch, "report"]))
    unknown = [name for name in rule.inputs if np.isnan(values[name])]
    if all(set(SAMPLED) <= set(metrics_of(name)) for name in unknown):
        return "the launch is too short for warp samples, or for samples of every stall reason"
    return f"{', '.join(unknown)} cannot be computed from the numbers in the report"


def no_code(report: str) -> str:
    """Why a launch of this report has no machine code, and how to get it."""
    if is_csv_export(Path(report)):
        return "a CSV export contains no machine code: use the .ncu-rep that it was made from"
    return (
        "the report contains no machine code of this launch (--import-sass no, or it was removed): "
        "profile again with --import-sass yes"
    )


@lru_cache(_DIFFERENT)
def _missing(needed: _Names, known: frozenset[str], wrong: frozenset[str]) -> _Names:
    missing: dict[str, None] = {}
    for name in needed:
        missing.update(dict.fromkeys(_absent(metrics_of(name), known, wrong)))
    return tuple(missing)


def _absent(names: Iterable[str], known: frozenset[str], wrong: frozenset[str]) -> list[str]:
    return [name for name in names if name in wrong or (name not in known and name not in OF_SOME_CHIPS)]
