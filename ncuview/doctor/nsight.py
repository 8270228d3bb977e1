"""Six checks of doctor on NVIDIA's tools: ncu, other ncus, report reader, support by driver and for GPU, disassemblers.

Each takes a ``Machine`` and returns a ``Verdict``; ``used_ncu`` gives the ncu that ncuview runs, ``used_release`` its
release.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ncuview.catalogue.machine_code import DISASSEMBLERS, INSTALL_DISASSEMBLERS
from ncuview.doctor.commands import Answer
from ncuview.doctor.driver import devices_of, driver_of
from ncuview.doctor.gpu_state import COMMAND, smi_log
from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import Evidence, NotKnown, Verdict, fail, ok, unknown, warn

Version = tuple[int, ...]

_OLDEST: Version = (2022, 3)
"""The oldest release that is known to have all options that ncuview gives."""
_FIRST_OF_CUDA = ((13, (2025, 3)), (12, (2022, 4)), (11, (2020, 1)))
"""The first Nsight Compute that came with each CUDA, newest first."""
_INSTALL = "Install Nsight Compute (it comes with the CUDA toolkit) or put its folder on PATH."

READER = (
    sys.executable,
    "-P",
    "-c",
    "import ncu_report, importlib.metadata as m; print('ncu-report', m.version('ncu-report'))",
)
"""The command line that tests NVIDIA's reader of reports: native code, so it is imported in a child process only."""

_CHIPS = {
    "7.0": "gv1",
    "7.2": "gv1",
    "7.5": "tu1",
    "8.0": "ga100",
    "8.6": "ga10",
    "8.7": "ga10",
    "8.9": "ad10",
    "9.0": "gh1",
    "10.0": "gb1",
    "10.3": "gb1",
    "12.0": "gb2",
    "12.1": "gb2",
}
"""How the names of the chips of a compute capability begin in ``ncu --list-chips``."""
_FIRST_SUPPORTED = 7
"""The oldest compute capability that any Nsight Compute since 2020.1 profiles: Volta."""


def version_of(text: str) -> Version:
    """The numbers of a release: ``2025.3.1`` as (2025, 3, 1)."""
    return tuple(int(number) for number in re.findall(r"\d+", text))


def used_ncu(machine: Machine) -> str:
    """The ncu that ncuview would run.

    Raises:
        NotKnown: It is missing.
    """
    found = machine.find_ncu()
    if found is None:
        raise NotKnown("ncu is missing")
    return str(found)


def used_release(machine: Machine) -> str:
    """Its release, such as ``2025.3.1``.

    Raises:
        NotKnown: ncu is missing, or does not name its version.
    """
    release = _release(_asked(machine, "--version"))
    if not release:
        raise NotKnown("ncu does not name its version")
    return release


def nsight_compute(machine: Machine) -> Verdict:
    """Whether there is an ncu, and whether ncuview can use it."""
    ncu = machine.find_ncu()
    if ncu is None:
        looked = Evidence("PATH, /opt/nvidia/nsight-compute, CUDA toolkits", "no program named ncu")
        return fail("ncu (Nsight Compute) is missing", looked, fix=_INSTALL)
    try:
        answer = machine.run(str(ncu), "--version")
    except OSError as error:
        return fail("ncu cannot be started", Evidence(str(ncu), error.strerror or "refused"), fix=_INSTALL)
    release = _release(answer)
    if not release:
        said = Evidence(f"{ncu} --version", f"exit code {answer.status}: {answer.last_words}")
        return fail("ncu does not name its version", said, fix="Reinstall Nsight Compute.")
    seen = Evidence(f"{ncu} --version", release)
    if version_of(release) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return fail(f"ncu {release} is too old", seen, fix=f"Install Nsight Compute {oldest} or newer.")
    return ok(f"ncu {release}", seen)


def other_installations(machine: Machine) -> Verdict:
    """Whether a newer ncu is installed than the one that is used."""
    installed = _installed(machine)
    seen = [Evidence(path, release or "installed") for path, release in installed.items()]
    used = used_release(machine)
    newer = [path for path, release in installed.items() if version_of(release) > version_of(used)]
    if newer:
        return warn(
            f"ncu {used} is used, and a newer one is installed",
            *seen,
            fix=f"Put the newer one first on PATH (export PATH={Path(newer[0]).parent}:$PATH), unless the driver is "
            "too old for it.",
        )
    count = len(installed)
    return ok("one ncu is installed" if count <= 1 else f"the newest of {count} installed ncu is used", *seen)


def ncu_report(machine: Machine) -> Verdict:
    """Whether NVIDIA's reader of reports works, and is as new as the reports of the ncu that is used."""
    answer = machine.answer("no child process can be started", *READER)
    release = re.search(r"ncu-report (\d+(?:\.\d+)*)", answer.stdout)
    seen = Evidence("import ncu_report in a child process", release[1] if release else answer.last_words)
    if answer.status or release is None:
        how = f"signal {-answer.status}" if answer.status < 0 else "an error"
        message = f"NVIDIA's reader of reports does not load ({how})"
        return fail(message, seen, fix="python -m pip install --force-reinstall ncu-report")
    try:
        ncu = used_release(machine)
    except NotKnown:
        return ok(f"ncu_report {release[1]} reads reports", seen)
    if version_of(release[1])[:2] < version_of(ncu)[:2]:
        return warn(
            f"ncu_report {release[1]} is older than ncu {ncu}, whose reports it may not read completely",
            seen,
            Evidence("ncu --version", ncu),
            fix=f"python -m pip install --upgrade 'ncu-report>={ncu}'",
        )
    return ok(f"ncu_report {release[1]} reads the reports of ncu {ncu}", seen)


