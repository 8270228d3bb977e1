"""Check whether this machine can profile with Nsight Compute: 23 checks, each with a verdict, evidence and the fix.

``examine_this_machine`` makes ``CHECKS`` in parallel, within ten seconds -> ``Examination``; a check that raises an
error or is too slow gets the verdict UNKNOWN. ``live.live_checks`` adds two that profile a tiny kernel.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Thread
from typing import TypeVar

from ncuview.base.figures import duration
from ncuview.base.system import IS_LINUX
from ncuview.doctor.commands import Commands
from ncuview.doctor.competition import gpu_processes, profilers
from ncuview.doctor.driver import cuda_driver, stub_library
from ncuview.doctor.gpu_state import clocks, ecc, mig, virtualization, visible_devices
from ncuview.doctor.lock import lock_file, protected_files
from ncuview.doctor.machine import Machine, this_machine
from ncuview.doctor.nsight import (
    disassemblers,
    driver_fits,
    gpu_supported,
    ncu_report,
    nsight_compute,
    other_installations,
)
from ncuview.doctor.permission import administrator, container, counter_permission
from ncuview.doctor.surroundings import folders, host_memory, injections, operating_system
from ncuview.doctor.verdict import Checked, Evidence, Examination, NotKnown, Verdict, unknown

_Answer = TypeVar("_Answer")
LIMIT_S = 9.0
"""The limit for all checks together. It is longer than that of one program, so that a hanging program is named."""


@dataclass(frozen=True)
class Check:
    """A question about the machine."""

    name: str
    title: str
    ids: tuple[str, ...]
    """The failures of the catalogue that it foresees."""
    ask: Callable[[Machine], Verdict]


CHECKS = (
    Check("ncu", "Nsight Compute", ("NcuNotFound",), nsight_compute),
    Check("other-ncu", "Other installations of ncu", ("NCU-DRIVER", "NCU-MIX"), other_installations),
    Check("ncu-report", "Reader of reports", ("NCU-VERSION",), ncu_report),
    Check("cuda-driver", "CUDA driver", ("NCU-STUB",), cuda_driver),
    Check("stub-library", "Stub library", ("NCU-STUB",), stub_library),
    Check("driver-and-ncu", "Driver and ncu", ("NCU-DRIVER",), driver_fits),
    Check("gpu", "GPU", ("NCU-GPU",), gpu_supported),
    Check("visible-devices", "Visible GPUs", (), visible_devices),
    Check("mig", "Instances (MIG)", ("NCU-MIG-CLK", "NCU-MIG-MET"), mig),
    Check("virtualization", "Virtual GPU or WSL", ("NCU-GPU", "NCU-PERM"), virtualization),
    Check("counter-permission", "Permission to read counters", ("NCU-PERM",), counter_permission),
    Check("administrator", "CAP_SYS_ADMIN", ("NCU-PERM",), administrator),
    Check("container", "Container", ("NCU-PERM", "NCU-BUSY"), container),
    Check("profilers", "Other profilers", ("NCU-BUSY",), profilers),
    Check("gpu-processes", "Other programs on the GPU", ("NCU-BUSY",), gpu_processes),
    Check("lock-file", "Lock file", ("NCU-LOCK",), lock_file),
    Check("protected-files", "Protected files", ("NCU-LOCK",), protected_files),
    Check("folders", "Folders", ("NCU-TMP", "NCU-HOME", "NCU-WRITE"), folders),
    Check("host-memory", "Host memory", ("NCU-OOM",), host_memory),
    Check("injections", "Injected tools", ("NCU-INJ",), injections),
    Check("clocks", "Clocks and heat", ("NCU-CLK",), clocks),
    Check("ecc", "Error correction", (), ecc),
    Check("disassemblers", "Disassemblers", (), disassemblers),
)
"""In the order of a start of ncu: the installation, its requirements, disturbances; last what works without ncu."""
ELSEWHERE = (
    Check("system", "Operating system", ("NeedsLinux",), operating_system),
    *(check for check in CHECKS if check.name == "ncu-report"),
)
"""On other systems than Linux, where reports can be read and nothing can be profiled."""


def on_this_machine(ask: Callable[[Machine], _Answer]) -> _Answer:
    """The answer about this machine; programs that still run are ended."""
    commands = Commands(os.environ)
    try:
        return ask(this_machine(commands))
    finally:
        commands.stop()


def examine_this_machine() -> Examination:
    """Make all checks of this system; takes ten seconds at most, needs no rights, and raises no error."""
    return on_this_machine(lambda machine: examine(machine, CHECKS if IS_LINUX else ELSEWHERE))


def examine(machine: Machine, checks: Sequence[Check] = CHECKS, limit_s: float = LIMIT_S) -> Examination:
    """Make checks, each in a thread of its own; one that is too slow is UNKNOWN, and its thread is not awaited."""
    verdicts: dict[str, Verdict] = {}

    def run(check: Check) -> None:
        verdicts[check.name] = verdict_of(check, machine)

    threads = [Thread(target=run, args=(check,), daemon=True) for check in checks]
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = unknown(f"it was not done within {duration(1e9 * limit_s)}")
    return Examination(
        tuple(Checked(each.name, each.title, each.ids, verdicts.get(each.name, late)) for each in checks)
    )


def verdict_of(check: Check, machine: Machine) -> Verdict:
    """The verdict of a check, without the names of home folders; UNKNOWN when it raises an error."""
    try:
        verdict = check.ask(machine)
    except NotKnown as reason:
        verdict = unknown(str(reason))
    except Exception as error:  # noqa: BLE001  (a faulty check must not stop the others)
        verdict = unknown(f"the check itself failed: {type(error).__name__}: {error}")
    return _without_home_folders(verdict, machine)


def _without_home_folders(verdict: Verdict, machine: Machine) -> Verdict:
    """A verdict with home folders as ``~``."""
    return replace(
        verdict,
        message=machine.shown(verdict.message),
        evidence=tuple(Evidence(machine.shown(each.where), machine.shown(each.what)) for each in verdict.evidence),
        fix=machine.shown(verdict.fix),
    )
