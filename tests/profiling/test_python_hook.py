"""The hook in a Python program: ranges once PyTorch is imported, and the program's own start as without it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ncuview.profiling import job
from ncuview.profiling.ncu import run_ncu
from ncuview.profiling.options import CallStacks, NcuOptions
from ncuview.profiling.python_hook import gate_variables, is_python, nvtx_variables, trace_variables
from tests.profiling.played import BEGUN, DONE, Profile, words_of
from tests.profiling.test_machine import Machine

TORCH = {
    "torch/__init__.py": "from torch import autograd, cuda",
    "torch/cuda/__init__.py": "def _lazy_init():\n    print('initialised')\nfrom torch.cuda import memory",
    "torch/cuda/memory.py": "from torch.cuda import _lazy_init",
    "cupy.py": "",
    "torch/autograd/__init__.py": "from torch.autograd import profiler",
    "torch/autograd/profiler.py": """
class ProfilerState:
    NVTX = "nvtx"

def ProfilerConfig(state, shapes, memory, stack, flops, modules, experimental):
    assert not any([shapes, memory, stack, flops, modules]) and experimental == "experimental"
    return state

def _ExperimentalConfig():
    return "experimental"

enabled = []

def _enable_profiler(config, activities):
    if enabled:
        raise RuntimeError("Profiler is already enabled on this thread")
    enabled.append(config)

def _disable_profiler():
    enabled.pop()
