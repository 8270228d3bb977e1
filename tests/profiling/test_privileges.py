"""Under sudo the program has its user's rights, and ncu no variables of that user that load code."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ncuview.profiling.callable import program_of
from ncuview.profiling.job import Job, profile
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.privileges import invoking_user, variables_for_ncu
from ncuview.reader.precheck import launches_in
from tests.conftest import UNSAFE
from tests.profiling.played import AS_NCU, BEGUN, DONE, arrange

NOBODY = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def test_root_itself_is_no_invoking_user(sudo: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    for uid in ("0", "4294967000", "me", ""):
        sudo(uid)
        assert invoking_user() is None
        assert variables_for_ncu().keys() >= UNSAFE
    monkeypatch.delenv("SUDO_UID")
    assert invoking_user() is None


def test_a_user_without_root_s_rights_needs_not_give_them_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncuview.profiling.privileges.os.geteuid", lambda: 1000)
    monkeypatch.setenv("SUDO_UID", str(NOBODY.pw_uid))
    assert invoking_user() is None


def test_who_called_sudo_is_known_and_cannot_have_ncu_load_code(sudo: Callable[[str], None]) -> None:
    sudo(str(NOBODY.pw_uid))
    user = invoking_user()
    assert user is not None
    assert (user.uid, user.gid, user.name) == (NOBODY.pw_uid, NOBODY.pw_gid, "nobody")
    assert not variables_for_ncu().keys() & UNSAFE
    assert "PATH" in variables_for_ncu()


@needs_root
def test_the_program_runs_as_the_user(sudo: Callable[[str], None]) -> None:
    sudo(str(NOBODY.pw_uid))
    user = invoking_user()
    assert user is not None
    words = user.runs(["/bin/sh", "-c", 'id -u; id -g; echo "$HOME" "$A" "$1"', "sh", "$x"], {"A": "b=c d"})
    done = subprocess.run(words, capture_output=True, cwd="/", text=True, check=True)
    assert done.stdout.splitlines() == [str(user.uid), str(user.gid), f"{NOBODY.pw_dir} b=c d $x"]
    caps = subprocess.run(user.runs(["/bin/grep", "CapEff", "/proc/self/status"], {}), capture_output=True, check=True)
    assert int(caps.stdout.split()[1], 16) == 0
    bound = user.runs(["/bin/grep", "NoNewPrivs", "/proc/self/status"], {})
    new = subprocess.run(bound, capture_output=True, check=True)
    assert new.stdout.split()[1] == b"1"


@needs_root
def test_ncu_keeps_root_s_rights_and_the_report_is_the_user_s(
    sudo: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sudo(str(NOBODY.pw_uid))
    ncu = tmp_path / "ncu"
    ncu.write_text(f"#!/bin/sh\n{AS_NCU}\n")
    ncu.chmod(0o755)
    for folder in ("work", "out"):
        (tmp_path / folder).mkdir()
    words = tmp_path / "words"
    variables = arrange(tmp_path / "scenario.json", say=[["stdout", BEGUN + DONE]], report=True, words=str(words))
    monkeypatch.setenv("FAKE_NCU", variables["FAKE_NCU"])
    job = Job(ncu, ["true", "--reuid=0"], ["m"], tmp_path, launches_in, variables={"PYTHONPATH": "/of the host"})
    (report,) = profile(job, tmp_path / "work", tmp_path / "out" / "mine").complete_reports()
    assert [(file.name, file.stat().st_uid) for file in sorted(report.parent.iterdir())] == [
        ("mine.ncu-rep", NOBODY.pw_uid),
        ("mine.ncu-rep.sha256", NOBODY.pw_uid),
    ]
    (argv,) = [json.loads(line) for line in words.read_text().splitlines()]
    command = argv[argv.index(sys.executable) :]
    assert command[4:7] == [str(NOBODY.pw_uid), str(NOBODY.pw_gid), "nobody"]
    assert command[-4:] == ["PYTHONPATH=/of the host", "--", shutil.which("true"), "--reuid=0"]


@needs_root
def test_a_function_that_was_sent_is_the_user_s(sudo: Callable[[str], None], tmp_path: Path) -> None:
    sudo(str(NOBODY.pw_uid))
    program_of(os.getpid, NcuOptions(), tmp_path)
    sent = tmp_path / "sent"
    assert {path.stat().st_uid for path in (sent, *sent.iterdir())} == {NOBODY.pw_uid}
    assert (tmp_path.stat().st_uid, tmp_path.stat().st_mode & 0o777) == (0, 0o711)
