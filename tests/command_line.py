"""The command line as users meet it: a process with exit code, standard output and standard error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncuview.base.paths import shipped
from tests.warm import run_warm, starts_python_differently

ROOT = Path(__file__).resolve().parents[1]
RECORDED = shipped("kernels") / "transpose" / "h200.ncu-repz"
CALIBRATION = shipped("kernels") / "calibration" / "h200.ncu-repz"
DIVERGENCE = shipped("kernels") / "divergence" / "h200.ncu-repz"
PATIENCE_S = 240
LEAVE = {"COLUMNS", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "FORCE_COLOR", "NO_COLOR", "PYTHONIOENCODING", "TERM"}
MAIN = "from ncuview.cli import main; main()"


@dataclass(frozen=True)
class Ended:
    """What a run left."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def environment(more: dict[str, str], path: Path = ROOT / "no-such-folder") -> dict[str, str]:
    """This process's, without what changes the output, and with no program on PATH but those in a folder."""
    kept = {name: value for name, value in os.environ.items() if name not in LEAVE}
    search = os.pathsep.join(filter(None, [more.get("PYTHONPATH", ""), str(ROOT)]))
    return {**kept, **more, "PATH": str(path), "PYTHONPATH": search}


def ncuview(
    *args: str | Path, before: str = "", path: Path = ROOT / "no-such-folder", cwd: Path | None = None, **env: str
) -> Ended:
    """Run ncuview on a machine without GPU; ``before`` is Python that runs first, to change what it finds."""
    variables = environment(env, path)
    if starts_python_differently(env):
        program = ["-c", f"{before}\n{MAIN}"] if before else ["-m", "ncuview"]
        done = subprocess.run(
            [sys.executable, *program, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=variables,
            cwd=cwd,
            timeout=PATIENCE_S,
            check=False,
        )
    else:
        done = run_warm(list(map(str, args)), before, variables, cwd, PATIENCE_S)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def assert_failed(ended: Ended, code: int, *says: str) -> None:
    """It left with this code, wrote nothing to standard output, and named the error in plain words."""
    assert ended.code == code, ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert "Warning" not in ended.err
    for part in says:
        assert part in ended.err


# Machines that cannot profile

SMI = "<nvidia_smi_log><gpu><product_name>NVIDIA H200</product_name><uuid>GPU-0</uuid></gpu></nvidia_smi_log>"
BARE = """
from pathlib import Path
import sys
from ncuview.profiling import machine
machine._NSIGHT_COMPUTE = machine._CUDA = Path("/no/such/folder")
sys.modules["pycuda"] = None
"""
"""The machine has nothing that is not on PATH, and no PyCUDA."""


def install(folder: Path, *programs: str) -> Path:
    for program in programs:
        file = folder / program
        file.write_text(f"#!/bin/sh\necho '{SMI if program == 'nvidia-smi' else 'Version 2025.3.1'}'\n")
        file.chmod(0o755)
    return folder
