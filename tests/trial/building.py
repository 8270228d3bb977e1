"""Make ablations of kernels, apply them with git, and compile both for Hopper with line information."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ncuview.base.paths import shipped
from ncuview.catalogue.machine_code import KernelCode
from ncuview.patch.patch import Edit, Refused
from ncuview.patch.program import Program
from ncuview.profiling.machine import find_nvcc
from ncuview.reader.line_table import line_tables
from ncuview.sass.code import Code
from ncuview.trial.ablations import Ablation, ablation
from tests.patch.building import applied, lines_with

_FLAGS = ("-O3", "-std=c++17", "-arch=sm_90", "-lineinfo", "-Xptxas=-v", "-cubin")
_LABEL = re.compile(r"^(\.L_x_\d+):\s*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>.*?)\s*;\s*$", re.MULTILINE)


def catalogue(name: str) -> str:
    """The source of a kernel of the catalogue: ``transpose/transposeNaive``."""
    return (shipped("kernels") / f"{name}.cu").read_text(encoding="utf-8")


def made(source: str, kind: str, at: str = "", *, kernel: str = "k") -> Ablation:
    """The ablation for the lines that hold ``at``; there must be one."""
    program = Program.read(source, "a.cu")
    return ablation(program.kernel(kernel), kind, lines_with(source, at) if at else [])


def refusal(source: str, kind: str, at: str = "", *, kernel: str = "k") -> str:
    """Why there is no ablation; there must be none."""
    with pytest.raises(Refused) as refused:
        made(source, kind, at, kernel=kernel)
    return str(refused.value)


def variant(source: str, ablated: Ablation, folder: Path) -> str:
    """What git makes of the source with the ablation; it is what ``Ablation.of`` gives."""
    change = ablated.change
    folder.mkdir(parents=True, exist_ok=True)
    after = applied(source, Edit(change.title, change.assumes, source.encode(), change.replacements), folder)
    assert after.encode() == ablated.of(source.encode())
    return after


def code(source: str, folder: Path, kernel: str = "k") -> KernelCode:
    """A kernel's machine code, as nvcc and nvdisasm give it; skips where one is missing."""
    nvcc, nvdisasm = find_nvcc(), shutil.which("nvdisasm") or _packaged()
    if nvcc is None or nvdisasm is None:
        pytest.skip("nvcc or nvdisasm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    file, cubin = folder / "compiled.cu", folder / "compiled.cubin"
    file.write_text(source, encoding="utf-8")
    command = [str(nvcc), *_FLAGS, "-o", cubin.name, file.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + source
    listing = subprocess.run([nvdisasm, "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    sections = re.split(r"^\s*\.section\s+", listing, flags=re.MULTILINE)
    (own,) = [part for part in sections if re.match(rf"\.text\.(?:_Z{len(kernel)}{kernel}|{kernel},)", part)]
    symbol = own.split(",")[0].removeprefix(".text.")
    texts, addresses = _instructions(own)
    (table,) = [each for each in line_tables(cubin.read_bytes(), [symbol]) if each.function == symbol]
    rows = [table.rows_at(address) for address in addresses]
    places = [(table.call_of(found[-1]) or found[-1]) if found else None for found in rows]
    usage = done.stderr[done.stderr.index(f"'{symbol}'") :]
    return KernelCode(
        symbol=symbol,
        name=kernel,
        capability="9.0",
        registers=_number(r"Used (\d+) registers", usage),
        stack=_number(r"(\d+) bytes stack frame", usage),
        shared=0,
        barriers=0,
        code=Code(texts, addresses),
        places=tuple((place.file, place.line) if place else ("", 0) for place in places),
    )


def _instructions(section: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Texts in the form of Nsight Compute, with addresses instead of labels."""
    found = list(_INSTRUCTION.finditer(section))
    places = {
        label[1]: next((each["address"] for each in found if each.start() > label.end()), "0")
        for label in _LABEL.finditer(section)
    }
    texts = [re.sub(r"`\((\.L_x_\d+)\)", lambda label: f"0x{places[label[1]]}", each["text"]) for each in found]
    plain = tuple(" ".join(text.replace(".reuse", "").split()) for text in texts)
    return plain, tuple(int(each["address"], 16) for each in found)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, text
    return int(found[1])


def _packaged() -> str | None:
    found = sorted(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin/nvdisasm"))
    return str(found[0]) if found else None
