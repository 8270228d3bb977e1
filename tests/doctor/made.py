"""Machines made for tests: they have what a test gives them, and raise for all else."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ncuview.doctor.commands import Answer
from ncuview.doctor.driver import PROBE
from ncuview.doctor.machine import Machine, Owned
from ncuview.doctor.nsight import READER

NCU = "/opt/nvidia/nsight-compute/2025.3.1/ncu"
SMI = "/usr/bin/nvidia-smi"
PARAMETERS = "/proc/driver/nvidia/params"
STATUS = "/proc/self/status"
USERS = "/proc/self/uid_map"

PID = 4242
"""Of the process that makes the checks."""

VERSION = (NCU, "--version")
CHIPS = (NCU, "--list-chips")
QUERY = (SMI, "-q", "-x")
CONFIDENTIAL = (SMI, "conf-compute", "-f")


@dataclass(frozen=True)
class FakeMachine(Machine):
    """Looks at nothing but declared paths."""

    expected: Collection[str] = ()
    owners: Mapping[str, Owned] = field(default_factory=dict)

    def at(self, path: str | PurePath) -> Path:
        assert str(path) in self.expected, f"the test gives nothing at {path}"
        return self.root / str(path).lstrip("/")

    def owned(self, path: str) -> Owned:
        return self.owners.get(path) or super().owned(path)


def machine(
    root: Path,
    *,
    files: Mapping[str, str] | None = None,
    absent: Collection[str] = (),
    owners: Mapping[str, Owned] | None = None,
    answers: Mapping[tuple[str, ...], Answer | Exception] | None = None,
    environment: Mapping[str, str] | None = None,
    uid: int = 1000,
    ncu: str | None = NCU,
    disassemblers: Mapping[str, Path] | None = None,
) -> FakeMachine:
    """A machine with these files and folders (whose names end with a slash), and these answers of programs."""
    for name, text in (files or {}).items():
        place = root / name.lstrip("/")
        if name.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755)
    expected = {name.rstrip("/") for name in files or {}}
    parents = {str(parent) for name in expected for parent in PurePath(name).parents}
    return FakeMachine(
        root=root,
        environment={"PATH": "/usr/bin", **(environment or {})},
        uid=uid,
        groups=frozenset({uid}),
        pid=PID,
        folder="/data",
        homes=("/home/ada",),
        run=answering(answers or {}),
        find_ncu=lambda: Path(ncu) if ncu else None,
        find_disassembler=(disassemblers or {}).get,
        expected={*expected, *parents, *absent},
        owners=owners or {},
    )


def answering(answers: Mapping[tuple[str, ...], Answer | Exception]) -> Callable[..., Answer]:
    """Programs that give these answers; others must not be started."""

    def run(*argv: str) -> Answer:
        assert argv in answers, f"the test gives no answer for {argv}"
        answer = answers[argv]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return run


def said(stdout: str, status: int = 0, stderr: str = "") -> Answer:
    return Answer(status, stdout, stderr)


def ncu_says(release: str) -> Answer:
    return said(f"NVIDIA (R) Nsight Compute Command Line Profiler\nVersion {release}.0 (build 1) (public-release)\n")


def reader_says(release: str) -> dict[tuple[str, ...], Answer | Exception]:
    return {READER: said(f"ncu-report {release}\n")}


def driver_says(**fields: Any) -> dict[tuple[str, ...], Answer | Exception]:
    """What the child process that loads libcuda prints; a driver with one H200 where nothing else is said."""
    usual = {
        "library": "/usr/lib/libcuda.so.580.159.04",
        "init": 0,
        "init_name": "CUDA_SUCCESS",
        "driver": 13000,
        "devices": [{"name": "NVIDIA H200", "compute_capability": "9.0"}],
    }
    return {PROBE: said(json.dumps({**usual, **fields}))}


GPU = {
    "product_name": "NVIDIA H200",
    "uuid": "GPU-1a",
    "persistence_mode": "Enabled",
    "mig_mode": "<current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig>",
    "gpu_virtualization_mode": "<virtualization_mode>None</virtualization_mode>",
    "fb_memory_usage": "<total>143771 MiB</total><used>0 MiB</used>",
    "clocks_event_reasons": "<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>"
    "<clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap>",
    "clocks": "<sm_clock>345 MHz</sm_clock>",
    "applications_clocks": "<graphics_clock>1980 MHz</graphics_clock>",
    "default_applications_clocks": "<graphics_clock>1980 MHz</graphics_clock>",
    "temperature": "<gpu_temp>33 C</gpu_temp>",
    "ecc_mode": "<current_ecc>Enabled</current_ecc><pending_ecc>Enabled</pending_ecc>",
    "ecc_errors": "<volatile><sram_correctable>7</sram_correctable><dram_uncorrectable>0</dram_uncorrectable>"
    "<sram_uncorrectable_parity>N/A</sram_uncorrectable_parity></volatile>",
    "processes": "",
}
"""What ``nvidia-smi -q -x`` says of a GPU, in the elements that are looked at."""


def gpu(**elements: str) -> str:
    content = {**GPU, **elements}
    return f"<gpu>{''.join(f'<{name}>{text}</{name}>' for name, text in content.items())}</gpu>"


def process(pid: int = 7, kind: str = "C", name: str = "/home/ada/secret/train --token=CANARY") -> str:
    return (
        f"<process_info><pid>{pid}</pid><type>{kind}</type><process_name>{name}</process_name>"
        "<used_memory>5 MiB</used_memory></process_info>"
    )


def smi_says(*gpus: str, driver: str = "580.159.04", cuda: str = "13.0") -> Answer:
    return said(
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n<nvidia_smi_log>'
        f"<driver_version>{driver}</driver_version><cuda_version>{cuda}</cuda_version>{''.join(gpus)}</nvidia_smi_log>"
    )


def with_gpus(root: Path, *gpus: str, **more: Any) -> FakeMachine:
    """A machine whose nvidia-smi lists these GPUs."""
    files = {SMI: "", **more.pop("files", {})}
    answers = {QUERY: smi_says(*gpus), CONFIDENTIAL: said("CC status: OFF\n"), **more.pop("answers", {})}
    return machine(root, files=files, answers=answers, **more)


def without_gpus(root: Path, **more: Any) -> FakeMachine:
    """A machine without nvidia-smi."""
    return machine(root, absent=[SMI, *more.pop("absent", [])], **more)
