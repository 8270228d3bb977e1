"""The host process's modules over a stand-in for PyCUDA."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.catalogue.launcher.fake_pycuda import Device, Driver

HOST = "ncuview.catalogue.launcher"
AUTOINIT = "import pycuda.driver\n\npycuda.driver.device.has_context = True\n"


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device that PyCUDA finds; without a context until ``pycuda.autoinit`` is imported, or a test makes one."""
    made = Device()
    package = ModuleType("pycuda")
    package.driver = Driver(made)  # type: ignore[attr-defined]
    (tmp_path / "pycuda").mkdir()
    (tmp_path / "pycuda" / "autoinit.py").write_text(AUTOINIT, encoding="utf-8")
    package.__path__ = [str(tmp_path / "pycuda")]
    # State between launches belongs to one test: the modules are imported anew.
    for name in ("pycuda.autoinit", *(f"{HOST}.{part}" for part in ("__main__", "data", "times"))):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", package.driver)
    return made


@pytest.fixture
def host(device: Device) -> ModuleType:
    """``ncuview.catalogue.launcher.__main__``, with a context."""
    device.has_context = True
    return importlib.import_module(f"{HOST}.__main__")


@pytest.fixture
def data(device: Device) -> ModuleType:
    """``ncuview.catalogue.launcher.data``, with a context."""
    device.has_context = True
    return importlib.import_module(f"{HOST}.data")


@pytest.fixture
def times(device: Device) -> ModuleType:
    """``ncuview.catalogue.launcher.times``, with a context."""
    device.has_context = True
    return importlib.import_module(f"{HOST}.times")
