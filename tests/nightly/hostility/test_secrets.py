"""Secrets of a command line, the environment and the home folder are in nothing that is printed or written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.log import MASK, masked, masked_words
from ncuview.reader.precheck import read_report
from ncuview.render.outputs import FORMATS
from tests.command_line import RECORDED, Ended
from tests.profiling.played import AS_NCU, BEGUN, CONNECTED, DONE, play
from tests.profiling.test_machine import Machine, gpu

ARGUMENT, VARIABLE, FOLDER, HOME = "CANARYarg1", "CANARYenv2", "CANARYcwd3", "CANARYhome4"
CANARIES = (ARGUMENT, VARIABLE, FOLDER, HOME)
WORDS = [
    f"--token={ARGUMENT} with blanks",
    "--password",
    ARGUMENT,
    f"API_KEY={ARGUMENT}",
    f"https://me:{ARGUMENT}@host/x",
]
FILES = [f"{name}:out.{name}" for name in FORMATS]
Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Profile a program with secrets in its words, by a played ncu, in a folder below a home that both bear names."""
    here = Machine(tmp_path, monkeypatch)
    here.answer_nvidia_smi(gpu())
    here.install("path/ncu", AS_NCU)
    folder = tmp_path / HOME / FOLDER
    folder.mkdir(parents=True)
    (tmp_path / "content").write_bytes(read_report(RECORDED))

    def start(*words: str, **scenario: Any) -> Ended:
        play(here, monkeypatch, **scenario)
        program = [sys.executable, "-m", "ncuview", *words, "--", sys.executable, *WORDS]
        environment = {**os.environ, "HOME": str(tmp_path / HOME), "HF_TOKEN": VARIABLE, "MY_PASSWORD": VARIABLE}
        root = Path(__file__).resolve().parents[3]
        environment |= {"PYTHONPATH": str(root), "XDG_CONFIG_HOME": str(tmp_path / "config")}
        done = subprocess.run(
            program,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=100,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    return start


def written(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (tmp_path / HOME / FOLDER).iterdir()}


def assert_silent(tmp_path: Path, ended: Ended) -> None:
    found = {"standard output": ended.out.encode(), "standard error": ended.err.encode(), **written(tmp_path)}
    shown = {(name, canary) for name, content in found.items() for canary in CANARIES if canary.encode() in content}
    assert not shown


def test_no_output_of_a_profiled_program_holds_a_secret(run: Run, tmp_path: Path) -> None:
    outputs = [word for file in FILES for word in ("--output", file)]
    said = [["stdout", CONNECTED + BEGUN + DONE]]
    ended = run("analyze", *outputs, say=said, report=True, content=str(tmp_path / "content"))
    assert len(written(tmp_path)) == len(FORMATS), ended.err
    assert_silent(tmp_path, ended)


@pytest.mark.parametrize(
    "scenario",
    [
        {"returncode": 1},
        {"returncode": 1, "say": [["stderr", f"unrecognised option '--token={ARGUMENT}'\n"]]},
        {
            "returncode": 1,
            "say": [["stdout", f"==ERROR== '{ARGUMENT[:0]}https://me:{ARGUMENT}@host/x' is no program\n"]],
        },
        {"returncode": 0, "say": [["stdout", "==WARNING== No kernels were profiled.\n"]]},
        {"returncode": 9, "say": [["stdout", "==ERROR== ERR_NVGPUCTRPERM - no permission\n"]]},
    ],
    ids=["no word", "an option", "an address", "no kernels", "no permission"],
)
def test_no_failure_shows_a_secret(run: Run, tmp_path: Path, scenario: dict[str, Any]) -> None:
    ended = run("analyze", "--output", "out.json", **scenario)
    assert ended.code in {2, 3, 5, 6}
    assert ended.err
    assert_silent(tmp_path, ended)


def test_a_dry_run_masks_the_programs_arguments(run: Run, tmp_path: Path) -> None:
    ended = run("analyze", "--dry-run")
    assert ended.code == 0, ended.err
    assert f"--token={MASK}" in ended.out
    assert f"--password '{MASK}'" in ended.out
    assert_silent(tmp_path, ended)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ncu ./app --token=abc -k x", "ncu ./app --token=*** -k x"),
        ("--hub-token abc next", "--hub-token *** next"),
        ("HF_TOKEN=abc AWS_SECRET_ACCESS_KEY='a b' X=1", "HF_TOKEN=*** AWS_SECRET_ACCESS_KEY=*** X=1"),
        ('DB_PASSWORD="a b", then', "DB_PASSWORD=***, then"),
        ("https://me:abc@host/x", "https://***@host/x"),
        ("git+ssh://abc@host", "git+ssh://***@host"),
        ("Authorization: hf_abcdefghijklmnop", "Authorization: ***"),
        ("--max-tokens=512 --tokenizer=bert", "--max-tokens=512 --tokenizer=bert"),
        ("budget.toml, budget 1: key = 3 is no metric", "budget.toml, budget 1: key = 3 is no metric"),
        ("sources are at https://example.com/a@b", "sources are at https://example.com/a@b"),
        ("metrics.key: must be the file's name", "metrics.key: must be the file's name"),
    ],
)
def test_what_is_named_so_is_masked_and_nothing_else(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_home_becomes_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    text = "/home/me/a.cu, /home/me, /home/mehmet/a, /mnt/home/me/a"
    assert masked(text) == "~/a.cu, ~, /home/mehmet/a, /mnt/home/me/a"
    monkeypatch.setenv("HOME", "/")
    assert masked("/a/b") == "/a/b"


def test_without_a_home_nothing_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert masked("/home/me/a") == "/home/me/a"


@given(st.text(min_size=1).filter(lambda secret: secret not in "--token= HF_TOKEN=next***x"))
def test_words_are_masked_whatever_is_in_them(secret: str) -> None:
    words = [f"--token={secret}", "--token", secret, "next", f"HF_TOKEN={secret}", "--token", secret]
    assert list(masked_words(words)) == [
        f"--token={MASK}",
        "--token",
        MASK,
        "next",
        f"HF_TOKEN={MASK}",
        "--token",
        MASK,
    ]
