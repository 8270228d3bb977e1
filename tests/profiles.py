"""Profiles and diagnoses of recorded reports, made once for all tests, all workers and all runs of the same code.

NVIDIA's reader takes a second for a report, most of it to start. Tests of the reader itself read reports themselves.
"""

from __future__ import annotations

import fcntl
import hashlib
import pickle
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import pytest

import ncuview
from ncuview.api import ladder, load_rules
from ncuview.base.errors import ReportError
from ncuview.base.paths import shipped
from ncuview.catalogue.kernels import recorded_report
from ncuview.engine.rank import diagnose
from ncuview.pipeline import profiled
from ncuview.reader import reader
from ncuview.reader.child import PrestartedChildren
from ncuview.reader.host_times import with_host_times_of
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Profile

CACHE = Path(__file__).parent / ".cache"
PACKAGE = Path(ncuview.__file__).parent
RECORDED = sorted(shipped("kernels").glob("*/h200.ncu-repz"))
"""The recorded profiles of the catalogue, one of each family."""
LABELLED = sorted((Path(__file__).parents[1] / "validation" / "h200").glob("*.ncu-repz"))
"""The reports of the labelled programs; tests of all of them are nightly."""
_IN_MEMORY = 64
Made = TypeVar("Made")


def read_stored(
    paths: Sequence[str | Path],
    kernel: str = "",
    prestarted: PrestartedChildren | None = None,
    *,
    instructions: bool = True,
    meanwhile: Callable[[], object] | None = None,
) -> Profile:
    """What stands in for ``ncuview.reader.reader.read``: recorded profiles from the store, all else as it is read."""
    if prestarted or not instructions or not paths or not {*map(Path, paths)} <= {*RECORDED}:
        return read(paths, kernel, prestarted, instructions=instructions, meanwhile=meanwhile)
    return profile_of(*map(Path, paths), kernel=kernel)


def read_each_stored(paths: Sequence[str | Path]) -> Iterator[Profile | ReportError]:
    """What stands in for ``ncuview.reader.reader.read_each``, as ``read_stored`` for ``read``."""
    for path in paths:
        try:
            yield read_stored([path])
        except ReportError as error:
            yield error


@contextmanager
def stored_profiles() -> Iterator[None]:
    """Whatever reads recorded profiles in the meantime gets those of the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "read", read_stored)
        patch.setattr(reader, "read_each", read_each_stored)
        patch.setattr(profiled, "early_reader", lambda *_: nullcontext())
        yield


@lru_cache(maxsize=_IN_MEMORY)
def profile_of(*reports: Path, kernel: str = "") -> Profile:
    """The launches of reports, as ``ncuview.reader.reader.read`` gives them."""
    return once(CACHE / "profiles" / READER, f"{_content(*reports)} {kernel}", lambda: read(reports, kernel))


@cache
def recorded_profile(family: str) -> Profile:
    """A family's recorded profile, with the host's times where it has them."""
    report = recorded_report(family)
    return with_host_times_of(profile_of(report), report)


@cache
def recorded_diagnosis(family: str) -> Diagnosis:
    """What the shipped rules say of each launch of a family's recorded profile."""
    return _diagnosed(family, lambda: diagnose(recorded_profile(family), load_rules(), "recorded"))


@cache
def recorded_ladder(family: str) -> Ladder:
    """A family's ladder, from its recorded profile."""

    def made() -> Ladder:
        with stored_profiles():
            return ladder(family, load_rules(), live=False)

    return _diagnosed(f"ladder of {family}", made)


@lru_cache(maxsize=_IN_MEMORY)
def labelled_diagnosis(report: Path) -> Diagnosis:
    """What the shipped rules say of each launch of a labelled program."""
    return _diagnosed(_content(report), lambda: diagnose(profile_of(report), load_rules(), "report"))


def _content(*reports: Path) -> str:
    return " ".join(f"{hashlib.sha256(report.read_bytes()).hexdigest()} {report}" for report in reports)


def _diagnosed(name: str, make: Callable[[], Made]) -> Made:
    return once(CACHE / "diagnoses" / EVERYTHING, name, make)


def once(folder: Path, name: str, make: Callable[[], Made]) -> Made:
    """What was made under this name before, by whatever process; else what is made now, while others wait for it."""
    file = folder / hashlib.sha256(name.encode()).hexdigest()
    if not file.exists():
        _only(folder)
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets go of it when the process ends, however it ends
            if not file.exists():
                unfinished = file.with_suffix(".new")
                unfinished.write_bytes(pickle.dumps(make(), pickle.HIGHEST_PROTOCOL))
                unfinished.replace(file)
    made: Made = pickle.loads(file.read_bytes())
    return made


def _only(folder: Path) -> None:
    """Make a folder, and remove the others in its parent, which other code has filled."""
    folder.mkdir(parents=True, exist_ok=True)
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def version_of(files: Iterable[Path]) -> str:
    """A word that changes when one of the files does, or a library that the data depends on."""
    libraries = [f"{name} {version(name)}" for name in ("ncu-report", "numpy", "pandas")]
    digest = hashlib.sha256(repr([sys.version_info, *libraries]).encode())
    for file in sorted(files):
        digest.update(f"{file} {hashlib.sha256(file.read_bytes()).hexdigest()}".encode())
    return digest.hexdigest()


def _below(folder: Path) -> list[Path]:
    found = (file for file in folder.rglob("*") if "__pycache__" not in file.parts)  # others write there meanwhile
    return [file for file in found if file.is_file()]


READER_FILES = [
    *(file for package in ("base", "records", "reader") for file in _below(PACKAGE / package)),
]
"""What makes a profile of a report."""
READER = version_of(READER_FILES)
EVERYTHING = version_of([*_below(PACKAGE), *_below(shipped("kernels")), *_below(shipped("rules"))])
"""Of what makes a diagnosis of a recorded profile."""
