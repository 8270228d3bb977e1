"""Find Nsight Compute, nvcc and the first visible GPU of this machine, and name what is missing for profiling.

``find_ncu`` gives a path, ``gpu_state`` clocks and MIG, ``missing_for_ncu`` and ``missing_for_live`` a ``ToolError``.
``ncu_version`` and ``compute_capability`` give texts such as ``2025.3.1`` and ``9.0``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ncuview.base.errors import (
    CompilerNotFound,
    GpuNotFound,
    LauncherNotFound,
    NcuNotFound,
    NcuRefused,
    NeedsLinux,
    ToolError,
)
from ncuview.base.log import log_command
from ncuview.base.system import IS_LINUX
from ncuview.profiling.nvidia_smi import Gpu, SmiLog, read_log, visible

_NSIGHT_COMPUTE = Path("/opt/nvidia/nsight-compute")
_CUDA = Path("/usr/local/cuda")
_NVIDIA_SMI_TIMEOUT_S = 60  # it wakes every GPU of the host, one after the other
_NCU_VERSION_TIMEOUT_S = 60


@dataclass(frozen=True)
class GpuState:
    """The GPU that a program would use, in the state that decides how far its timings can be compared."""

    name: str
    driver_version: str
    cuda_version: str
    """The newest CUDA that the driver supports."""
    sm_clock_mhz: int | None
    max_sm_clock_mhz: int | None
    temperature_c: int | None
    throttle_reasons: tuple[str, ...]
    """The reasons why the clocks are lowered now, as nvidia-smi names them: ``sw_power_cap`` ..."""
    mig: bool
    """The GPU is divided into instances, so some units are shared with others."""


def find_ncu() -> Path | None:
    """Nsight Compute's command line: on PATH, else the newest installed release, else a CUDA toolkit's."""
    releases = sorted(_NSIGHT_COMPUTE.glob("*"), key=lambda folder: _version(folder.name), reverse=True)
    return _find("ncu", [*releases, *_cuda_folders()])


def find_nvcc() -> Path | None:
    """The CUDA compiler: on PATH, else a CUDA toolkit's."""
    return _find("nvcc", _cuda_folders())


def ncu_version(ncu: Path) -> str:
    """The release of an ncu, such as ``2025.3.1``.

    Raises:
        NcuRefused: It does not start, or does not name its version.
    """
    try:
        log_command([ncu, "--version"])
        answer = subprocess.run(
            [ncu, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_NCU_VERSION_TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        answer = ""
    version = re.search(r"Version (\d+\.\d+\.\d+)", answer)
    if version is None:
        raise NcuRefused(f"{ncu} does not name its version", hint="Reinstall Nsight Compute.")
    return version[1]


def gpu_state() -> GpuState | None:
    """The state of the first visible GPU, or None where no driver or GPU answers."""
    found = _first_visible()
    if found is None:
        return None
    log, gpu = found
    return GpuState(
        name=gpu.name,
        driver_version=log.driver,
        cuda_version=log.cuda,
        sm_clock_mhz=gpu.sm_clock_mhz,
        max_sm_clock_mhz=gpu.max_sm_clock_mhz,
        temperature_c=gpu.temperature_c,
        throttle_reasons=gpu.throttle_reasons,
        mig=gpu.in_mig_mode,
    )


def compute_capability() -> str:
    """The compute capability of the first visible GPU, such as ``9.0``; empty where none answers."""
    found = _first_visible()
    if found is None:
        return ""
    question = ("--query-gpu=compute_cap", "--format=csv,noheader", f"--id={found[1].uuid}")
    said = _nvidia_smi(*question).decode("utf-8", "replace").strip()
    return said if re.fullmatch(r"\d+\.\d", said) else ""


def missing_for_ncu() -> ToolError | None:
    """The first thing that is missing here to run a program under ncu, or None when nothing is."""
    if not IS_LINUX:
        return NeedsLinux(
            "profiling needs Linux",
            hint="Profile on a Linux machine with an NVIDIA GPU, and read the report here.",
        )
    if gpu_state() is None:
        return GpuNotFound(
            "no NVIDIA GPU here: nvidia-smi is missing or lists none",
            hint="Install the NVIDIA driver; in a container, pass the GPU in (docker run --gpus all). "
            "Reports and recorded profiles need no GPU.",
        )
    if find_ncu() is None:
        return NcuNotFound(
            f"no ncu here: Nsight Compute is neither on PATH nor in {_NSIGHT_COMPUTE} nor in a CUDA toolkit",
            hint="Install Nsight Compute (it comes with the CUDA toolkit) or put its folder on PATH.",
        )
    return None


def missing_for_live() -> ToolError | None:
    """The first thing that is missing here to compile and launch a kernel under ncu, or None when nothing is."""
    if missing := missing_for_ncu():
        return missing
    if find_nvcc() is None:
        return CompilerNotFound(
            f"no nvcc here: the CUDA compiler is neither on PATH nor in $CUDA_HOME nor in {_CUDA}",
            hint="Install the CUDA toolkit or set CUDA_HOME to where it is.",
        )
    if find_spec("pycuda") is None:
        return LauncherNotFound("no PyCUDA here: it is not installed", hint="pip install 'ncuview[gpu]'")
    return None


def surely_missing_for_live() -> ToolError | None:
    """As ``missing_for_live``, but without starting a program: None also where nvidia-smi would have to be asked."""
    return missing_for_live() if not IS_LINUX or shutil.which("nvidia-smi") is None else None


def _first_visible() -> tuple[SmiLog, Gpu] | None:
    """nvidia-smi's report, and the first GPU that a program sees; None where there is none."""
    log = read_log(_nvidia_smi("-q", "-x"))
    gpus = visible(log.gpus, os.environ.get("CUDA_VISIBLE_DEVICES")) if log else ()
    return (log, gpus[0]) if log and gpus else None


def _nvidia_smi(*words: str) -> bytes:
    """The output of nvidia-smi; empty where it is missing, fails or hangs."""
    nvidia_smi = shutil.which("nvidia-smi")
    if nvidia_smi is None:
        return b""
    try:
        log_command([nvidia_smi, *words])
        return subprocess.run(
            [nvidia_smi, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_NVIDIA_SMI_TIMEOUT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return b""


def _find(program: str, folders: list[Path]) -> Path | None:
    found = shutil.which(program) or shutil.which(program, path=os.pathsep.join(map(str, folders)))
    return Path(found).absolute() if found else None


def _cuda_folders() -> list[Path]:
    homes = [Path(home) for home in [os.environ.get("CUDA_HOME")] if home]
    return [home / "bin" for home in [*homes, _CUDA]]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))
