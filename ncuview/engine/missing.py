"""Find the metrics that a rule needs and a launch is missing, and word the reason and the remedy for a skipped outcome.

``missing_metrics`` returns the names, ``why_missing`` and ``why_unknown`` the sentence, such as ncu's option to add.

Exports of others are missing most metrics, in the same way for all their launches, so each answer is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ncuview.base.report_files import is_csv_export
from ncuview.engine.rule_file import DERIVED_PREFIX, Rule
from ncuview.gpus import FIGURE_NAMES
from ncuview.metrics.instruction_table import executed_by_launch
from ncuview.metrics.quantities import DERIVED, OF_SOME_CHIPS, SAMPLES
from ncuview.reader.validity import refused

if TYPE_CHECKING:
    from ncuview.records.profile import Profile

_Names = tuple[str, ...]
_DIFFERENT = 1 << 12

_known: WeakKeyDictionary[Profile, list[frozenset[str]]] = WeakKeyDictionary()


def missing_metrics(rule: Rule, profile: Profile, launch: int) -> _Names:
    """The newest name of each metric of which this launch has no form at all."""
    needed = tuple(map(tuple, rule.text.metrics.values()))
    return _missing(needed, known_metrics(profile)[launch], frozenset(refused(profile, launch)))


def why_missing(missing: _Names, profile: Profile, launch: int) -> str:
    """Why there is no value of these metrics, each cause with its metrics where there are several, and what helps."""
    told, known = refused(profile, launch), known_metrics(profile)[launch]
    # Of metrics that only serve together, some may be there.
    unknown = [name for name in missing if name not in known] or list(missing)
    wrong = [f"{name} is {told[name]:g}" for name in unknown if name in told]
    lacking: dict[str, list[str]] = {}
    for name in unknown:
        if name not in told:
            cause = "no value in the report" if name in profile.metrics.columns else "not collected"
            lacking.setdefault(cause, []).append(name)
    causes = [f"the report says that {', '.join(wrong)}, which cannot be"] if wrong else []
    if not lacking:
        return f"{causes[0]}. Profile again"
    is_only_cause = len(causes) + len(lacking) == 1
    for cause, names in sorted(lacking.items()):
        causes.append(cause if is_only_cause else f"{cause}: {', '.join(names)}")
    return f"{'; '.join(causes)}. Collect with: ncu --metrics {','.join(missing)}"


def why_unknown(rule: Rule, values: Mapping[str, float], profile: Profile, launch: int) -> str:
    """Why a value is unknown although all metrics that it needs are there."""
    if unknown := [FIGURE_NAMES[name] for name in rule.gpu_figures if np.isnan(values[name])]:
        device = str(profile.launches.at[launch, "device"]) or "this GPU"
        return f"{', '.join(unknown)} of {device} is not known: run `ncuview calibrate` on it"
    if launch not in executed_by_launch(profile):
        return no_code(str(profile.launches.at[launch, "report"]))
    unknown = [alias for alias in rule.text.metrics if np.isnan(values[alias])]
    if all(_is_sampled(rule.text.metrics[alias][0]) for alias in unknown):
        return "the launch is too short to have been sampled, or not for every reason to stall"
    return f"{', '.join(unknown)} cannot be computed from the numbers in the report"


def no_code(report: str) -> str:
    """Why a launch of this report has no machine code, and how to get it."""
    if is_csv_export(Path(report)):
        return "a CSV export holds no machine code: give the .ncu-rep that it was made from"
    return (
        "the report holds no machine code of this launch; profiled with --import-sass no, or it was removed: "
        "profile again with --import-sass yes"
    )


def known_metrics(profile: Profile) -> list[frozenset[str]]:
    """Of each launch the metrics that have a value."""
    if profile not in _known:
        names = np.array(list(profile.metrics.columns), dtype=object)
        finite = np.isfinite(profile.metrics.to_numpy(np.float64))
        sets = {row.tobytes(): row for row in finite}
        shared = {kind: frozenset(names[row].tolist()) for kind, row in sets.items()}
        _known[profile] = [shared[row.tobytes()] for row in finite]
    return _known[profile]


@lru_cache(_DIFFERENT)
def _missing(needed: tuple[_Names, ...], known: frozenset[str], wrong: frozenset[str]) -> _Names:
    missing: dict[str, None] = {}
    for names in needed:
        if names[0].startswith(DERIVED_PREFIX):
            missing.update(dict.fromkeys(_lacking(_derived_from(names[0]), known, wrong)))
        elif known.isdisjoint(names):
            missing[names[0]] = None
    return tuple(missing)


def _lacking(names: Iterable[str], known: frozenset[str], wrong: frozenset[str]) -> list[str]:
    return [name for name in names if name in wrong or (name not in known and name not in OF_SOME_CHIPS)]


def _derived_from(name: str) -> _Names:
    return tuple(DERIVED[name.removeprefix(DERIVED_PREFIX)].metrics)


def _is_sampled(name: str) -> bool:
    return name.startswith(DERIVED_PREFIX) and set(SAMPLES) <= set(_derived_from(name))
