"""Child processes that a report harms: ``harm``; how many reports each reads: ``noted``; equal profiles: ``same``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ncuview.base.errors import ReportError
from ncuview.base.paths import shipped
from ncuview.reader.child import Children, Failure, Shard
from ncuview.reader.columns import Answer
from ncuview.reader.precheck import read_report
from ncuview.records.profile import Profile

if TYPE_CHECKING:
    import pytest

FAMILIES = ("transfers", "occupancy", "texture", "bank_patterns", "divergence")
SMALL = [shipped("kernels") / family / "h200.ncu-repz" for family in FAMILIES]


def noted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many reports each child process is given from now on."""
    given: list[int] = []
    started = Children.read

    def read(children: Children, shards: Sequence[Shard], *, with_code: bool) -> list[Answer | Failure]:
        given.append(len(shards))
        return started(children, shards, with_code=with_code)

    monkeypatch.setattr(Children, "read", read)
    return given


def harm(monkeypatch: pytest.MonkeyPatch, folder: Path, path: Path, does: str) -> None:
    """Let NVIDIA's reader do something when it loads a report."""
    digest = hashlib.sha256(read_report(path)).hexdigest()
    script = folder / "child"
    script.write_text(
        f"#!{sys.executable}\n"
        "import hashlib, os, signal, sys, time\n"
        "import ncuview.reader.native as native\n"
        "prepared = native._prepared\n"
        "def guarded(ncu_report, report):\n"
        "    load = prepared(ncu_report, report)\n"
        "    def loaded():\n"
        "        with open(report, 'rb') as file:\n"
        f"            if hashlib.sha256(file.read()).hexdigest() == '{digest}':\n"
        f"                {does}\n"
        "        return load()\n"
        "    return loaded\n"
        "native._prepared = guarded\n"
        "native.main(*sys.argv[6:])\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))


def same(found: Profile | ReportError, expected: Profile, path: Path) -> None:
    assert isinstance(found, Profile), found
    for name in ("launches", "metrics", "instructions"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        if name == "launches":
            assert set(ours["report"]) == {str(path)}
            ours, theirs = ours.drop(columns="report"), theirs.drop(columns="report")
        pd.testing.assert_frame_equal(ours, theirs)
    assert found.units == expected.units
    assert {name: text for (_, name), text in found.sources.items()} == {
        name: text for (_, name), text in expected.sources.items()
    }
    assert [info.damage for info in found.reports] == [info.damage for info in expected.reports]
