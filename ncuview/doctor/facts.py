"""What a bug report needs of a machine beside the checks: ``versions``, ``environment``, and ``Private`` words to hide.

Nothing here names the host, the user or a program; ``Private.scrubbed`` takes out what other texts name.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from ncuview.base.errors import NcuviewError
from ncuview.base.log import MASK, masked
from ncuview.base.system import host_name
from ncuview.base.version import VERSION
from ncuview.doctor.gpu_state import smi_log
from ncuview.doctor.machine import Machine
from ncuview.doctor.nsight import used_release

_SHOWN = (
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
    *("CI", "GITHUB_ACTIONS", "GITLAB_CI", "LANG", "LC_ALL", "TERM", "NO_COLOR", "COLUMNS", "PYTHONUTF8"),
)
"""Variables whose values are shown."""
_NAMED = (
    *("CUDA_HOME", "CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH", "NVTX_INJECTION64_PATH", "LD_LIBRARY_PATH"),
    *("LD_PRELOAD", "PYTHONPATH", "TMPDIR", "XDG_CONFIG_HOME", "SUDO_UID", "KUBERNETES_SERVICE_HOST"),
)
"""Variables that are shown as set."""
_SET = "(set)"
_HOMES = re.compile(r"/(?:(?:home|Users)(?:/[^/\s:;,'\"]+)?|root)(?=[/\s:;,'\"]|$)")
_WINDOWS_HOMES = re.compile(r"[A-Za-z]:\\Users\\[^\\\s:;,'\"]+")
_ACCOUNT = re.compile(r"[\w.+-]+@[\w.-]+")
_GPU_NUMBER = re.compile(r"\b(?P<kind>GPU|MIG)-[0-9a-f]{8}-[0-9a-f-]{4,27}", re.IGNORECASE)
_COMMON = {"root", "user", "nobody", "localhost", "localdomain"}
"""Names that say nothing of a person or machine."""


def versions(machine: Machine) -> dict[str, Any]:
    """Python, the packages that ncuview uses, Nsight Compute, the driver and the names of the GPUs."""
    found: dict[str, Any] = {
        "ncuview": VERSION,
        "python": sys.version.split()[0],
        "system": f"{sys.platform} {platform.release()} {platform.machine()}",
        "packages": _packages(),
        "ncu": _known(lambda: used_release(machine)),
    }
    log = _known(lambda: smi_log(machine))
    if isinstance(log, str):
        return {**found, "driver": log}
    return {**found, "driver": log.driver, "cuda": log.cuda, "gpus": [gpu.name for gpu in log.gpus]}


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of an allow-list: values of some, and of others that they are set."""
    shown = {name: variables[name] for name in _SHOWN if name in variables}
    return {**shown, **{name: _SET for name in _NAMED if name in variables}}


@dataclass(frozen=True)
class Private:
    """Words that must not leave this machine."""

    words: tuple[str, ...]
    """Longest first."""

    @classmethod
    def here(cls) -> Private:
        """The names of this host and this user."""
        host = host_name()
        names = {host, host.partition(".")[0], *(os.environ.get(name, "") for name in ("HOSTNAME", "COMPUTERNAME"))}
        names |= {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")}
        with suppress(ImportError, KeyError):  # Windows keeps no list of users, or this user is not in it
            import pwd

            names.add(pwd.getpwuid(os.geteuid()).pw_name)
        with suppress(RuntimeError):
            names.add(Path.home().name)
        return cls(tuple(sorted(names - _COMMON - {""}, key=len, reverse=True)))

    def scrubbed(self, value: Any) -> Any:
        """The same JSON value without these words, home folders, secrets and numbers of GPUs in its texts."""
        if isinstance(value, dict):
            return {name: self.scrubbed(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.scrubbed(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        text = masked(text)
        for home in (_HOMES, _WINDOWS_HOMES):
            text = home.sub("~", text)
        text = _GPU_NUMBER.sub(rf"\g<kind>-{MASK}", _ACCOUNT.sub(MASK, text))
        for word in self.words:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", MASK, text, flags=re.IGNORECASE)
        return text


def _packages() -> dict[str, str]:
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in _required() if "extra ==" not in line}
    names |= {"cloudpickle", "duckdb", "fsspec", "matplotlib", "pyarrow", "pycuda"}
    found = {}
    for name in sorted(names):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _required() -> list[str]:
    try:
        return requires("ncuview") or []
    except PackageNotFoundError:  # a checkout that is not installed
        return []


def _known(ask: Callable[[], Any]) -> Any:
    """What is found out, or why it is not known."""
    try:
        return ask()
    except (NcuviewError, OSError) as error:
        return str(error) or type(error).__name__
