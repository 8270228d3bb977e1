"""Standard streams that the caller closed, as cron and some runners do: exit code and files are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command_line import DIVERGENCE, PATIENCE_S, environment

OUTPUT = "answer.json"
CLOSINGS = [">&-", "2>&-", "<&- >&- 2>&-"]
COMMANDS: dict[str, tuple[str, int]] = {
    "open gate": (f"check report.ncu-repz --budget open.toml -o {OUTPUT}", 0),
    "closed gate": (f"check report.ncu-repz --budget closed.toml -o {OUTPUT}", 1),
    "baseline": (f"check report.ncu-repz --save-baseline {OUTPUT}", 0),
    "analyze": (f"analyze report.ncu-repz -o {OUTPUT}", 0),
    "diff": (f"diff report.ncu-repz report.ncu-repz -o {OUTPUT}", 0),
    "report": (f"report . -o {OUTPUT}", 0),
    "ladder": (f"ladder divergence --recorded -o {OUTPUT}", 0),
    "kernels": ("kernels", 0),
    "explain": ("explain SMEM001", 0),
    "doctor": ("doctor", 5),
    "help": ("--help", 0),
    "version": ("--version", 0),
    "no command": ("", 2),
    "usage": ("check report.ncu-repz", 2),
    "no report": (f"analyze gone.ncu-rep -o {OUTPUT}", 3),
}
"""Name -> the command line, and its exit code with any streams."""


@dataclass(frozen=True)
class Said:
    """What a run left."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "report.ncu-repz").symlink_to(DIVERGENCE)
    for name, limit in (("open", "1e12"), ("closed", "0.5")):
        budget = f'[[budget]]\nkernel = "*"\nmetric = "inst_executed"\nmax = {limit}\n'
        (tmp_path / f"{name}.toml").write_text(budget, encoding="utf-8")
    return tmp_path


def ncuview(words: str, closing: str, folder: Path, *program: str) -> Said:
    """Run ncuview by a shell that closes streams."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {closing}', "sh", sys.executable, *(program or ("-m", "ncuview")), *words.split()],
        capture_output=True,
        text=True,
        env=environment({}),
        cwd=folder,
        timeout=PATIENCE_S,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("closing", [">&-", "2>&-"])
@pytest.mark.parametrize("name", ["open gate", "closed gate", "no report"])
def test_the_exit_code_and_the_files_are_as_with_open_streams(folder: Path, name: str, closing: str) -> None:
    check_closed(folder, *COMMANDS[name], closing)  # tests/nightly has all of them


def check_closed(folder: Path, words: str, code: int, closing: str) -> None:
    ended = ncuview(words, closing, folder)
    assert (ended.code, "Traceback" in ended.err) == (code, False)
    if OUTPUT in words:
        document = json.loads((folder / OUTPUT).read_text(encoding="utf-8"))
        assert (document.get("error") is not None) == (code == 3)
        assert document.get("gate", {}).get("closed", False) == (code == 1)


def test_what_is_left_open_says_the_same(folder: Path) -> None:
    words, _ = COMMANDS["open gate"]
    everything = ncuview(words, "", folder)
    without_errors = ncuview(words, "2>&-", folder)
    assert (without_errors.code, without_errors.out) == (everything.code, everything.out)
    assert everything.out.endswith("gate: open, 15 checks passed\n")
    failure, _ = COMMANDS["no report"]
    assert ncuview(failure, ">&-", folder) == ncuview(failure, "", folder)


LOOKS = """
import os, subprocess, sys
import ncuview.api
from ncuview.cli import main

original = ncuview.api.load_rules

def load_rules(*given):
    with open("held", "w") as held:
        assert held.fileno() > 2
    subprocess.run([sys.executable, "-c", "import os; [os.fstat(number) for number in range(3)]"], check=True)
    return original(*given)

ncuview.api.load_rules = load_rules
main()
"""
"""ncuview, which looks at its descriptors and at those of a child process on its way."""


@pytest.mark.parametrize("closing", CLOSINGS)
def test_no_file_takes_the_number_of_a_closed_stream_and_children_have_all_three(folder: Path, closing: str) -> None:
    assert ncuview("rules", closing, folder, "-c", LOOKS).code == 0
