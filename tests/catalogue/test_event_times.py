"""Times of one launch by events: the host process's results, and an error for each way in which it fails."""

from __future__ import annotations

import json
import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import GpuNotFound, LauncherNotFound, NcuviewError, ProgramFailed, WrongResult
from ncuview.catalogue import live as module
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernels import Launch, find_kernel, launch_of
from ncuview.catalogue.live import EventTimes, Timed, event_times, host_program
from ncuview.profiling.machine import GpuState

LAUNCH = launch_of(find_kernel("copyRow"))
TIMES = [3000.0, 1000.0, 2000.0, 9000.0, 2500.0]


class Host:
    """A host process that does what a test says, in place of the one with PyCUDA."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.answer: dict[str, Any] = {
            "kernel": "copyRow",
            "wrong_elements": 0,
            "times_ns": TIMES,
            "device": "NVIDIA Fake",
            "compute_capability": "9.0",
            "multiprocessors": 132,
        }
        self.runs = [sys.executable, "-c"]
        self.code = "import sys, json\njson.dump({'launches': [ANSWER]}, open(sys.argv[2], 'w'))"
        monkeypatch.setattr(module, "gpu_state", lambda: GpuState("", "", "", None, None, None, (), mig=False))
        monkeypatch.setattr(module, "find_spec", lambda name: {"pycuda": object()}[name])
        monkeypatch.setattr(module, "host_program", self.program)

    def program(
        self, launches: list[Launch], compiled: dict[str, Compiled], folder: Path, *, timed: Timed
    ) -> tuple[list[str], Path]:
        real, result = host_program(launches, compiled, folder, timed=timed)
        job, left = real[-2:]
        assert Path(left) == result
        assert json.loads(Path(job).read_text(encoding="utf-8"))["timed"] == "launches"
        return [*self.runs, self.code.replace("ANSWER", repr(self.answer)), job, left], result

    def times(self) -> EventTimes:
        cubin = self.folder / "copyRow.cubin"
        cubin.write_bytes(b"\0.text._Z7copyRowPfPKfi\0")
        return event_times(LAUNCH, {"copyRow": Compiled(cubin, LAUNCH.kernel)}, self.folder)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_the_median_and_the_bounds_are_those_of_the_launches(host: Host) -> None:
    found = host.times()
    assert found == EventTimes("NVIDIA Fake", "9.0", 132, tuple(TIMES))
    assert found.median_ns == 2500.0
    assert found.bounds_ns == (1000.0, 9000.0)


def test_the_host_process_is_asked_for_times_where_the_kernel_is(host: Host) -> None:
    host.code = "import os, sys\nassert not sys.argv[3:], sys.argv\nsys.exit(os.getcwd())"
    with pytest.raises(ProgramFailed) as failed:
        host.times()
    assert str(failed.value).endswith(str(LAUNCH.kernel.root))


@pytest.mark.parametrize(
    ("code", "failure", "message"),
    [
        (
            "import sys\nsys.exit('one\\ntwo\\ncuLaunchKernel failed: an illegal access')",
            ProgramFailed,
            "illegal access",
        ),
        ("", ProgramFailed, "ended without results"),
    ],
)
def test_a_host_process_that_fails_says_why(host: Host, code: str, failure: type[NcuviewError], message: str) -> None:
    host.code = code
    with pytest.raises(failure, match=message):
        host.times()


def test_a_wrong_kernel_has_no_times(host: Host) -> None:
    host.answer |= {"wrong_elements": 7, "times_ns": []}
    with pytest.raises(WrongResult, match="copyRow computes 7 wrong elements"):
        host.times()


def test_a_kernel_that_hangs_is_ended(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_PER_LAUNCH", 0.2)
    host.code = "while True: pass"
    with pytest.raises(ProgramFailed, match=r"did not end within 200 ms while it timed copyRow"):
        host.times()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_under_sudo_a_launch_has_its_users_rights(
    sudo: Callable[[str], None], private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = pwd.getpwnam("nobody")
    sudo(str(user.pw_uid))
    host = Host(private, monkeypatch)
    host.runs = ["/bin/sh", "-c"]  # the Python of the tests may be one that only its owner can start
    answer = json.dumps({"launches": [host.answer | {"device": "USER"}]})
    host.code = f"""printf '%s' '{answer}' | sed "s/USER/$(id -u)/" > "$1\""""
    assert host.times().device == str(user.pw_uid)


def test_without_a_gpu_nothing_is_started(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "gpu_state", lambda: None)
    with pytest.raises(GpuNotFound):
        host.times()
    assert not list(host.folder.glob("*.json"))


def test_without_pycuda_nothing_is_started(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: {"pycuda": None}[name])
    with pytest.raises(LauncherNotFound, match="no PyCUDA here"):
        host.times()
