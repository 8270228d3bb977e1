"""Apply a diff with git, compile for Hopper with nvcc, and read the machine code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncuview.patch import Edit, NoEdit, propose
from ncuview.profiling.machine import find_nvcc

PROGRAMS = Path(__file__).resolve().parents[1] / "gpu" / "edits"
ARCHITECTURE = "sm_90"


def lines_with(source: str, text: str) -> list[int]:
    """The lines that hold a text; there must be one."""
    found = [number for number, line in enumerate(source.split("\n"), 1) if text in line]
    assert found, f"no line holds {text!r}"
    return found


def edit(source: str, patch: str, at: str = "", *, kernel: str = "k", path: str = "a.cu") -> Edit:
    """The edit for the lines that hold ``at``; there must be one."""
    made = propose(source, path, kernel, patch, lines_with(source, at) if at else [])
    assert isinstance(made, Edit), made
    return made


def refusal(source: str, patch: str, at: str = "", *, kernel: str = "k", path: str = "a.cu") -> str:
    """Why there is no edit; there must be none."""
    made = propose(source, path, kernel, patch, lines_with(source, at) if at else [])
    assert isinstance(made, NoEdit), made.diff(path)
    return made.reason


def applied(source: str, made: Edit, folder: Path, path: str = "a.cu") -> str:
    """What git makes of the source with the diff."""
    file, diff = folder / path, folder / "edit.diff"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(source.encode("utf-8", "surrogateescape"))
    diff.write_bytes(made.diff(path).encode("utf-8", "surrogateescape"))
    # Outside a repository, git apply takes any folder; whitespace that the source has is the user's own.
    command = ["git", "apply", "--whitespace=nowarn", "--verbose", str(diff)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=_quiet())
    assert done.returncode == 0, done.stderr + diff.read_text(errors="replace")
    assert "offset" not in done.stderr, done.stderr
    assert "fuzz" not in done.stderr, done.stderr
    return file.read_bytes().decode("utf-8", "surrogateescape")


def changed_lines(source: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, before and after, where none are added."""
    pairs = zip(source.split("\n"), after.split("\n"), strict=True)
    return [(one.strip(), other.strip()) for one, other in pairs if one != other]


def sass(source: str, folder: Path, kernel: str = "k") -> list[str]:
    """The instructions of a kernel, as nvcc and nvdisasm give them; skips where one is missing."""
    nvdisasm = _nvdisasm()
    if nvdisasm is None:
        pytest.skip("nvdisasm is not installed")
    text = subprocess.run([nvdisasm, "-c", str(cubin(source, folder))], capture_output=True, text=True, check=True)
    sections = re.split(r"^\s*\.section\s+", text.stdout, flags=re.MULTILINE)
    (own,) = [part for part in sections if part.startswith(f".text._Z{len(kernel)}{kernel}")]
    return [" ".join(found.split()) for found in re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", own)]


def cubin(source: str, folder: Path) -> Path:
    """The machine code of a source for Hopper, which must compile; skips where nvcc is missing."""
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    file, made = folder / "compiled.cu", folder / "compiled.cubin"
    file.write_bytes(source.encode("utf-8", "surrogateescape"))
    command = [str(nvcc), f"-arch={ARCHITECTURE}", "-std=c++17", "-I", str(PROGRAMS), "-cubin", "-o", str(made)]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + source
    return made


def count(instructions: Sequence[str], opcode: str) -> int:
    """How many instructions match, by a pattern over the opcode."""
    return sum(bool(re.search(rf"(?:^|\s){opcode}", each)) for each in instructions)


def _nvdisasm() -> str | None:
    packaged = sorted(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin/nvdisasm"))
    found = shutil.which("nvdisasm")
    return found or (str(packaged[0]) if packaged else None)


def _quiet() -> dict[str, str]:
    return {**os.environ, "GIT_CEILING_DIRECTORIES": "/", "LC_ALL": "C"}
