"""Two checks of doctor: whether other profilers run, and whether other programs compute on the visible GPUs.

``profilers`` reads /proc, since another profiler excludes ncu; ``gpu_processes`` reads nvidia-smi -> ``Verdict``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ncuview.doctor.gpu_state import COMMAND, visible_gpus
from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import Evidence, NotKnown, Verdict, ok, warn

_DCGM = ("nv-hostengine", "dcgm-exporter")
_PROFILERS = ("ncu", "nsys", "nvprof", "nv-nsight-cu-cl")
"""Names of profilers, shortened as in /proc."""
_STAT = re.compile(r"\d+ \((?P<name>.*)\) \S (?P<parent>\d+) ", re.DOTALL)
_NAMED = 5


def profilers(machine: Machine) -> Verdict:
    """Whether another profiler runs, as far as this user and this container see processes."""
    running = _processes(machine)
    others = [(pid, name) for pid, name in running if name in _PROFILERS]
    monitors = [(pid, name) for pid, name in running if name in _DCGM]
    seen = [Evidence(f"/proc/{pid}/stat", name) for pid, name in [*others, *monitors][:_NAMED]]
    if others:
        names = ", ".join(dict.fromkeys(name for _, name in others))
        return warn(
            f"another profiler runs ({names}); two at once are refused",
            *seen,
            fix="Wait until it ends; if it is left over, kill its process, then run `ncu --clock-control reset`.",
        )
    if monitors:
        return warn(
            "DCGM runs, which may hold the GPU's counters",
            *seen,
            fix="If ncu reports a busy GPU: `dcgmi profile --pause`, and `dcgmi profile --resume` afterwards.",
        )
    return ok("no other profiler runs", Evidence("/proc/*/stat", f"{len(running)} processes"))


def gpu_processes(machine: Machine) -> Verdict:
    """Whether other programs compute on the GPUs that a program would see."""
    found = [(gpu, process) for gpu in visible_gpus(machine) for process in gpu.processes if process.computes]
    if not found:
        return ok("no other program computes on the GPU", Evidence(COMMAND, "no compute process"))
    seen = [
        Evidence(COMMAND, f"{gpu.label}: process {process.pid} {process.name}".strip())
        for gpu, process in found[:_NAMED]
    ]
    return warn(
        f"{len(found)} other programs compute on the GPU" if len(found) > 1 else "another program computes on the GPU",
        *seen,
        fix="Profile when it is done, or choose another GPU with CUDA_VISIBLE_DEVICES: it takes time and memory from "
        "the profiled kernel.",
    )


def _processes(machine: Machine) -> list[tuple[int, str]]:
    """Number and short name of each visible process, without those that this one has started, which include ncu."""
    try:
        numbers = [int(entry.name) for entry in machine.at("/proc").iterdir() if entry.name.isdigit()]
    except OSError as error:
        raise NotKnown(f"/proc cannot be read: {error.strerror}") from error
    names, parents = {}, {}
    for number in sorted(numbers):
        described = _STAT.match(machine.text_if_there(f"/proc/{number}/stat"))
        if described:  # empty for a process that has ended meanwhile
            names[number], parents[number] = described["name"], int(described["parent"])
    if not names:
        raise NotKnown("/proc shows no process")
    return [(number, name) for number, name in names.items() if machine.pid not in _ancestors(number, parents)]


def _ancestors(number: int, parents: Mapping[int, int]) -> set[int]:
    found: set[int] = set()
    while (parent := parents.get(number)) is not None and parent not in found:
        found.add(parent)
        number = parent
    return found
