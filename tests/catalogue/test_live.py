"""The host process without ncu: its user, its time limit, and the errors for its failures."""

from __future__ import annotations

import json
import os
import pwd
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import ProgramFailed
from ncuview.catalogue import live
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernel_file import Kernel
from ncuview.catalogue.kernels import Launch, find_kernel, launch_of
from ncuview.catalogue.live import run_host
from ncuview.profiling.job import Job, Profiled
from ncuview.profiling.ncu import NcuRun
from ncuview.reader.host_times import host_times_of
from tests.conftest import UNSAFE

ROOT = str(Path(live.__file__).parents[2])
NOBODY = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
LOOK = '{ id -u; id -g; pwd; cat "$1"; env; } > "$2"'
"""In a shell, since the Python of the tests may be one that only its owner can start."""


def look(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The user and group of a host process that reads its job and writes a file, and its variables."""
    job, seen = folder / "job", folder / "seen"
    job.write_text("the job\n")
    job.chmod(0o600)
    run_host(["/bin/sh", "-c", LOOK, "sh", str(job), str(seen)], folder, Path("/usr"), 60, "it")
    user, group, cwd, read, *variables = seen.read_text().splitlines()
    assert (cwd, read) == ("/usr", "the job")
    return [user, group], dict(line.split("=", 1) for line in variables if "=" in line)


def test_the_host_process_finds_ncuview(private: Path) -> None:
    ids, variables = look(private)
    assert ids == [str(os.getuid()), str(os.getgid())]
    assert variables["PYTHONPATH"].split(os.pathsep)[0] == ROOT


@needs_root
def test_under_sudo_it_has_its_users_rights(sudo: Callable[[str], None], private: Path) -> None:
    sudo(str(NOBODY.pw_uid))
    ids, variables = look(private)
    assert ids == [str(NOBODY.pw_uid), str(NOBODY.pw_gid)]
    assert variables["HOME"] == NOBODY.pw_dir
    assert variables.keys() & UNSAFE == {"PYTHONPATH"}
    assert variables["PYTHONPATH"].split(os.pathsep)[0] == ROOT


@needs_root
def test_under_sudo_nothing_of_the_users_is_loaded_with_roots_rights(
    sudo: Callable[[str], None], private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sudo(str(NOBODY.pw_uid))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of the user")
    become = private / "become.py"
    become.write_text("import os\nassert 'LD_LIBRARY_PATH' not in os.environ")
    monkeypatch.setattr("ncuview.profiling.privileges._DROP_PRIVILEGES", become)
    run_host(["/bin/false"], private, Path("/"), 60, "it")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit('\\n'.join('123456') + '\\nan illegal access')", ":\n3\n4\n5\n6\nan illegal access"),
        ("import os\nos.write(2, b'f\\xfcr')\nos._exit(3)", ":\nf\N{REPLACEMENT CHARACTER}r"),
        ("import os\nos._exit(3)", ":\nexit code 3"),
    ],
)
def test_a_host_process_that_fails_says_why(private: Path, code: str, said: str) -> None:
    with pytest.raises(ProgramFailed) as failed:
        run_host([sys.executable, "-c", code], private, Path("/"), 60, "a copy")
    assert str(failed.value) == f"the host process failed while it timed a copy{said}"


def test_a_host_process_that_hangs_is_ended(private: Path) -> None:
    with pytest.raises(ProgramFailed, match=r"did not end within 200 ms while it timed a copy") as failed:
        run_host([sys.executable, "-c", "while True: pass"], private, Path("/"), 0.2, "a copy")
    assert failed.value.hint == "Give it a smaller problem."


# The times of transfers


class Host:
    """A host process that leaves what a test says, in place of the one with PyCUDA."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.report = folder / "profile.ncu-rep"
        code = (
            "import json, os, sys\njob = json.load(open(sys.argv[1]))\nassert job['timed'] == 'transfers', job\n"
            "found = [{'kernel': entry['kernel'], 'host__whole_time': os.getuid()} for entry in job['launches']]\n"
            "json.dump({'launches': found}, open(sys.argv[2], 'w'))"
        )
        self.runs = [sys.executable, "-c", code]
        monkeypatch.setattr(live, "host_command", self.command)

    def command(self, job: Path, result: Path) -> list[str]:
        return [*self.runs, str(job), str(result)]

    def times(self, *names: str) -> list[dict[str, Any]]:
        """The files beside the report, after these kernels were launched in this order."""
        launches = [launch_of(find_kernel(name)) for name in names]
        compiled = {launch.kernel.function: self.compiled(launch) for launch in launches}
        live._time_transfers(launches, compiled, self.folder / "transfers", self.report)
        found: list[dict[str, Any]] = json.loads(host_times_of(self.report).read_text())["launches"]
        return found

    def compiled(self, launch: Launch) -> Compiled:
        cubin = self.folder / f"{launch.kernel.function}.cubin"
        name = launch.kernel.function
        cubin.write_bytes(f"\0.text._Z{len(name)}{name}PfPKfi\0".encode())
        return Compiled(cubin, launch.kernel)


@pytest.fixture
def host(private: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(private, monkeypatch)


def test_only_launches_whose_transfers_matter_are_timed_and_numbered_as_in_the_report(host: Host) -> None:
    assert host.times("copyRow", "smallCopies", "pageableCopies") == [
        {"index": 1, "kernel": "smallCopies", "host__whole_time": os.getuid()},
        {"index": 2, "kernel": "pageableCopies", "host__whole_time": os.getuid()},
    ]


def test_where_no_transfers_matter_no_process_is_started(host: Host) -> None:
    with pytest.raises(FileNotFoundError):
        host.times("copyRow")
    assert [path.name for path in host.folder.iterdir()] == ["copyRow.cubin"]


@needs_root
def test_under_sudo_transfers_are_timed_with_the_users_rights(host: Host, sudo: Callable[[str], None]) -> None:
    sudo(str(NOBODY.pw_uid))
    host.folder.chmod(0o711)  # as profile_live leaves it
    host.runs = ["/bin/sh", "-c", """printf '{"launches": [{"host__whole_time": %d}]}' "$(id -u)" > "$2\"""", "sh"]
    assert host.times("smallCopies") == [{"index": 0, "host__whole_time": NOBODY.pw_uid}]
    assert host_times_of(host.report).stat().st_uid == 0


def test_transfers_that_hang_end_in_an_error(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SECONDS_PER_LAUNCH", 0.1)
    host.runs = [sys.executable, "-c", "while True: pass"]
    with pytest.raises(ProgramFailed, match=r"did not end within 200 ms while it timed transfers"):
        host.times("smallCopies", "pageableCopies")


def test_transfers_without_results_end_in_an_error(host: Host) -> None:
    host.runs = [sys.executable, "-c", ""]
    with pytest.raises(ProgramFailed, match="ended without results"):
        host.times("smallCopies")


def test_a_kernel_that_is_compiled_is_not_compiled_again(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = launch_of(find_kernel("copyRow"))
    made = host.compiled(launch)
    cubins: list[Path] = []

    def compiled(*_: object) -> dict[str, Compiled]:
        raise AssertionError("it is compiled")

    def profiled(job: Job, folder: Path) -> Profiled:
        given, result = map(Path, job.program[-2:])
        cubins.extend(Path(each["cubin"]) for each in json.loads(given.read_text())["launches"])
        result.write_text(json.dumps({"launches": [{"kernel": "copyRow", "wrong_elements": 0}]}))
        return Profiled((folder / "profile.ncu-rep",), job.options, NcuRun(0, "", "", 1, (1,)))

    for name, found in {"missing_for_live": None, "find_ncu": Path("ncu"), "find_nvcc": Path("nvcc")}.items():
        monkeypatch.setattr(live, name, partial(lambda answer: answer, found))
    monkeypatch.setattr(live, "compile_all", compiled)
    monkeypatch.setattr(live, "profile", profiled)
    work = host.folder / "work"
    work.mkdir()
    live.profile_live([launch], ["m"], work, compiled={launch.kernel.function: made})
    assert cubins == [work / "host" / made.cubin.name]
    assert cubins[0].read_bytes() == made.cubin.read_bytes()


def test_a_profile_has_a_file_with_the_times_of_its_transfers(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    launches = [launch_of(find_kernel("smallCopies"))]

    def compiled(_: Path, kernels: Sequence[Kernel], folder: Path) -> dict[str, Compiled]:
        assert ([kernel.name for kernel in kernels], folder) == (["smallCopies"], host.folder / "host")
        return {launches[0].kernel.function: host.compiled(launches[0])}

    def profiled(job: Job, folder: Path) -> Profiled:
        given, result = map(Path, job.program[-2:])
        assert json.loads(given.read_text())["timed"] == ""
        result.write_text(json.dumps({"launches": [{"kernel": "smallCopies", "wrong_elements": 0}]}))
        return Profiled((folder / "profile.ncu-rep",), job.options, NcuRun(0, "", "", 1, (1,)))

    for name, found in {"missing_for_live": None, "find_ncu": Path("ncu"), "find_nvcc": Path("nvcc")}.items():
        monkeypatch.setattr(live, name, partial(lambda answer: answer, found))
    monkeypatch.setattr(live, "compile_all", compiled)
    monkeypatch.setattr(live, "profile", profiled)
    assert live.profile_live(launches, ["gpu__time_duration.sum"], host.folder) == host.report
    (times,) = json.loads(host_times_of(host.report).read_text())["launches"]
    assert times == {"index": 0, "kernel": "smallCopies", "host__whole_time": os.getuid()}
