"""Run nvidia-smi for doctor's checks: ``Machine`` -> ``SmiLog`` with all GPUs, or the GPUs that a CUDA program sees.

``smi_log`` and ``visible_gpus`` raise ``NotKnown`` where nvidia-smi gives none.
"""

from __future__ import annotations

from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import NotKnown
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
    try:
        answer = machine.run(nvidia_smi, "-q", "-x")
    except OSError as error:
        raise NotKnown(f"nvidia-smi cannot be started: {error.strerror}") from error
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
