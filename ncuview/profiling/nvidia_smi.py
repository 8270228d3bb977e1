"""Parse the XML of ``nvidia-smi -q -x`` into GPUs and their processes, and select those in CUDA_VISIBLE_DEVICES."""

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
    """One GPU. Words are nvidia-smi's; they are empty, and numbers None, where it says none."""

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
    """What holds the clocks down now: ``sw_power_cap``, ``hw_thermal_slowdown`` ..."""
    sm_clock_mhz: int | None
    max_sm_clock_mhz: int | None
    clock_setting_mhz: int | None
    """The clock that somebody has set for applications."""
    default_clock_setting_mhz: int | None
    temperature_c: int | None
    ecc: str
    ecc_pending: str
    uncorrectable_errors: int | None
    """Of memory, since the driver was loaded; None where nothing counts them."""
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
    """What nvidia-smi says of the machine."""

    driver: str
    cuda: str
    """The newest CUDA that the driver serves."""
    gpus: tuple[Gpu, ...]


def read_log(xml: bytes) -> SmiLog | None:
    """What ``nvidia-smi -q -x`` printed; None where that is no XML."""
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


def visible(gpus: tuple[Gpu, ...], wanted: str | None) -> tuple[Gpu, ...]:
    """What CUDA_VISIBLE_DEVICES leaves: it ends at the first entry that names no GPU; all where it is not set."""
    if wanted is None:
        return gpus
    found: list[Gpu] = []
    for entry in wanted.split(","):
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
    # Older drivers call the same list "throttle" instead of "event"; an idle GPU is not held down.
    reasons = [*gpu.findall("clocks_event_reasons/*"), *gpu.findall("clocks_throttle_reasons/*")]
    active = (re.sub(r"^clocks_(event|throttle)_reason_", "", str(r.tag)) for r in reasons if r.text == "Active")
    return tuple(reason for reason in active if reason != "gpu_idle")


def _uncorrectable(gpu: etree._Element) -> int | None:
    # A GPU has a counter for each kind of memory, and says N/A of those that it lacks.
    counters = [each for each in gpu.findall("ecc_errors/volatile/*") if "uncorrectable" in str(each.tag)]
    counts = [int(each.text) for each in counters if each.text and each.text.isdecimal()]
    return sum(counts) if counts else None


def _mebibytes(gpu: etree._Element, path: str) -> int | None:
    number = _number(gpu, path)
    return None if number is None else number << 20


def _number(gpu: etree._Element, path: str) -> int | None:
    number = re.match(r"-?\d+", gpu.findtext(path, ""))
    return int(number[0]) if number else None
