"""The tool that compares two releases of ncu, on outputs as they print them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tools.new_release", reason="needs the tools beside the tests")
from tools.new_release import main

METRICS = """Device NVIDIA H200 (GH100)
---------------------- --------- ---------- ----------------------------
Metric Name            Type      Unit       Description
---------------------- --------- ---------- ----------------------------
dram__bytes_read       Counter   byte       # of bytes read from DRAM
lts__t_sectors         Counter   sector     # of LTS sectors
sm__cycles_active      Counter   cycle      # of cycles with a warp
pmsampling__something  Counter              not of the plan
"""
SECTIONS = """---------------- --------------- ------- --------
Identifier       Display Name    Enabled Filename
---------------- --------------- ------- --------
LaunchStats      Launch          no      a.section
SpeedOfLight     Speed Of Light  no      b.section
"""
HELP = """General Options:
  -h [ --help ]      Print this help.
  -v [ --version ]   Print the version.
  --clock-control arg (=base)   Clock control:
                                base
                                none
  --kernel-name arg  Filter by name.
  --nvtx             NVTX. See also --print-nvtx-rename.
"""
PLAN = '==PROF== Profiling "k" - 0 (1/1): 0%....50%....100% - 6 passes\n'
DENIED = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
FILES = {
    "version.txt": "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 1)\n",
    "metrics.txt": METRICS,
    "sections.txt": SECTIONS,
    "help.txt": HELP,
    "plan.txt": PLAN,
    "failures/NCU-PERM.txt": DENIED,
}


def saved(folder: Path, **changed: str | None) -> Path:
    """A folder with the outputs of a release; ``changed`` by the name of the file, None for one that is missing."""
    for name, text in FILES.items():
        content = changed.get(Path(name).stem.replace("-", "_"), text)
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return folder


def compared(tmp_path: Path, capsys: pytest.CaptureFixture[str], **changed: str | None) -> tuple[int, str]:
    code = main(["compare", str(saved(tmp_path / "old")), str(saved(tmp_path / "new", **changed))])
    return code, capsys.readouterr().out


def test_the_same_release_needs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = compared(tmp_path, capsys)
    assert code == 0
    assert "! " not in text
    assert "ncu 2025.3.1.0 -> 2025.3.1.0" in text
    assert "3 of the plan's " in text
    assert "sets: not compared: sets.txt is missing" in text


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {"metrics": METRICS.replace("lts__t_sectors ", "lts__t_slices  ")},
            "metric of the plan is gone: lts__t_sectors",
        ),
        (
            {"metrics": METRICS.replace("byte  ", "KiB   ")},
            "metric of the plan is described otherwise: dram__bytes_read: 'Counter byte # of bytes",
        ),
        ({"plan": PLAN.replace("6", "7")}, "passes of the plan, launch by launch: [6] -> [7]"),
        ({"plan": "nothing"}, "plan: no launch was profiled with it"),
        ({"help": HELP.replace("--clock-control", "--clocks")}, "option that ncuview gives is gone: --clock-control"),
        (
            {"NCU_PERM": "==PROF== Connected\n==ERROR== No access to counters\n"},
            "failure text: new/NCU-PERM.txt is taken for NCU-UNKNOWN, not NCU-PERM",
        ),
    ],
)
def test_what_ncuview_must_follow_is_marked(
    changed: dict[str, str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = compared(tmp_path, capsys, **changed)
    assert code == 1
    assert f"! {line}" in text


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"metrics": f"{METRICS}tma__requests  Counter  request  #\n"}, "metrics, new: tma__requests"),
        ({"sections": SECTIONS.replace("LaunchStats ", "LaunchTable ")}, "sections, gone: LaunchStats"),
        ({"help": f"{HELP}  --new-option  It is new.\n"}, "options, new: new-option"),
        ({"plan": None}, "plan: not compared: plan.txt is missing"),
        ({"version": "?"}, "ncu 2025.3.1.0 -> (unknown)"),
    ],
)
def test_what_else_changed_is_listed(
    changed: dict[str, str | None], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = compared(tmp_path, capsys, **changed)
    assert code == 0, text
    assert f"  {line}" in text


def test_any_other_words_show_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "tools.new_release compare OLD NEW" in capsys.readouterr().out


def test_what_the_installed_ncu_prints_is_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ncu = tmp_path / "bin" / "ncu"
    ncu.parent.mkdir()
    ncu.write_text('#!/bin/sh\ncase "$1" in --version) echo Version 1.2.3;; *) echo "$@" >&2;; esac\n')
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ncu.parent}:/usr/bin:/bin")
    assert main(["save", str(tmp_path / "now"), "true"]) == 0
    assert (tmp_path / "now" / "version.txt").read_text() == "Version 1.2.3\n"
    assert (tmp_path / "now" / "metrics.txt").read_text() == "--query-metrics\n"
    assert "--metrics=" in (tmp_path / "now" / "plan.txt").read_text()
