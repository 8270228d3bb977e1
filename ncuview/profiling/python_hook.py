"""The variables that put ncuview's hook into a Python program: for NVTX ranges, a trace of its kernels, or a wait.

``is_python`` says whether a command starts Python; ``nvtx_variables``, ``trace_variables`` and ``gate_variables`` give
the environment.
The hook is ``hook/sitecustomize.py``, which the program's Python imports as it starts.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

_HOOK = Path(__file__).with_name("hook")
_PYTHON = re.compile(r"python[\d.]*t?")
_SHEBANG = re.compile(rb"#!.*python")
_SCRIPT_START = 256


def is_python(program: str) -> bool:
    """Whether a program is a Python interpreter, or a script that names one in its first line, such as torchrun."""
    found = shutil.which(program)
    if found is None:
        return False
    if _PYTHON.fullmatch(Path(found).name):
        return True
    try:
        with Path(found).open("rb") as file:
            return _SHEBANG.match(file.read(_SCRIPT_START)) is not None
    except OSError:
        return False


def nvtx_variables() -> Mapping[str, str]:
    """For ranges that name PyTorch's operators and autograd nodes."""
    return {"PYTHONPATH": _path(), "NCUVIEW_HOOK_NVTX": "1"}


def trace_variables(folder: Path, *, only_ranges: bool) -> Mapping[str, str]:
    """For a file with the times of its kernels, which each process writes into the folder as it ends.

    Args:
        folder: An existing folder that the program may write to.
        only_ranges: Only kernels between cudaProfilerStart and cudaProfilerStop count.
    """
    ranges = {"NCUVIEW_HOOK_RANGES": "1"} if only_ranges else {}
    return {"PYTHONPATH": _path(), "NCUVIEW_HOOK_TRACE": str(folder), **ranges}


def gate_variables(gate: Path) -> Mapping[str, str]:
    """For a wait before PyTorch initialises CUDA, until another run of the program has ended.

    Args:
        gate: The file whose appearance ends the wait, written at once; with the text "leave" the program ends.
    """
    return {"PYTHONPATH": _path(), "NCUVIEW_HOOK_GATE": str(gate)}


def _path() -> str:
    """The user's search path behind the folder of the hook."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(_HOOK), given] if given else [str(_HOOK)])
