"""Parse the XML of ``nvidia-smi -q -x`` into a ``SmiLog``: driver, CUDA version, GPUs and their processes.

``read_log`` parses the bytes; ``visible`` selects the GPUs that CUDA_VISIBLE_DEVICES names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from lxml import etree


@dataclass(frozen=True)
class GpuProcess:
    """A process that has memory on a GPU."""

    pid: str
    name: str
    """The program's file name, without its folder and arguments: those may hold secrets."""
    computes: bool
    """Whether it runs kernels; others only draw."""


@dataclass(frozen=True)
class Gpu:
    """One GPU, in nvidia-smi's words; texts are empty and numbers None where it gives none."""

    place: int
    """Its place in nvidia-smi's list, which is the order of the PCI bus."""
    name: str
    uuid: str
    mig: str
    mig_pending: str
    virtualization: str
    memory_bytes: int | None
    persistence: str
    throttle_reasons: tuple[str, ...]
    """The reasons why the clocks are lowered now: ``sw_power_cap``, ``hw_thermal_slowdown`` ..."""
    sm_clock_mhz: int | None
    max_sm_clock_mhz: int | None
    clock_setting_mhz: int | None
    """The applications clock, if one is set."""
    default_clock_setting_mhz: int | None
    temperature_c: int | None
    ecc: str
    ecc_pending: str
    uncorrectable_errors: int | None
    """Errors of memory since the driver was loaded; None where they are not counted."""
    processes: tuple[GpuProcess, ...]

    @property
    def label(self) -> str:
        """Place and name."""
        return f"GPU {self.place} ({self.name})"

    @property
    def in_mig_mode(self) -> bool:
        """Whether it is cut into instances."""
        return self.mig == "Enabled"


@dataclass(frozen=True)
class SmiLog:
    """nvidia-smi's description of the machine."""

    driver: str
    cuda: str
    """The newest CUDA that the driver supports."""
    gpus: tuple[Gpu, ...]


def read_log(xml: bytes) -> SmiLog | None:
    """Parse the output of ``nvidia-smi -q -x``; None where it is no XML."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        log = etree.fromstring(xml, parser)
    except etree.XMLSyntaxError:
        return None
    return SmiLog(
        driver=log.findtext("driver_version", ""),
        cuda=log.findtext("cuda_version", ""),
        gpus=tuple(_gpu(place, element) for place, element in enumerate(log.findall("gpu"))),
    )


def visible(gpus: tuple[Gpu, ...], visible_devices: str | None) -> tuple[Gpu, ...]:
    """The GPUs in CUDA_VISIBLE_DEVICES up to its first entry that names no GPU; all where it is not set."""
    if visible_devices is None:
        return gpus
    found: list[Gpu] = []
    for entry in visible_devices.split(","):
        gpu = _named(entry.strip(), gpus)
        if gpu is None:
            break
        found.append(gpu)
    return tuple(found)


def _named(entry: str, gpus: tuple[Gpu, ...]) -> Gpu | None:
    for gpu in gpus:
        if entry == str(gpu.place) or (entry.startswith("GPU-") and gpu.uuid.startswith(entry)):
            return gpu
        # An instance's own UUID is not listed, only that its GPU is in MIG mode.
        if entry.startswith("MIG-") and gpu.in_mig_mode:
            return gpu
    return None


def _gpu(place: int, gpu: etree._Element) -> Gpu:
    return Gpu(
        place=place,
        name=gpu.findtext("product_name", ""),
        uuid=gpu.findtext("uuid", ""),
        mig=gpu.findtext("mig_mode/current_mig", ""),
        mig_pending=gpu.findtext("mig_mode/pending_mig", ""),
        virtualization=gpu.findtext("gpu_virtualization_mode/virtualization_mode", ""),
        memory_bytes=_mebibytes(gpu, "fb_memory_usage/total"),
        persistence=gpu.findtext("persistence_mode", ""),
        throttle_reasons=_throttle_reasons(gpu),
        sm_clock_mhz=_number(gpu, "clocks/sm_clock"),
        max_sm_clock_mhz=_number(gpu, "max_clocks/sm_clock"),
        clock_setting_mhz=_number(gpu, "applications_clocks/graphics_clock"),
        default_clock_setting_mhz=_number(gpu, "default_applications_clocks/graphics_clock"),
        temperature_c=_number(gpu, "temperature/gpu_temp"),
        ecc=gpu.findtext("ecc_mode/current_ecc", ""),
        ecc_pending=gpu.findtext("ecc_mode/pending_ecc", ""),
        uncorrectable_errors=_uncorrectable(gpu),
        processes=tuple(_process(each) for each in gpu.findall("processes/process_info")),
    )


def _process(info: etree._Element) -> GpuProcess:
    words = info.findtext("process_name", "").split()
    return GpuProcess(
        pid=info.findtext("pid", ""),
        name=PurePath(words[0]).name if words else "",
        computes="C" in info.findtext("type", ""),
    )


def _throttle_reasons(gpu: etree._Element) -> tuple[str, ...]:
    # Older drivers call the same list "throttle" instead of "event"; the reason "idle" is left out.
    reasons = [*gpu.findall("clocks_event_reasons/*"), *gpu.findall("clocks_throttle_reasons/*")]
    active = (re.sub(r"^clocks_(event|throttle)_reason_", "", str(r.tag)) for r in reasons if r.text == "Active")
    return tuple(reason for reason in active if reason != "gpu_idle")


def _uncorrectable(gpu: etree._Element) -> int | None:
    # nvidia-smi has a counter for each kind of memory, and prints N/A for those that the GPU does not have.
    counters = [each for each in gpu.findall("ecc_errors/volatile/*") if "uncorrectable" in str(each.tag)]
    counts = [int(each.text) for each in counters if each.text and each.text.isdecimal()]
    return sum(counts) if counts else None


def _mebibytes(gpu: etree._Element, path: str) -> int | None:
    number = _number(gpu, path)
    return None if number is None else number << 20


def _number(gpu: etree._Element, path: str) -> int | None:
    number = re.match(r"-?\d+", gpu.findtext(path, ""))
    return int(number[0]) if number else None
