"""Five checks of doctor on the GPUs: visible devices, MIG, virtualization, clocks and heat, ECC memory.

Each takes a ``Machine``, reads nvidia-smi, CUDA_VISIBLE_DEVICES or /proc/version, and returns a ``Verdict``.
``smi_log`` gives all GPUs and ``visible_gpus`` those that a CUDA program sees; both raise ``NotKnown`` without any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import Evidence, NotKnown, Verdict, fail, ok, unknown, warn
from ncuview.profiling.nvidia_smi import Gpu, SmiLog, read_log, visible

COMMAND = "nvidia-smi -q -x"


def smi_log(machine: Machine) -> SmiLog:
    """All GPUs of the machine.

    Raises:
        NotKnown: nvidia-smi is missing, fails, hangs, or its output cannot be parsed.
    """
    nvidia_smi = machine.which("nvidia-smi")
    if nvidia_smi is None:
        raise NotKnown("nvidia-smi is not on PATH")
    answer = machine.answer("nvidia-smi cannot be started", nvidia_smi, "-q", "-x")
    if answer.status:
        raise NotKnown(f"nvidia-smi ended with exit code {answer.status}: {answer.last_words}")
    log = read_log(answer.stdout.encode("utf-8", "replace"))
    if log is None:
        raise NotKnown("the output of nvidia-smi is no XML")
    return log


def visible_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """The GPUs that a CUDA program sees, in the order of CUDA_VISIBLE_DEVICES; all of them without it.

    Raises:
        NotKnown: See ``smi_log``, or there is none.
    """
    seen = visible(smi_log(machine).gpus, machine.environment.get("CUDA_VISIBLE_DEVICES"))
    if not seen:
        raise NotKnown("no GPU can be seen")
    return seen


_SHOWN = 60
_HOT_C = 80
"""Assumed, in degrees Celsius: data-centre GPUs slow down somewhat above, and idle ones stay below 50."""


def visible_devices(machine: Machine) -> Verdict:
    """Which of the machine's GPUs a CUDA program sees, and as which number."""
    gpus = smi_log(machine).gpus
    if not gpus:
        raise NotKnown("nvidia-smi lists no GPU")
    variable = machine.environment.get("CUDA_VISIBLE_DEVICES")
    order = machine.environment.get("CUDA_DEVICE_ORDER", "")
    seen = Evidence("CUDA_VISIBLE_DEVICES", "not set" if variable is None else repr(variable[:_SHOWN]))
    found = visible(gpus, variable)
    mapped = Evidence(COMMAND, ", ".join(f"CUDA device {at} is {gpu.label}" for at, gpu in enumerate(found)))
    if not found:
        fix = f"unset CUDA_VISIBLE_DEVICES, or name GPUs of 0 to {len(gpus) - 1}."
        return fail("CUDA_VISIBLE_DEVICES hides every GPU", seen, fix=fix)
    if variable is not None and len(found) < len(variable.split(",")):
        message = "CUDA_VISIBLE_DEVICES names a GPU that does not exist; it and all after it are hidden"
        return warn(message, seen, mapped, fix=f"Name GPUs of 0 to {len(gpus) - 1}.")
    if len({gpu.name for gpu in gpus}) > 1 and order != "PCI_BUS_ID":
        return warn(
            "the GPUs differ, and CUDA numbers them by speed, nvidia-smi by the bus",
            seen,
            Evidence("CUDA_DEVICE_ORDER", "PCI_BUS_ID" if order == "PCI_BUS_ID" else "not PCI_BUS_ID"),
            fix="export CUDA_DEVICE_ORDER=PCI_BUS_ID",
        )
    return ok(f"CUDA programs see {len(found)} of {len(gpus)} GPUs", seen, mapped)


def mig(machine: Machine) -> Verdict:
    """Whether a GPU is divided into instances."""
    gpus = visible_gpus(machine)
    seen = _each(gpus, lambda gpu: f"MIG {gpu.mig or 'N/A'}, after a reset {gpu.mig_pending or 'N/A'}")
    if any(gpu.in_mig_mode for gpu in gpus):
        return warn(
            "the GPU is divided into instances (MIG): clocks cannot be locked, and shared units have no metrics",
            *seen,
            fix="Profile with --clock-control none, or on a GPU without MIG.",
        )
    return ok("the GPU is not divided (no MIG)", *seen)


def virtualization(machine: Machine) -> Verdict:
    """Whether programs use the GPU through a virtual GPU, Windows (WSL) or confidential computing."""
    kernel = machine.text_if_there("/proc/version").strip()
    if "microsoft" in kernel.lower():
        return warn(
            "this is WSL: Windows decides who may read the GPU's counters",
            Evidence("/proc/version", kernel),
            fix="In Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters, allow all users.",
        )
    gpus = visible_gpus(machine)
    seen = _each(gpus, lambda gpu: f"virtualization {gpu.virtualization or 'N/A'}")
    if any("vgpu" in gpu.virtualization.lower() for gpu in gpus):
        return warn(
            "this is a virtual GPU: its host decides whether it has counters",
            *seen,
            fix="Ask the host's administrator to set the vGPU's parameter enable_profiling=1.",
        )
    confidential = _confidential(machine)
    if confidential.what == "ON":
        return warn(
            "confidential computing is on, which blocks the reading of counters",
            confidential,
            fix="Profile with confidential computing off, or in its developer-tools mode.",
        )
    return ok("programs use the GPU directly", *seen, confidential)


