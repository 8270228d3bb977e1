"""From a kernel file to a cubin; needs nvcc and no GPU."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from ncuview.base.errors import CompileFailed
from ncuview.base.paths import shipped
from ncuview.catalogue.compiler import compile_kernel
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import find_kernel
from ncuview.catalogue.live import compile_all
from ncuview.profiling.machine import find_nvcc

NVCC = find_nvcc()
pytestmark = pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
SM_90 = "sm_90"
HOPPER = 90


def nvcc() -> Path:
    assert NVCC is not None
    return NVCC


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """A folder of kernels with one of the shipped ones in it."""
    folder = tmp_path / "kernels" / "transpose"
    folder.mkdir(parents=True)
    shutil.copy(shipped("kernels") / "transpose" / "copyRow.cu", folder)
    return folder / "copyRow.cu"


def edited(path: Path, old: str, new: str) -> Kernel:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return load_kernels(path)[0]


def test_a_cubin_is_made_for_the_architecture_that_was_asked_for(tmp_path: Path) -> None:
    compiled = compile_kernel(nvcc(), find_kernel("transposeCoalesced"), tmp_path, SM_90)
    image = compiled.cubin.read_bytes()
    assert image.startswith(b"\x7fELF")
    assert HOPPER in {image[48], image[49]}
    assert compiled.symbol() == "_Z18transposeCoalescedPfPKfi"


def test_a_cubin_names_its_source_below_the_kernels_and_not_where_they_lie(tmp_path: Path) -> None:
    image = compile_kernel(nvcc(), find_kernel("transposeCoalesced"), tmp_path, SM_90).cubin.read_bytes()
    root = str(shipped("kernels"))
    assert b"transposeCoalesced.cu" in image
    assert re.search(rb"(?<![\w/])transpose(/transposeCoalesced\.cu)?\0", image)
    assert root.encode() not in image
    assert str(Path(root).parent).encode() not in image


def test_the_symbol_of_a_template_is_found(tmp_path: Path, catalogue: Path) -> None:
    edited(catalogue, "__global__ void copyRow(", "template <int rows>\n__global__ void copyRow(")
    kernel = edited(catalogue, "// ncuview: end kernel", "template __global__ void copyRow<4>(INSTANCE);")
    parameters = re.findall(r"copyRow\(([^)]*)\)", catalogue.read_text(encoding="utf-8"))[0]
    kernel = edited(catalogue, "INSTANCE", parameters)
    assert compile_kernel(nvcc(), kernel, tmp_path, SM_90).symbol([4]).startswith("_Z7copyRowILi4EE")


def test_a_syntax_error_is_reported_in_nvccs_words(tmp_path: Path, catalogue: Path) -> None:
    kernel = edited(catalogue, "// ncuview: end kernel", "int x = nonsense;")
    with pytest.raises(CompileFailed, match=r"(?s)nvcc rejects transpose/copyRow\.cu:.*nonsense.*undefined"):
        compile_kernel(nvcc(), kernel, tmp_path, SM_90)


def test_a_file_without_its_kernel_is_refused(tmp_path: Path, catalogue: Path) -> None:
    kernel = edited(catalogue, "__global__ void copyRow(", "__global__ void copyRows(")
    with pytest.raises(CompileFailed, match=r"copyRow\.cu holds no kernel copyRow"):
        compile_kernel(nvcc(), kernel, tmp_path, SM_90).symbol()


def test_a_kernel_that_is_launched_twice_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    monkeypatch.setattr("ncuview.catalogue.live.compile_kernel", lambda _, kernel, *__: compiled.append(kernel.name))
    found = compile_all(nvcc(), [find_kernel(name) for name in ("copy", "copyRow", "copy")], tmp_path)
    assert list(found) == sorted(compiled) == ["copy", "copyRow"]
