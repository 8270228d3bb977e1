"""The archive for a bug report: complete, and without what is the user's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import NcuRefused, UsageError
from ncuview.base.paths import keep_error, last_error
from ncuview.base.report_files import named_path
from ncuview.base.version import VERSION
from ncuview.doctor.facts import Private, environment

USER, HOST, TOKEN, PROGRAM = "adalovelace", "enginehost7", "hf_Qx91mZrT7vKw3pLn5sYd", "babbage_solver"
PLANTED = (USER, HOST, TOKEN, PROGRAM, "3f1c9a52")
GPU = "GPU-3f1c9a52-0000-1111-2222-333344445555"

PLAYED = f"""
import sys
from ncuview.base import system
system.host_name = lambda: "{HOST}.example.org"
from ncuview.doctor import commands, competition
from ncuview.doctor.verdict import Evidence, warn
import ncuview.doctor as checkup
from dataclasses import replace

def others(machine):
    return warn("another program computes on the GPU", Evidence("nvidia-smi", "process 7 {PROGRAM}"), fix="Wait.")

def reported(machine):
    seen = Evidence("/proc/version", "Linux ({USER}@{HOST}) /scratch/{USER}/x --token={TOKEN}")
    return warn("odd", seen, fix="{GPU}")

asks = {{"gpu-processes": others, "virtualization": reported}}
checkup.CHECKS = tuple(replace(each, ask=asks.get(each.name, each.ask)) for each in checkup.CHECKS)
from ncuview.cli import main
main()
"""


@pytest.fixture
def planted(tmp_path: Path) -> dict[str, str]:
    """Variables of a user, with secrets; and an ncu that says its version."""
    tools = tmp_path / USER / "bin"
    tools.mkdir(parents=True)
    ncu = tools / "ncu"
    ncu.write_text(f"#!/bin/sh\necho 'Version 2026.3.1.0 of {USER} on {HOST}'\n")
    ncu.chmod(0o755)
    return {
        "HOME": f"/home/{USER}",
        "USER": USER,
        "LOGNAME": USER,
        "HOSTNAME": HOST,
        "HF_TOKEN": TOKEN,
        "MY_PROGRAM": PROGRAM,
        "LANG": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": GPU,
        "LD_LIBRARY_PATH": f"/home/{USER}/lib",
        "PATH": f"{tools}:/usr/bin:/bin",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }


def held(archive: Path) -> dict[str, Any]:
    with zipfile.ZipFile(archive) as opened:
        assert all(info.date_time == (1980, 1, 1, 0, 0, 0) for info in opened.infolist())
        return {name: json.loads(opened.read(name)) for name in opened.namelist()}


def test_the_archive_holds_what_helps_and_nothing_that_is_planted(
    planted: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", planted["XDG_STATE_HOME"])
    keep_error(NcuRefused(f"{PROGRAM} of {USER} on {HOST}", id="NCU-UNKNOWN"), 5)
    archive = tmp_path / "bundle.zip"
    command = [sys.executable, "-P", "-c", PLAYED, "doctor", "--bundle", str(archive)]
    ended = subprocess.run(command, env=planted, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode in {0, 5}, ended.stderr
    assert "was written" in ended.stderr
    found = held(archive)
    text = json.dumps(found).lower()
    assert not [word for word in PLANTED if word.lower() in text]
    assert found.keys() == {"doctor.json", "versions.json", "environment.json", "last-error.json"}
    assert len(found["doctor.json"]["checks"]) == 23
    about = found["versions.json"]
    assert (about["ncuview"], about["python"], about["ncu"]) == (VERSION, sys.version.split()[0], "2026.3.1")
    assert about["packages"].keys() >= {"ncu-report", "numpy", "pandas", "typer"}
    assert about["driver"]
    assert found["environment.json"] == {
        "LANG": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "GPU-***",
        "LD_LIBRARY_PATH": "(set)",
        "PYTHONPATH": "(set)",
    }
    assert found["last-error.json"] == {"ncuview": VERSION, "id": "NCU-UNKNOWN", "exit_code": 5, "places": []}


def test_only_listed_variables_are_shown() -> None:
    assert environment({"SECRET": "x", "TERM": "xterm", "TMPDIR": "/scratch/x"}) == {"TERM": "xterm", "TMPDIR": "(set)"}


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("/home/somebody/x and /Users/else/y", "~/x and ~/y"),
        (r"C:\Users\somebody\x", r"~\x"),
        (f"{Path('~root').expanduser()}/x", "~/x"),
        ("ada@analytical.example", "***"),
        ("ADA-7 and adaptive", "***-7 and adaptive"),
        ("MIG-3f1c9a52-0000-1111-2222-333344445555", "MIG-***"),
        ("/homestead", "/homestead"),
    ],
)
def test_texts_lose_names(text: str, scrubbed: str) -> None:
    assert Private(("ada",)).scrubbed({"a": [text, 1, None]}) == {"a": [scrubbed, 1, None]}


def test_the_last_error_holds_places_of_ncuview_and_no_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert last_error() is None
    with pytest.raises(UsageError) as caught:
        named_path("")
    keep_error(caught.value, 70)
    found = last_error()
    assert found is not None
    assert found["id"] == "UsageError"
    (place,) = found["places"]
    assert place.startswith("base/report_files.py:")
    assert "folder is empty" not in json.dumps(found)


def test_nothing_is_kept_where_it_cannot_be_written_or_by_sudo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", f"{os.devnull}/x")
    keep_error(ValueError(), 70)
    assert last_error() is None
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("SUDO_UID", "1000")
    keep_error(ValueError(), 70)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["[1]", "{", "[" * 100_000])
def test_a_file_that_is_no_error_is_none(content: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "ncuview").mkdir()
    (tmp_path / "ncuview" / "last-error.json").write_text(content)
    assert last_error() is None
