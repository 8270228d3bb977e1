"""Three checks of doctor on access to GPU counters: the driver's setting, CAP_SYS_ADMIN, and the container.

``counter_permission``, ``administrator`` and ``container`` take a ``Machine`` and return a ``Verdict``.
``container`` also reports a GPU that was not passed into the container, and gVisor, where ncu finds no counters.
"""

from __future__ import annotations

import re

from ncuview.doctor.machine import Machine
from ncuview.doctor.verdict import Evidence, NotKnown, Verdict, fail, ok, unknown, warn
from ncuview.profiling.ncu_failures import failure

_PARAMETERS = "/proc/driver/nvidia/params"
_STATUS = "/proc/self/status"
_USERS = "/proc/self/uid_map"
_CAP_SYS_ADMIN = 21
_ALL_USERS = ["0", "0", str(2**32 - 1)]

_GVISOR = re.compile(r"Linux version 4\.4\.0 .*Sun Jan 10 15:06:54 PST 2016")
"""The kernel version that gVisor reports."""
_CGROUPS = re.compile(r"\b(docker|kubepods|containerd|libpod|lxc|garden)\b")


def counter_permission(machine: Machine) -> Verdict:
    """Whether the driver lets this process read counters."""
    if _has_capability(machine) and _is_in_host_namespace(machine):
        seen = Evidence(_STATUS, "CapEff has CAP_SYS_ADMIN")
        return ok("administrators may read the GPU's counters, and this process is one", seen)
    only_administrators = _only_administrators(machine)
    seen = Evidence(_PARAMETERS, f"RmProfilingAdminOnly: {int(only_administrators)}")
    if only_administrators:
        message = "the driver lets only administrators read the GPU's counters"
        return fail(message, seen, fix=failure("NCU-PERM").fix)
    return ok("every user may read the GPU's counters", seen)


def administrator(machine: Machine) -> Verdict:
    """Whether this process has CAP_SYS_ADMIN on the machine itself, where that is needed."""
    capable, in_host_namespace = _has_capability(machine), _is_in_host_namespace(machine)
    seen = (
        Evidence(_STATUS, f"CapEff {'has' if capable else 'does not have'} CAP_SYS_ADMIN"),
        Evidence(_USERS, "the machine's own users" if in_host_namespace else "users of a namespace"),
    )
    if capable and in_host_namespace:
        return ok("this process has CAP_SYS_ADMIN", *seen)
    state = "has CAP_SYS_ADMIN within its namespace only" if capable else "does not have CAP_SYS_ADMIN"
    try:
        needed = _only_administrators(machine)
    except NotKnown as reason:
        return unknown(f"this process {state}; whether it needs it is not known: {reason}", *seen)
    if not needed:
        return ok(f"this process {state}, and does not need it", *seen)
    return warn(f"this process {state}", *seen, fix=failure("NCU-PERM").fix)


def container(machine: Machine) -> Verdict:
    """Which container this is, and whether the GPU was passed into it."""
    kind, seen = _container(machine)
    if not kind:
        return ok(
            "this is no container", Evidence("/.dockerenv, /run/.containerenv, /proc/1/cgroup", "no trace of one")
        )
    if kind == "gVisor":
        return warn(
            "this container runs under gVisor, where ncu does not reach the counters",
            seen,
            fix="Run it with another runtime (docker run --runtime=runc).",
        )
    if machine.text_if_there("/proc/driver/nvidia/version") and not machine.exists("/dev/nvidiactl"):
        return fail(
            f"the GPU is not passed into this container ({kind})",
            seen,
            Evidence("/proc/driver/nvidia/version", "the host has the driver"),
            Evidence("/dev/nvidiactl", "missing"),
            fix="Start the container with --gpus all (NVIDIA Container Toolkit).",
        )
    return ok(f"this is a container ({kind}): profilers outside of it cannot be seen from here", seen)


def _container(machine: Machine) -> tuple[str, Evidence]:
    """The kind of container, empty for none, and what shows it."""
    version = machine.text_if_there("/proc/version").strip()
    if _GVISOR.search(version):
        return "gVisor", Evidence("/proc/version", version)
    for kind, file in (("Docker", "/.dockerenv"), ("Podman", "/run/.containerenv")):
        if machine.exists(file):
            return kind, Evidence(file, "exists")
    if "KUBERNETES_SERVICE_HOST" in machine.environment:
        return "Kubernetes", Evidence("KUBERNETES_SERVICE_HOST", "is set")
    named = _CGROUPS.search(machine.text_if_there("/proc/1/cgroup"))
    return (named[0], Evidence("/proc/1/cgroup", named[0])) if named else ("", Evidence("", ""))


def _only_administrators(machine: Machine) -> bool:
    # The driver shows the setting under one of two names, depending on its release.
    try:
        text = machine.text(_PARAMETERS)
    except OSError as error:
        raise NotKnown(f"{_PARAMETERS} cannot be read: {error.strerror}") from error
    setting = re.search(r"^(?:RmProfilingAdminOnly|RestrictProfilingToAdminUsers):\s*(\d+)", text, re.MULTILINE)
    if setting is None:
        raise NotKnown(f"{_PARAMETERS} does not name the setting for who may read counters")
    return setting[1] != "0"


def _has_capability(machine: Machine) -> bool:
    capabilities = re.search(r"^CapEff:\s*([0-9a-f]+)", machine.text_if_there(_STATUS), re.MULTILINE)
    if capabilities is None:
        raise NotKnown(f"{_STATUS} does not list the capabilities of this process")
    return bool(int(capabilities[1], 16) >> _CAP_SYS_ADMIN & 1)


def _is_in_host_namespace(machine: Machine) -> bool:
    # In a user namespace of its own, as in rootless containers, a capability does not reach the driver.
    users = machine.text_if_there(_USERS).split()
    return not users or users == _ALL_USERS
