"""Two checks of doctor: whether the CUDA driver (libcuda) loads and starts, and whether a stub library replaces it.

``cuda_driver`` and ``stub_library`` return verdicts; ``driver_of`` and ``devices_of`` what the driver's child found.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path, PurePath

from pydantic import BaseModel, ValidationError

from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import Evidence, NotKnown, Verdict, fail, ok, warn

PROBE = (sys.executable, "-I", str(Path(__file__).with_name("driver_probe.py")))
"""The command line that tests the driver."""
_PROBED = ("no child process can be started", *PROBE)
_TRIED = "libcuda.so.1 in a child process"

_FIXES = {
    34: "Remove folders named stubs from LD_LIBRARY_PATH.",
    100: "Pass the GPU into the container (docker run --gpus all), and check that CUDA_VISIBLE_DEVICES names one.",
    802: "Start NVIDIA's fabric manager (systemctl start nvidia-fabricmanager), in the release of the driver.",
    803: "The kernel's module and libcuda are of two releases: reboot after an update of the driver, or mount the "
    "host's libcuda into the container.",
    804: "Remove CUDA's compat folder from LD_LIBRARY_PATH: this GPU does not support it.",
}
"""Fixes by the result of cuInit."""
_ELSE = "Check that nvidia-smi works and that /dev/nvidia* may be read and written; dmesg shows driver errors."


class Device(BaseModel):
    """A GPU as CUDA programs see it."""

    name: str
    compute_capability: str


class Driver(BaseModel):
    """The output of the child process; see ``driver_probe``."""

    error: str = ""
    library: str = ""
    init: int = 0
    init_name: str = ""
    driver: int | None = None
    devices: tuple[Device, ...] = ()

    @property
    def cuda(self) -> str:
        """The newest CUDA that it supports, as in ``13.0``; empty when unknown."""
        return f"{self.driver // 1000}.{self.driver % 1000 // 10}" if self.driver else ""


def driver_of(machine: Machine) -> Driver:
    """Run the child process, and return what it found.

    Raises:
        NotKnown: It crashed, hung, or its output cannot be parsed.
    """
    answer = machine.answer(*_PROBED)
    if answer.status:
        raise NotKnown(f"the child process that loads libcuda ended with {answer.status}: {answer.last_words}")
    try:
        return Driver.model_validate(json.loads(answer.stdout))
    except (ValueError, ValidationError) as error:
        raise NotKnown("the output of the child process that loads libcuda cannot be parsed") from error


def devices_of(machine: Machine) -> tuple[Device, ...]:
    """The GPUs that CUDA programs see, in CUDA's order.

    Raises:
        NotKnown: The driver does not start.
    """
    driver = driver_of(machine)
    if driver.error or driver.init:
        raise NotKnown("the CUDA driver does not start")
    return driver.devices


def cuda_driver(machine: Machine) -> Verdict:
    """Whether libcuda can be loaded and started."""
    answer = machine.answer(*_PROBED)
    if answer.status < 0:
        return fail(
            f"libcuda crashes (signal {-answer.status})",
            Evidence(_TRIED, f"ended by signal {-answer.status}"),
            fix="Reinstall the NVIDIA driver; remove other libraries named libcuda.so from LD_LIBRARY_PATH.",
        )
    driver = driver_of(machine)
    if driver.error:
        return fail(
            "the NVIDIA driver for programs is missing (libcuda.so.1)",
            Evidence(_TRIED, driver.error),
            fix="Install the NVIDIA driver; in a container, pass the GPU in (docker run --gpus all). "
            "Reports and recorded profiles need no GPU.",
        )
    loaded = Evidence(_TRIED, driver.library or "loaded")
    if driver.init:
        tried = Evidence("cuInit", f"{driver.init} {driver.init_name}".strip())
        return fail(f"the CUDA driver does not start ({tried.what})", loaded, tried, fix=_FIXES.get(driver.init, _ELSE))
    return ok(f"the CUDA driver starts and supports CUDA {driver.cuda}", loaded)


def stub_library(machine: Machine) -> Verdict:
    """Whether a stub for linking is loaded instead of the driver."""
    folders = [
        folder
        for folder in machine.environment.get("LD_LIBRARY_PATH", "").split(":")
        if "stubs" in PurePath(folder).parts
    ]
    seen = [Evidence("LD_LIBRARY_PATH", folder) for folder in folders]
    fix = "Remove folders named stubs from LD_LIBRARY_PATH; they are for linking only (-L)."
    if any(machine.exists(f"{folder}/libcuda.so.1") for folder in folders):
        return fail("a stub takes the place of the CUDA driver", *seen, fix=fix)
    if folders:
        return warn("LD_LIBRARY_PATH names a folder of stubs", *seen, fix=fix)
    library = driver_of(machine).library
    if "stubs" in PurePath(library).parts:
        return fail("a stub takes the place of the CUDA driver", Evidence(_TRIED, library), fix=fix)
    return ok("no stub takes the place of the CUDA driver", Evidence("LD_LIBRARY_PATH", "names no folder of stubs"))
