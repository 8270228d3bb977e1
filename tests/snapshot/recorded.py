"""Snapshots of the launches that are recorded here: the catalogue's, and those of the labelled programs."""

from __future__ import annotations

from pathlib import Path

from ncuview.api import load_rules
from ncuview.diagnose.rank import diagnose
from ncuview.model import Diagnosis
from ncuview.paths import shipped
from ncuview.profiled import read_with_sources
from ncuview.report.host_times import with_host_times_of
from tests.snapshot import Snapshot, snapshot_of

_ROOT = Path(__file__).resolve().parents[2]
_LABELLED = _ROOT / "benchmarks" / "accuracy"
SETS = {"catalogue": shipped("kernels"), "labelled": _LABELLED}
"""Set -> the folder above its reports."""


def recorded_snapshot(name: str) -> Snapshot:
    """Diagnose all recorded launches of a set."""
    codes = [rule.text.code for rule in load_rules()]
    reports = sorted(SETS[name].glob("*/*.ncu-repz"))
    assert reports, f"no recorded reports in {SETS[name]}"
    return snapshot_of(((_name(report), _diagnosed(report)) for report in reports), codes)


def _name(report: Path) -> str:
    return f"{report.parent.name}/{report.name.removesuffix('.ncu-repz')}"


def _diagnosed(report: Path) -> Diagnosis:
    return diagnose(with_host_times_of(read_with_sources([report]), report), load_rules())
