"""ncuview on macOS and Windows, simulated in a child process without the modules and functions that these do not have.

The simulated system has Linux's paths and processes, and other packages than ncuview are imported before it begins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ncuview
from ncuview.base.paths import shipped

REPORT = shipped("kernels") / "transfers" / "h200.ncu-repz"
POSIX_ONLY = ["fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"]
"""Modules that Windows does not have."""
LINUX_ONLY = {
    "os": ["memfd_create", "pidfd_open", "sched_getaffinity", "setresgid", "setresuid"],
    "socket": ["send_fds", "recv_fds"],
    "mmap": [],
}
MISSING_ON_WINDOWS = {
    "os": [
        *("O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"),
        *("chown", "fchmod", "fork", "getegid", "geteuid", "getgroups", "getuid", "killpg", "setsid", "uname"),
        *("pipe2", "statvfs", "waitstatus_to_exitcode"),
    ],
    "signal": ["SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGXCPU", "setitimer", "ITIMER_REAL"],
    "mmap": ["MADV_DONTNEED", "MAP_PRIVATE", "PROT_READ"],
    "selectors": ["DefaultSelector"],
}
SYSTEMS = {
    "darwin": ([], {**LINUX_ONLY, "selectors": ["EpollSelector"]}),
    "win32": (POSIX_ONLY, {**LINUX_ONLY, **MISSING_ON_WINDOWS, "os": [*LINUX_ONLY["os"], *MISSING_ON_WINDOWS["os"]]}),
}

SIMULATED = """
import importlib, json, os, sys
settings = json.loads(os.environ["SIMULATED"])
for name in settings["first"]:
    importlib.import_module(name)
import ctypes, multiprocessing, platform, random, selectors, shutil, signal, socket, subprocess, tempfile
import concurrent.futures.thread, types, zipfile
platform.uname()  # kept: NVIDIA's reader asks for it to find its library

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name in settings["modules"]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in settings["modules"]:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refused())
for module, names in settings["names"].items():
    # A copy for whoever imports it from now on; Python's own modules are imported already and go on with Linux's.
    simulated = types.ModuleType(module)
    real = vars(importlib.import_module(module))
    vars(simulated).update({name: value for name, value in real.items() if name not in names})
    sys.modules[module] = simulated
shutil.sys = types.ModuleType("sys")  # else it asks for a module that only Python for Windows has
vars(shutil.sys).update(vars(sys))
sys.platform = settings["system"]
"""
FIRST = ["numpy", "pandas", "pydantic", "rich.console", "typer", "tree_sitter", "lxml.etree", "re2", "asyncio"]


class Ended:
    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def on(system: str, folder: Path, program: str, *words: str) -> Ended:
    """Run a program of Python on a system, and its child processes too: both start with ``sitecustomize``."""
    modules, names = SYSTEMS[system]
    (folder / "sitecustomize.py").write_text("import os\nif 'SIMULATED' in os.environ:\n    import simulated\n")
    (folder / "simulated.py").write_text(SIMULATED)
    settings = {"system": system, "modules": modules, "names": names, "first": FIRST}
    of_child = json.dumps({**settings, "first": ["ncu_report"]})
    children = (
        "import ncuview.reader.child as child\n"
        "def environment(modules, made=child.environment_of):\n"
        "    found = made(modules)\n"
        f"    path = {str(folder)!r} + ':' + found['PYTHONPATH']\n"
        f"    return {{**found, 'PYTHONPATH': path, 'SIMULATED': {of_child!r}}}\n"
        "child.environment_of = environment\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(Path(ncuview.__file__).parents[1])]),
        "SIMULATED": json.dumps(settings),
        "XDG_CONFIG_HOME": str(folder),
    }
    command = [sys.executable, "-P", "-c", children + program, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return Ended(done)


COMMAND = "import sys\nfrom ncuview.cli import main\nsys.argv[0] = 'ncuview'\nmain()\n"


def test_the_simulated_system_is_without_what_it_should_not_have(tmp_path: Path) -> None:
    program = """
import sys
import ncuview.base.files, ncuview.base.signals, ncuview.reader.snapshot
assert sys.platform == "win32"
assert not hasattr(ncuview.base.files.os, "O_NONBLOCK")
assert not hasattr(ncuview.base.signals.signal, "SIGKILL")
assert not hasattr(ncuview.reader.snapshot.mmap, "MADV_DONTNEED")
try:
    import fcntl
except ModuleNotFoundError:
    sys.exit(3)
"""
    ended = on("win32", tmp_path, program)
    assert (ended.code, ended.err) == (3, "")


def test_a_report_is_read_and_its_page_written(system: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = on(system, tmp_path, COMMAND, "analyze", str(REPORT), "--format", "json", "--output", str(page))
    assert ended.code == 0, ended.err
    here = ncuview.diagnose(ncuview.read(REPORT))
    found = json.loads(ended.out)
    assert [launch["kernel"] for launch in found["launches"]] == [launch.kernel for launch in here.launches]
    advised = [[each["rule"] for each in launch["findings"]] for launch in found["launches"]]
    assert advised == [[each.rule.code for each in launch.findings] for launch in here.launches]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    lines = [line for line in ended.err.splitlines() if "no sandbox here" in line]
    assert len(lines) == 1, ended.err
    assert "Read the reports of strangers on Linux." in ended.err


def test_nothing_of_a_report_is_left_behind(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    assert on(system, tmp_path, COMMAND, "analyze", str(REPORT)).code == 0
    assert not list(folder.iterdir())


def test_every_module_can_be_imported_but_those_that_start_programs(system: str, tmp_path: Path) -> None:
    package = Path(ncuview.__file__).parent
    only_linux = {"profiling.reaper", "profiling.drop_privileges", "__main__"}
    names = {".".join(path.relative_to(package).with_suffix("").parts) for path in package.rglob("*.py")}
    own = (name.removesuffix(".__init__") for name in names - only_linux if "launcher" not in name)
    wanted = sorted(name for name in own if not name.startswith("mcp_server"))  # its SDK asks which system this is
    program = f"import importlib\nfor name in {wanted!r}:\n    importlib.import_module('ncuview.' + name)\n"
    ended = on(system, tmp_path, program.replace("'ncuview.__init__'", "'ncuview'"))
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("words", [["analyze", "--", sys.executable, "-V"], ["analyze", "transposeNaive", "--live"]])
def test_profiling_is_refused_by_name(system: str, words: list[str], tmp_path: Path) -> None:
    failed = tmp_path / "failed.json"
    ended = on(system, tmp_path, COMMAND, *words[:1], "--output", str(failed), *words[1:])
    assert ended.code == 5, ended.err
    assert "profiling needs Linux" in ended.err
    assert json.loads(failed.read_text(encoding="utf-8"))["error"]["id"] == "NeedsLinux"


def test_a_kernel_of_the_catalogue_has_its_recorded_profile(system: str, tmp_path: Path) -> None:
    ended = on(system, tmp_path, COMMAND, "analyze", "transposeNaive")
    assert ended.code == 0, ended.err
    assert "profiling needs Linux" in ended.out


def test_doctor_says_what_is_missing(system: str, tmp_path: Path) -> None:
    ended = on(system, tmp_path, COMMAND, "doctor", "--format", "json")
    assert ended.code == 5, ended.err
    found = json.loads(ended.out)
    assert found["summary"] == "Reports can be read. Programs cannot be profiled: profiling needs Linux."
    here, reader = found["checks"]
    assert (here["name"], reader["name"]) == ("system", "ncu-report")
    assert any("no sandbox" in each["what"] for each in here["evidence"])
