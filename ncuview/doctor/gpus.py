"""The GPUs of a machine, as nvidia-smi describes them in XML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from lxml import etree

from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import NotKnown

COMMAND = "nvidia-smi -q -x"


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
    sm_clock_mhz: int | None
    clock_setting_mhz: int | None
    """The clock that somebody has set for applications."""
    default_clock_setting_mhz: int | None
    temperature_c: int | None
    ecc: str
    ecc_pending: str
    uncorrectable_errors: int
    """Of memory, since the driver was loaded."""
    processes: tuple[GpuProcess, ...]

    @property
    def label(self) -> str:
        """Place and name."""
        return f"GPU {self.place} ({self.name})"


@dataclass(frozen=True)
class SmiLog:
    """What nvidia-smi says of the machine."""

    driver: str
    cuda: str
    """The newest CUDA that the driver serves."""
    gpus: tuple[Gpu, ...]


def smi_log(machine: Machine) -> SmiLog:
    """All GPUs of the machine.

    Raises:
        NotKnown: nvidia-smi is missing, fails, hangs, or says nothing that can be read.
    """
    nvidia_smi = machine.which("nvidia-smi")
    if nvidia_smi is None:
        raise NotKnown("nvidia-smi is not on PATH")
    try:
        answer = machine.run(nvidia_smi, "-q", "-x")
    except OSError as error:
        raise NotKnown(f"nvidia-smi cannot be started: {error.strerror}") from error
    if answer.status:
        raise NotKnown(f"nvidia-smi ended with exit code {answer.status}: {answer.last_words}")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        log = etree.fromstring(answer.stdout.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise NotKnown("what nvidia-smi says is no XML") from error
    return SmiLog(
        driver=log.findtext("driver_version", ""),
        cuda=log.findtext("cuda_version", ""),
        gpus=tuple(_gpu(place, element) for place, element in enumerate(log.findall("gpu"))),
    )


def visible_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """The GPUs that a CUDA program sees, in its order as far as CUDA_VISIBLE_DEVICES says; all of them without it.

    Raises:
        NotKnown: See ``smi_log``, or there is none.
    """
    gpus = smi_log(machine).gpus
    seen = gpus if (wanted := machine.environment.get("CUDA_VISIBLE_DEVICES")) is None else chosen(wanted, gpus)
    if not seen:
        raise NotKnown("no GPU can be seen")
    return seen


def chosen(wanted: str, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """What CUDA_VISIBLE_DEVICES leaves: it ends at the first entry that names no GPU."""
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
        if entry.startswith("MIG-") and gpu.mig == "Enabled":
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


def _uncorrectable(gpu: etree._Element) -> int:
    counts = {str(each.tag): each.text or "" for each in gpu.findall("ecc_errors/volatile/*")}
    return sum(int(text) for tag, text in counts.items() if "uncorrectable" in tag and text.isdecimal())


def _mebibytes(gpu: etree._Element, path: str) -> int | None:
    number = _number(gpu, path)
    return None if number is None else number << 20


def _number(gpu: etree._Element, path: str) -> int | None:
    number = re.match(r"-?\d+", gpu.findtext(path, ""))
    return int(number[0]) if number else None
