"""Checks of doctor on the host: writable folders with room, memory for ncu's saves, tools injected into CUDA.

``folders``, ``host_memory``, ``injections`` and, where this is not Linux, ``operating_system`` return a ``Verdict``.
"""

from __future__ import annotations

import re
import sys

from ncuview.doctor.gpu_state import COMMAND, visible_gpus
from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import Evidence, NotKnown, Verdict, fail, ok, warn
from ncuview.reader.sandbox import MISSING

_GIB = 1 << 30
_ENOUGH_BYTES = 500 << 20
"""About 100 launches with the full set of metrics."""
_LEAST_BYTES = 5 << 20
"""One launch with the full set of metrics."""
_OF_DEVICE = 0.5
"""Kernels rarely write more than half of the device memory."""
_INJECTIONS = ("CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH", "NVTX_INJECTION64_PATH", "NVTX_INJECTION32_PATH")
_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""The files with a container's memory limit and use, by version of control groups."""


def operating_system(_: Machine) -> Verdict:
    """That this system is not Linux, and what else differs here."""
    return fail(
        "profiling needs Linux",
        Evidence("system", sys.platform),
        Evidence("process that reads reports", f"no sandbox: {MISSING}"),
        fix="Profile on a Linux machine with an NVIDIA GPU, and read its reports here; reports of strangers on Linux.",
    )


def folders(machine: Machine) -> Verdict:
    """Whether temporary files, the home folder and the working folder can be written, and have room."""
    temporary = machine.folder_for_temporary_files
    name = "TMPDIR" if machine.environment.get("TMPDIR") else "no TMPDIR"
    try:
        machine.try_to_write(temporary)
        free = machine.free_bytes(temporary)
    except OSError as error:
        seen = Evidence(name, f"{temporary}: {error.strerror}")
        return fail("temporary files cannot be written", seen, fix="Set TMPDIR to a folder that you may write to.")
    seen = Evidence(name, f"{temporary}: writable, {_gib(free)} free")
    if free < _LEAST_BYTES:
        return fail("there is no room for temporary files", seen, fix=f"Free space in {temporary}, or set TMPDIR.")
    home = machine.environment.get("HOME", "")
    tried = (("HOME", home), ("working folder", machine.folder))
    troubles = [found for what, folder in tried if (found := _trouble(machine, what, folder))]
    if free < _ENOUGH_BYTES:
        return warn("there is little room for temporary files", seen, *troubles, fix=f"Free space in {temporary}.")
    if troubles:
        where = " and ".join(found.where for found in troubles)
        return warn(
            f"{where} cannot be written",
            seen,
            *troubles,
            fix="Profiling does not need it; only files that are written there, such as the table of "
            "`ncuview calibrate`, need another place (--output).",
        )
    return ok("temporary, home and working folder can be written", seen)


def host_memory(machine: Machine) -> Verdict:
    """Whether the host has enough memory for the device memory that ncu saves between passes."""
    device = max((gpu.memory_bytes or 0 for gpu in visible_gpus(machine)), default=0)
    if not device:
        raise NotKnown("nvidia-smi does not give the size of the GPU's memory")
    host, seen = _free_memory(machine)
    gpu = Evidence(COMMAND, f"{_gib(device)} device memory")
    if host < _OF_DEVICE * device:
        return warn(
            f"the host has {_gib(host)} free for the {_gib(device)} of the GPU",
            gpu,
            seen,
            fix="Kernels that write more than that need `--replay-mode application`, or metrics of a single pass.",
        )
    return ok("the host has enough memory for what ncu saves of the GPU's", gpu, seen)


def injections(machine: Machine) -> Verdict:
    """Whether variables load another tool into CUDA programs."""
    found = [name for name in _INJECTIONS if machine.environment.get(name)]
    seen = [Evidence(name, machine.environment[name]) for name in found]
    if found:
        fix = f"unset {' '.join(found)}"
        message = "another tool is loaded into every CUDA program"
        return fail(message, *seen, fix=fix) if found[0].startswith("CUDA_") else warn(message, *seen, fix=fix)
    return ok("no other tool is loaded into CUDA programs", Evidence(", ".join(_INJECTIONS), "not set"))


def _trouble(machine: Machine, what: str, folder: str) -> Evidence | None:
    if not folder:
        return Evidence(what, "not set" if what == "HOME" else "does not exist")
    try:
        machine.try_to_write(folder)
    except OSError as error:
        return Evidence(what, f"{folder}: {error.strerror}")
    return None


def _free_memory(machine: Machine) -> tuple[int, Evidence]:
    """The bytes that this process may still allocate: the smaller of the machine's free memory and its container's."""
    available = re.search(r"^MemAvailable:\s*(\d+) kB", machine.text_if_there("/proc/meminfo"), re.MULTILINE)
    if available is None:
        raise NotKnown("/proc/meminfo does not give the available memory")
    free, seen = int(available[1]) * 1024, "/proc/meminfo"
    for limit, taken in _LIMITS:
        numbers = [machine.text_if_there(path).strip() for path in (limit, taken)]
        if all(number.isdigit() for number in numbers) and (left := int(numbers[0]) - int(numbers[1])) < free:
            free, seen = max(left, 0), limit
    return free, Evidence(seen, f"{_gib(free)} available")


def _gib(size: int) -> str:
    return f"{size / _GIB:,.1f} GiB"
