"""``ncuview mcp --allow-run``: programs are profiled by a played ncu, and a cancelled run leaves nothing behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from ncuview.reader.precheck import read_report
from tests.command_line import DIVERGENCE
from tests.mcp_server.client import Client, served
from tests.mcp_server.test_processes import is_alive, server_of, started, until
from tests.profiling.played import AS_NCU, BEGUN, CONNECTED, DONE, play, words_of
from tests.profiling.test_machine import Machine, gpu

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="profiling needs Linux")

Serve = Callable[..., AbstractContextManager[Client]]
ALL = [("stdout", CONNECTED + BEGUN + DONE)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path, monkeypatch)
    machine.answer_nvidia_smi(gpu())
    machine.install("path/ncu", AS_NCU)
    machine.install("root/program", "echo ran >> ran")
    return machine


@pytest.fixture
def serve(here: Machine, monkeypatch: pytest.MonkeyPatch) -> Serve:
    def started(*options: str, **scenario: Any) -> AbstractContextManager[Client]:
        play(here, monkeypatch, **scenario)
        return served(here.root / "root", options=options, path=here.root / "path")

    return started


def test_a_program_is_profiled_and_diagnosed_in_the_first_root(here: Machine, serve: Serve) -> None:
    with serve("--allow-run", say=ALL, report=True, data=read_report(DIVERGENCE)) as client:
        answer = client.ask("diagnose", program=["./program", "-x"], look="full", launch_count=3)
    assert answer.document["view"] == "skeleton"
    assert answer.document["not_judged"]["launches"] > 0
    (words,) = words_of(here)
    assert words[-2:] == [str(here.root / "root" / "program"), "-x"]
    assert "--launch-count=3" in words


def test_without_the_option_nothing_is_started(here: Machine, serve: Serve) -> None:
    with serve(say=ALL, report=True) as client:
        error = client.error("diagnose", program=["./program"])
        client.ask("plan", program=["./program"])
    assert (error["id"], "--allow-run" in error["hint"]) == ("NeedsAllowRun", True)
    assert not (here.root / "words").exists()
    assert not (here.root / "root" / "ran").exists()


def test_a_run_that_fails_is_an_error_of_the_catalogue(serve: Serve) -> None:
    denied = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
    with serve("--allow-run", say=[("stdout", f"{CONNECTED}{denied}\n")], returncode=1) as client:
        error = client.error("diagnose", program=["./program"], look="full")
    assert (error["id"], error["exit_code"]) == ("NCU-PERM", 5)


def test_a_cancelled_run_ends_ncu_and_what_it_started(here: Machine, serve: Serve) -> None:
    child = here.root / "child"
    with serve("--allow-run", say=[("stdout", CONNECTED + BEGUN)], child=str(child), sleep_s=600) as client:
        asked = client.start("diagnose", program=["./program"], look="full")
        processes = [int(number) for number in until(lambda: child.exists() and child.read_text().split())]
        client.ask("explain", name="l2")
        assert asked.cancel()
        until(lambda: not any(map(is_alive, processes)))
        until(lambda: not started(server_of(client), str(here.root / "path")))
        client.ask("explain", name="dram")