def driver_fits(machine: Machine) -> Verdict:
    """Whether the driver supports the CUDA that this ncu came with."""
    ncu = used_release(machine)
    try:
        log = smi_log(machine)
        serves, seen = log.cuda, Evidence(COMMAND, f"driver {log.driver}, CUDA {log.cuda}")
    except NotKnown:
        serves = driver_of(machine).cuda
        seen = Evidence("cuDriverGetVersion", serves)
    made_for = next((cuda for cuda, first in _FIRST_OF_CUDA if version_of(ncu) >= first), None)
    if not version_of(serves) or made_for is None:
        return unknown(f"it is not known which driver ncu {ncu} needs", seen)
    came = Evidence("ncu --version", f"{ncu}, which came with CUDA {made_for}")
    if version_of(serves)[0] < made_for:
        return warn(
            f"ncu {ncu} is newer than the driver, which supports CUDA {serves}",
            seen,
            came,
            fix=f"Use the ncu of a CUDA {version_of(serves)[0]} toolkit, or update the driver to one that supports "
            f"CUDA {made_for}.",
        )
    return ok(f"the driver supports the CUDA of ncu {ncu}", seen, came)


def gpu_supported(machine: Machine) -> Verdict:
    """Which GPUs there are, and whether this ncu supports their chips."""
    seen = _gpus_seen(machine)
    devices = devices_of(machine)
    if not devices:
        return fail("no GPU is visible", *seen, fix="Pass a GPU into the container (docker run --gpus all).")
    capabilities = sorted({device.compute_capability for device in devices})
    old = [each for each in capabilities if version_of(each)[0] < _FIRST_SUPPORTED]
    if old:
        message = f"Nsight Compute does not profile GPUs of compute capability {', '.join(old)}"
        return fail(message, *seen, fix="Use a GPU of compute capability 7.0 or newer; nvprof supports older ones.")
    chips = _chips(machine)
    listed = Evidence("ncu --list-chips", " ".join(chips))
    missing = [each for each in capabilities if each in _CHIPS and not _any_begins(chips, _CHIPS[each])]
    if missing:
        message = f"this ncu does not support GPUs of compute capability {', '.join(missing)}"
        return fail(message, *seen, listed, fix="Install an Nsight Compute that lists the chip (ncu --list-chips).")
    if strange := [each for each in capabilities if each not in _CHIPS]:
        return unknown(f"it is not known which chip has compute capability {', '.join(strange)}", *seen, listed)
    return ok(f"this ncu supports {_counted(device.name for device in devices)}", *seen, listed)


def _gpus_seen(machine: Machine) -> list[Evidence]:
    """The GPUs by CUDA and by nvidia-smi, from those that answer."""
    seen = []
    with suppress(NotKnown):
        devices = devices_of(machine)
        words = ", ".join(f"{device.name} ({device.compute_capability})" for device in devices)
        seen.append(Evidence("CUDA", words or "no device"))
    with suppress(NotKnown):
        seen.append(Evidence(COMMAND, ", ".join(gpu.name for gpu in smi_log(machine).gpus) or "no GPU"))
    return seen


def _chips(machine: Machine) -> list[str]:
    answer = _asked(machine, "--list-chips")
    chips = re.findall(r"\b[a-z]{2}\d\w{2,3}\b", answer.stdout)
    if answer.status or not chips:
        raise NotKnown("ncu does not list the chips that it supports")
    return chips


def _asked(machine: Machine, option: str) -> Answer:
    return machine.answer("ncu cannot be started", used_ncu(machine), option)


def _release(answer: Answer) -> str:
    release = re.search(r"Version (\d+\.\d+\.\d+)", answer.stdout)
    return release[1] if release else ""


def _installed(machine: Machine) -> dict[str, str]:
    """Every installed ncu, of Nsight Compute and of CUDA toolkits, with its release where the folder's name has it."""
    found: dict[str, str] = {}
    for base, pattern in (("/opt/nvidia/nsight-compute", "*/ncu"), ("/usr/local", "cuda*/bin/ncu")):
        for file in sorted(machine.at(base).glob(pattern)):
            path = f"{base}/{file.relative_to(machine.at(base))}"
            # A toolkit's ncu is often a link to an installation.
            release = re.search(r"nsight-compute[/-](\d+\.\d+\.\d+)", f"{path} {file.resolve()}")
            if machine.is_program(path):
                found.setdefault(path, release[1] if release else "")
    return found


def _any_begins(names: list[str], beginning: str) -> bool:
    return any(name.startswith(beginning) for name in names)


def _counted(names: Iterable[str]) -> str:
    """Names, each once, with how often they occur."""
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in Counter(names).items())


def disassemblers(machine: Machine) -> Verdict:
    """Whether there are cuobjdump and nvdisasm, which show machine code without a profile."""
    found = {name: machine.find_disassembler(name) for name in DISASSEMBLERS}
    seen: list[Evidence] = []
    for name, path in found.items():
        if path is None:
            seen.append(Evidence("PATH, beside nvcc, Python packages", f"no program named {name}"))
        else:
            answer = machine.answer(f"{name} cannot be started", str(path), "--version")
            release = re.search(r"release [\d.]+, V([\d.]+)", answer.stdout)
            seen.append(Evidence(f"{path} --version", release[1] if release else answer.last_words))
    if missing := [name for name, path in found.items() if path is None]:
        verb = "is" if len(missing) == 1 else "are"
        message = f"{' and '.join(missing)} {verb} missing: analyze --no-counters shows no machine code"
        return warn(message, *seen, fix=INSTALL_DISASSEMBLERS)
    return ok(", ".join(f"{name} {each.what}" for name, each in zip(found, seen, strict=True)), *seen)
