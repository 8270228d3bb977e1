"""Snapshots of the launches that are recorded here: the catalogue's, and those of the labelled programs."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ncuview.api import load_rules
from ncuview.records.diagnosis import Diagnosis
from tests.profiles import RECORDED, labelled_diagnosis, recorded_diagnosis
from tests.snapshot import Snapshot, snapshot_of

_LABELLED = Path(__file__).resolve().parents[2] / "validation"
_OTHER_GPU = "h100"


def catalogue() -> Snapshot:
    """The diagnoses of the catalogue's recorded launches."""
    return _snapshot((_name(report), recorded_diagnosis(report.parent.name)) for report in RECORDED)


def labelled() -> Snapshot:
    """The diagnoses of the labelled programs' launches on the GPU that all of them were recorded on."""
    return _of_reports(report for report in _LABELLED.glob("*/*.ncu-repz") if report.parent.name != _OTHER_GPU)


def labelled_elsewhere() -> Snapshot:
    """The same on another GPU, on which a part of them was recorded too."""
    return _of_reports(_LABELLED.glob(f"{_OTHER_GPU}/*.ncu-repz"))


def _of_reports(reports: Iterable[Path]) -> Snapshot:
    ordered = sorted(reports)
    assert ordered, f"no recorded reports in {_LABELLED}"
    # Processes of their own: they are diagnosed for minutes, and pytest has started threads.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return _snapshot(zip(map(_name, ordered), pool.map(labelled_diagnosis, ordered, chunksize=4), strict=True))


SETS = {"catalogue": catalogue, "labelled": labelled, "labelled-elsewhere": labelled_elsewhere}


def _snapshot(diagnoses: Iterable[tuple[str, Diagnosis]]) -> Snapshot:
    return snapshot_of(diagnoses, [rule.text.code for rule in load_rules()])


def _name(report: Path) -> str:
    return f"{report.parent.name}/{report.name.removesuffix('.ncu-repz')}"
