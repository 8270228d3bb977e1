"""``ncuview doctor`` as a user runs it: page, document and exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ncuview.doctor import LIMIT_S
from ncuview.doctor.commands import LIMIT_S as OF_A_PROGRAM
from tests.command_line import BARE, ROOT, ncuview


def faked(*statuses: str, live: str = 'fail("refused", fix="Ask.")') -> str:
    """Python that lets the checks of the program find this, and --live a refusal, or something else."""
    made = {"OK": 'ok("fine")', "WARN": 'warn("meh", fix="Fix it.")', "FAIL": 'fail("bad", fix="Fix it.")'}
    checks = "".join(f'Checked("c{at}", "C{at}", (), {made[status]}), ' for at, status in enumerate(statuses))
    return (
        "import ncuview.doctor as checkup\nfrom ncuview.doctor import live\n"
        "from ncuview.doctor.verdict import Checked, Examination, fail, ok, warn\n"
        f"checkup.examine_this_machine = lambda: Examination(({checks}))\n"
        'live.live_checks = lambda progress: (Checked("live", "Live", ("NCU-PERM",), ' + live + "),)\n"
    )


@pytest.mark.parametrize(("statuses", "code"), [(["OK"], 0), (["OK", "WARN"], 0), (["OK", "FAIL"], 5), ([], 0)])
def test_only_what_fails_ends_with_5(statuses: list[str], code: int) -> None:
    ended = ncuview("doctor", before=faked(*statuses))
    assert (ended.code, ended.err) == (code, "")


def test_a_live_run_that_fails_ends_with_5() -> None:
    ended = ncuview("doctor", "--live", "--format", "json", before=faked("OK"))
    assert (ended.code, ended.err) == (5, "")
    assert ended.document["live"][0]["ids"] == ["NCU-PERM"]
    assert ncuview("doctor", before=faked("OK")).code == 0


def test_a_live_run_that_succeeds_outweighs_a_check_that_failed() -> None:
    fine = faked("OK", "FAIL", live='ok("profiled in 1 pass")')
    ended = ncuview("doctor", "--live", before=fine)
    assert (ended.code, ended.err) == (0, "")
    assert "Programs can be profiled: it was tried, although these checks failed: C1." in ended.out
    document = ncuview("doctor", "--live", "--format", "json", before=fine).document
    assert (document["failed"], document["counts"]["FAIL"]) == (False, 1)
    assert ncuview("doctor", before=fine).code == 5


def test_a_bare_machine() -> None:
    ended = ncuview("doctor", before=BARE)
    assert (ended.code, ended.err) == (5, "")
    assert ended.out.startswith("Reports can be read. Programs cannot be profiled: ncu (Nsight Compute) is missing")
    assert "  Fix      Install Nsight Compute" in ended.out


def test_a_bare_machine_for_programs() -> None:
    ended = ncuview("doctor", "--format", "json", before=BARE, CANARY_TOKEN="CANARY")
    assert ended.code == 5
    assert {each["name"]: each["status"] for each in ended.document["checks"]}["ncu"] == "FAIL"
    assert "CANARY" not in ended.out


def test_live_on_a_bare_machine_says_what_is_missing() -> None:
    ended = ncuview("doctor", "--live", "--format", "json", before=BARE)
    assert (ended.code, ended.err) == (5, "")
    assert [each["status"] for each in ended.document["live"]] == ["FAIL", "FAIL"]
    assert ended.document["live"][0]["fix"]


def test_programs_that_hang_are_named(tmp_path: Path) -> None:
    for name in ("ncu", "nvidia-smi"):
        (tmp_path / name).write_text(f"#!{sys.executable}\nimport time; time.sleep(600)\n")
        (tmp_path / name).chmod(0o755)
    ended = ncuview("doctor", "--format", "json", before=BARE, path=tmp_path)
    messages = {each["name"]: each["message"] for each in ended.document["checks"]}
    assert messages["ncu"] == f"ncu did not end within {OF_A_PROGRAM:g} s"
    assert messages["mig"] == f"nvidia-smi did not end within {OF_A_PROGRAM:g} s"


def test_a_program_that_hangs_leaves_time_for_its_verdict() -> None:
    assert OF_A_PROGRAM + 1 < LIMIT_S < 10


NOBODY = """
import os
from ncuview.doctor import examine_this_machine
from ncuview.render.doctor import doctor_json
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(doctor_json(examine_this_machine()))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
def test_a_user_without_rights_or_home() -> None:
    environment = {"PATH": "/home/ada/bin:/usr/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", NOBODY], capture_output=True, cwd="/", env=environment, check=True)
    checks = {each["name"]: each for each in json.loads(done.stdout)["checks"]}
    assert checks["folders"]["status"] == "WARN"
    assert checks["administrator"]["status"] != "FAIL"
    assert not [each["message"] for each in checks.values() if "itself failed" in each["message"]]