def clocks(machine: Machine) -> Verdict:
    """Whether times may differ between runs: clocks that are lowered or set, heat, a driver that unloads."""
    gpus = visible_gpus(machine)
    seen = _each(gpus, _clock_words)
    held = sorted({reason for gpu in gpus for reason in gpu.throttle_reasons})
    if held:
        fix = "Wait until the GPU is cool and idle; compare counters rather than times."
        return warn(f"the clocks are lowered ({', '.join(held)})", *seen, fix=fix)
    if any(_differ(gpu.clock_setting_mhz, gpu.default_clock_setting_mhz) for gpu in gpus):
        fix = "If a killed ncu left them: `ncu --clock-control reset`; else `nvidia-smi --reset-applications-clocks`."
        return warn("the clocks are set by a user", *seen, fix=fix)
    if any((gpu.temperature_c or 0) >= _HOT_C for gpu in gpus):
        return warn("the GPU is hot", *seen, fix="Wait until it has cooled down; hot GPUs lower their clocks.")
    if any(gpu.persistence == "Disabled" for gpu in gpus):
        fix = "As administrator: nvidia-smi --persistence-mode=1"
        return warn("the driver unloads when no program uses the GPU, and every first start is slow", *seen, fix=fix)
    return ok("the clocks are not lowered", *seen)


def ecc(machine: Machine) -> Verdict:
    """Whether the memory's error correction stays as it is, and has found no uncorrectable error."""
    gpus = visible_gpus(machine)
    seen = _each(gpus, _ecc_words)
    if any(gpu.uncorrectable_errors for gpu in gpus):
        return warn("the GPU's memory has had uncorrectable errors", *seen, fix="Check the GPU: nvidia-smi -q -d ECC")
    if any(_differ(_mode(gpu.ecc), _mode(gpu.ecc_pending)) for gpu in gpus):
        fix = "Reboot before you take a baseline: error correction takes memory bandwidth."
        return warn("the next reboot changes ECC, and with it how fast memory is", *seen, fix=fix)
    if any(gpu.ecc == "Enabled" and gpu.uncorrectable_errors is None for gpu in gpus):
        return unknown("ECC is on, and nvidia-smi does not say how many uncorrectable errors there were", *seen)
    kinds = sorted({gpu.ecc or "N/A" for gpu in gpus})
    return ok(f"ECC {', '.join(kinds)}: compare with baselines of the same", *seen)


def _each(gpus: Sequence[Gpu], words: Callable[[Gpu], str]) -> list[Evidence]:
    return [Evidence(COMMAND, f"{gpu.label}: {words(gpu)}") for gpu in gpus]


def _differ(one: object, other: object) -> bool:
    """Whether both are known and are not the same."""
    return one is not None and other is not None and one != other


def _clock_words(gpu: Gpu) -> str:
    clock = "unknown clock" if gpu.sm_clock_mhz is None else f"{gpu.sm_clock_mhz:,} MHz"
    heat = "" if gpu.temperature_c is None else f", {gpu.temperature_c} C"
    return f"{clock}, {_setting_words(gpu)}{heat}, persistence {gpu.persistence or 'N/A'}"


def _setting_words(gpu: Gpu) -> str:
    setting, default = gpu.clock_setting_mhz, gpu.default_clock_setting_mhz
    if setting is None or default is None:
        return "unknown whether clocks are set"
    return "clocks not set" if setting == default else f"clocks set to {setting:,} MHz instead of {default:,} MHz"


def _mode(word: str) -> str | None:
    """A mode that nvidia-smi names, None where it gives N/A."""
    return None if word in {"", "N/A"} else word


def _ecc_words(gpu: Gpu) -> str:
    errors = "not counted" if gpu.uncorrectable_errors is None else str(gpu.uncorrectable_errors)
    return f"ECC {gpu.ecc or 'N/A'}, uncorrectable errors: {errors}"


def _confidential(machine: Machine) -> Evidence:
    """nvidia-smi's state of confidential computing; older ones do not have the command."""
    where = "nvidia-smi conf-compute -f"
    try:
        answer = machine.run(machine.which("nvidia-smi") or "nvidia-smi", "conf-compute", "-f")
    except (OSError, NotKnown):
        return Evidence(where, "no answer")
    status = re.search(r"CC status\s*:\s*(ON|OFF)", answer.stdout, re.IGNORECASE)
    return Evidence(where, status[1].upper() if status else "no answer")
