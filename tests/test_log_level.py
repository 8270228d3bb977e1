"""``--log-level``: what is done is reported on standard error, the answer is the same, and secrets are masked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ncuview.base.log import LOG, log_command
from ncuview.base.paths import shipped
from ncuview.cli.app import _split_program

REPORT = shipped("kernels") / "transfers" / "h200.ncu-repz"


def ncuview(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ncuview", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": ""})


def test_levels_show_what_is_done_and_the_answer_stays_the_same(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    said = {}
    for level in ("debug", "info", "warning"):
        ended = ncuview("--log-level", level, "analyze", REPORT, "--format", "summary", "-o", page)
        assert ended.returncode == 0, ended.stderr
        said[level] = ended.stderr
        assert ended.stdout == ncuview("analyze", REPORT, "--format", "summary").stdout
    assert said["warning"] == f"{page}: written\n"
    for line in (f"reads {REPORT}", f"writes {page}"):
        assert line in said["info"]
        assert line in said["debug"]
    assert "debug" not in said["info"]
    levels = said["info"].removesuffix(said["warning"])
    assert all(line.startswith("ncuview: info: ") for line in levels.splitlines())
    assert "ncuview: debug: " in said["debug"]


def test_a_fallback_is_reported() -> None:
    ended = ncuview("--log-level=info", "analyze", "transposeNaive")
    assert "the recorded profile is used: no NVIDIA GPU here" in ended.stderr


def test_a_level_that_does_not_exist_is_a_usage_error() -> None:
    ended = ncuview("--log-level", "loud", "kernels")
    assert ended.returncode == 2
    assert "'loud'" in ended.stderr


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["--log-level", "info", "analyze", "--", "./app", "--", "-x"], ("./app", "--", "-x")),
        (["--log-level=info", "check", "--", "./app"], ("./app",)),
        (["analyze", "--", "./app"], ("./app",)),
        (["--log-level", "analyze", "explain", "--", "-x"], None),
        (["--log-level", "--"], None),
    ],
)
def test_a_program_keeps_its_words(words: list[str], program: tuple[str, ...] | None) -> None:
    assert _split_program(words)[1] == program


def test_a_command_line_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger=LOG.name):
        log_command([Path("/bin/app"), "--token", "geheim", "HF_TOKEN=geheim", "two words"])
    assert caplog.messages == ["starts /bin/app --token '***' 'HF_TOKEN=***' 'two words'"]


def test_a_command_line_costs_nothing_where_it_is_not_shown() -> None:
    LOG.setLevel("WARNING")
    log_command(f"{1 / 0}" for _ in [1])