""",
}
"""What the hook uses of PyTorch, which allows one profiler for each thread."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TORCH.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def ran(folder: Path, program: str, variables: Mapping[str, str] | None = None) -> str:
    """What a program prints with the hook, with this folder on the user's own path; its stderr is empty."""
    given = nvtx_variables() if variables is None else variables
    path = os.pathsep.join([given["PYTHONPATH"].split(os.pathsep)[0], str(folder)])
    environment = {**os.environ, **given, "PYTHONPATH": path, "NCUVIEW_HOOK_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


def test_ranges_are_switched_on_once_torch_is_imported(folder: Path) -> None:
    program = "import sys; assert 'torch' not in sys.modules; import torch; print(torch.autograd.profiler.enabled)"
    assert ran(folder, program) == "['nvtx']\n"


def test_a_profiler_of_the_program_takes_their_place(folder: Path) -> None:
    uses = "p._enable_profiler('own', set()); print(p.enabled); p._disable_profiler();"
    program = f"import torch; from torch.autograd import profiler as p; {uses} {uses}"
    assert ran(folder, program) == "['own']\n['own']\n"


INITIALISES = "import torch; print('begins', flush=True); {0}._lazy_init(); {0}._lazy_init(); print('goes on')"


def held(folder: Path, gate: Path, program: str = INITIALISES.format("torch.cuda")) -> subprocess.Popen[str]:
    """A program that waits at the gate, and has said before that it begins."""
    given = gate_variables(gate)
    path = os.pathsep.join([given["PYTHONPATH"].split(os.pathsep)[0], str(folder)])
    environment = {**os.environ, **given, "PYTHONPATH": path}
    begun = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    assert begun.stdout is not None
    assert begun.stdout.readline() == "begins\n"
    return begun


@pytest.mark.parametrize("module", ["torch.cuda", "torch.cuda.memory"])
def test_a_program_waits_as_cuda_is_initialised_until_the_gate_opens(folder: Path, tmp_path: Path, module: str) -> None:
    gate = tmp_path / "gate"
    with held(folder, gate, INITIALISES.format(module)) as begun:
        with pytest.raises(subprocess.TimeoutExpired):
            begun.wait(0.5)
        gate.write_text("go on")
        assert begun.communicate(timeout=20)[0] == "initialised\ninitialised\ngoes on\n"


def test_a_program_without_pytorch_does_not_wait(folder: Path, tmp_path: Path) -> None:
    assert ran(folder, "import cupy; print('goes on')", gate_variables(tmp_path / "gate")) == "goes on\n"


def test_a_pytorch_that_initialises_cuda_elsewhere_waits_after_its_import(folder: Path, tmp_path: Path) -> None:
    (folder / "torch/cuda/__init__.py").write_text("")
    gate = tmp_path / "gate"
    with held(folder, gate, "print('begins', flush=True); import torch; print('goes on')") as begun:
        with pytest.raises(subprocess.TimeoutExpired):
            begun.wait(0.5)
        gate.write_text("go on")
        assert begun.communicate(timeout=20)[0] == "goes on\n"


def test_a_program_that_nobody_needs_leaves(folder: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gates" / "gate"
    gate.parent.mkdir()
    with held(folder, gate) as begun:
        gate.write_text("leave")
        assert (begun.communicate(timeout=20)[0], begun.returncode) == ("", 1)
    gate.unlink()
    with held(folder, gate) as begun:
        gate.parent.rmdir()
        assert (begun.communicate(timeout=20)[0], begun.returncode) == ("", 1)


def test_the_ranges_end_before_the_process(folder: Path) -> None:
    """PyTorch's process groups otherwise end with "pure virtual method called"."""
    ends = "import atexit; atexit._run_exitfuncs()"
    assert ran(folder, f"import torch; from torch.autograd import profiler as p; {ends}; print(p.enabled)") == "[]\n"


def test_a_profiler_that_the_program_ended_is_not_ended_again(folder: Path) -> None:
    uses = "p._enable_profiler('own', set()); p._disable_profiler()"
    assert ran(folder, f"import torch; from torch.autograd import profiler as p; {uses}; print(p.enabled)") == "[]\n"


def test_a_profiler_on_another_thread_leaves_them(folder: Path) -> None:
    program = (
        "import threading, torch; from torch.autograd import profiler as p; p.enabled.clear();"
        "t = threading.Thread(target=p._enable_profiler, args=('own', set())); t.start(); t.join(); print(p.enabled)"
    )
    assert ran(folder, program) == "['own']\n"


def test_the_program_s_own_start_runs(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("print('own start'); MINE = 1")
    program = (
        "import sys, sitecustomize; print(sitecustomize.MINE, [p for p in sys.path if p.endswith('profiling/hook')])"
    )
    assert ran(folder, program) == "own start\n1 []\n"


def test_a_program_without_torch_is_left_alone(folder: Path) -> None:
    assert ran(folder, "import json, sys; print('torch' in sys.modules, json.loads('1'))") == "False 1\n"


def test_a_missing_torch_is_missing_as_before(tmp_path: Path) -> None:
    program = "try: import torch\nexcept ModuleNotFoundError as error: print(error.name)"
    assert ran(tmp_path, program) == "torch\n"


def test_an_error_in_the_hook_is_none_of_the_program(folder: Path) -> None:
    (folder / "torch/autograd/profiler.py").write_text("")
    environment = {**os.environ, **nvtx_variables()}
    environment["PYTHONPATH"] += os.pathsep + str(folder)
    command = [sys.executable, "-c", "import torch; print('goes on')"]
    quiet = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (quiet.stdout, quiet.stderr) == ("goes on\n", "")
    said = subprocess.run(
        command, env={**environment, "NCUVIEW_HOOK_DEBUG": "1"}, capture_output=True, text=True, check=True
    )
    assert said.stdout == "goes on\n"
    assert said.stderr.startswith("ncuview's hook: AttributeError: ")
    assert said.stderr.count("\n") == 1


def test_an_error_in_torch_is_the_program_s(folder: Path) -> None:
    (folder / "torch/__init__.py").write_text("raise OSError('no libcudart')")
    program = "try: import torch\nexcept OSError as error: print(error)"
    assert ran(folder, program) == "no libcudart\n"


def test_the_hook_is_of_a_python_that_programs_still_use() -> None:
    folder = Path(nvtx_variables()["PYTHONPATH"].split(os.pathsep)[0])
    for file in folder.glob("*.py"):
        ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_python_programs_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, shell = tmp_path / "torchrun", tmp_path / "run.sh"
    script.write_text("#!/opt/env/bin/python3.12\nprint(1)\n")
    shell.write_text("#!/bin/sh\necho python\n")
    for each in (script, shell):
        each.chmod(0o755)
    assert is_python(sys.executable)
    assert is_python(str(script))
    assert not any(map(is_python, (str(shell), "/bin/sh", str(tmp_path / "python3"))))


def test_the_user_s_path_stays_behind_the_hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", "/a:/b")
    hook, *others = nvtx_variables()["PYTHONPATH"].split(os.pathsep)
    assert others == ["/a", "/b"]
    assert (Path(hook) / "sitecustomize.py").is_file()
    monkeypatch.delenv("PYTHONPATH")
    assert trace_variables(tmp_path, only_ranges=True) == {
        "PYTHONPATH": hook,
        "NCUVIEW_HOOK_TRACE": str(tmp_path),
        "NCUVIEW_HOOK_RANGES": "1",
    }


@pytest.mark.parametrize(
    ("options", "hooked"),
    [
        (NcuOptions(call_stack=CallStacks.ALL), True),
        (NcuOptions(call_stack=CallStacks.PYTHON), True),
        (NcuOptions(call_stack=CallStacks.ALL, no_hook=True), False),
        (NcuOptions(call_stack=CallStacks.NATIVE), False),
        (NcuOptions(), False),
    ],
)
def test_ncu_records_ranges_where_stacks_name_lines(
    here: Machine, profile: Profile, monkeypatch: pytest.MonkeyPatch, options: NcuOptions, hooked: bool
) -> None:
    environments: list[Mapping[str, str]] = []

    def run(*words: Any, environment: Mapping[str, str], **more: Any) -> Any:
        environments.append(environment)
        return run_ncu(*words, environment=environment, **more)

    monkeypatch.setattr(job, "run_ncu", run)
    profile(options, say=[["stdout", BEGUN + DONE]], report=True)
    (words,) = words_of(here)
    assert [nvtx_variables().items() <= environment.items() for environment in environments] == [hooked]
    assert ("--nvtx" in words[: words.index(sys.executable)]) is hooked
